"""`ribp.RestrictedBernoulli` against enumeration, for both kinds and many count laws."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ribp
from ribp import counts
from ribp.testing import exact
from ribp.testing.broken import ROW_SAMPLERS
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.messages import message_of

INF = np.inf
LAWS = {
    "exactly(2)": counts.exactly(2),
    "exactly(0)": counts.exactly(0),
    "exactly(5)": counts.exactly(5),
    "uniform(1,3)": counts.uniform(1, 3),
    "one or three": counts.table([0, 0.6, 0, 0.4]),
    "poisson(2)": counts.poisson(2),
    "one-inflated": counts.mixture([(0.8, counts.exactly(1)), (0.2, counts.poisson(9))]),
    "learned": counts.learned([1, 2, 0, 4]),
}
ODDS = {
    "ordinary": np.array([0.3, -1.2, 2.0, 0.3, -0.5]),
    "harsh": np.array([700.0, -700.0, 3.0, -650.0, 3.0]),
    "tied": np.zeros(5),
}


def enumerated(log_odds, law, kind):
    rows = exact.all_rows(log_odds.size)
    probs = exact.row_probs(log_odds, law, kind)
    return rows, probs


@pytest.mark.parametrize("kind", ["mixture", "tilted"])
@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("law", LAWS)
def test_everything_is_enumeration(law, odds, kind):
    rows, probs = enumerated(ODDS[odds], LAWS[law], kind)
    row_law = ribp.RestrictedBernoulli(ODDS[odds], LAWS[law], kind=kind)
    np.testing.assert_allclose(np.exp(row_law.log_prob(rows)), probs, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(row_law.inclusion_probs(), probs @ rows, rtol=0, atol=1e-13)
    pairs = (rows * probs[:, None]).T @ rows
    np.testing.assert_allclose(row_law.pair_probs(), pairs, rtol=0, atol=1e-13)
    by_count = np.bincount(rows.sum(axis=1), probs)
    np.testing.assert_allclose(np.exp(row_law.count_log_probs()), by_count, rtol=1e-10, atol=1e-13)
    positive = probs[probs > 0]
    entropy = -(positive * np.log(positive)).sum()
    np.testing.assert_allclose(row_law.entropy(), entropy, rtol=1e-10, atol=1e-10)


def test_the_mixture_has_the_stated_counts_and_the_tilted_law_has_not():
    law = counts.table([0.05, 0.5, 0.05, 0.2, 0.1, 0.1])
    theta = ODDS["ordinary"]
    mixture = ribp.RestrictedBernoulli(theta, law)
    tilted = ribp.RestrictedBernoulli(theta, law, kind="tilted")
    np.testing.assert_allclose(np.exp(mixture.count_log_probs()), law.probs(5), atol=1e-15)
    assert np.abs(np.exp(tilted.count_log_probs()) - law.probs(5)).sum() > 0.1
    coins = ribp.PoissonBinomial(theta).pmf(np.arange(6))
    assert tilted.log_normaliser() == pytest.approx(math.log(law.probs(5) @ coins), abs=1e-13)
    assert mixture.log_normaliser() == pytest.approx(0.0, abs=1e-15)
    short = ribp.RestrictedBernoulli(theta, counts.uniform(4, 7))
    assert short.log_normaliser() == pytest.approx(math.log(0.5))


@pytest.mark.parametrize("kind", ["mixture", "tilted"])
def test_certain_features(kind):
    full = np.array([0.3, INF, -1.2, -INF, 2.0])
    free = np.array([0.3, -1.2, 2.0])
    law = counts.uniform(0, 3)
    rest = counts.truncated(law, 1).probs(3)[1:]
    row_law = ribp.RestrictedBernoulli(full, law, kind=kind)
    inner = ribp.RestrictedBernoulli(free, counts.table(rest), kind=kind)
    place = [0, 2, 4]
    np.testing.assert_allclose(
        row_law.inclusion_probs()[place], inner.inclusion_probs(), atol=1e-14
    )
    assert row_law.inclusion_probs()[[1, 3]].tolist() == [1, 0]
    pairs = row_law.pair_probs()
    np.testing.assert_allclose(pairs[np.ix_(place, place)], inner.pair_probs(), atol=1e-14)
    np.testing.assert_allclose(pairs[1], row_law.inclusion_probs(), atol=1e-14)
    rows = exact.all_rows(5)
    probs = np.exp(row_law.log_prob(rows))
    assert probs.sum() == pytest.approx(1.0)
    assert probs[(rows[:, 1] == 0) | (rows[:, 3] == 1)].max() == 0
    np.testing.assert_allclose(probs @ rows, row_law.inclusion_probs(), atol=1e-14)
    drawn = row_law.sample(np.random.default_rng(0), 200)
    assert drawn[:, 1].all()
    assert not drawn[:, 3].any()
    assert row_law.entropy() == pytest.approx(float(inner.entropy()))


def test_no_finite_feature_at_all():
    row_law = ribp.RestrictedBernoulli([INF, -INF, INF], counts.exactly(2))
    assert row_law.sample(np.random.default_rng(0), 2).tolist() == [[1, 0, 1]] * 2
    assert row_law.inclusion_probs().tolist() == [1, 0, 1]
    assert row_law.entropy() == 0
    assert row_law.log_prob([1, 0, 1]) == 0
    assert row_law.log_prob([[1, 1, 1], [0, 0, 1]]).tolist() == [-INF, -INF]


def row_p_values(sampler, law, kind, n, seed):
    """Compare draws, made by sampler(rng, log_odds, law, n), with all rows."""
    theta = ODDS["ordinary"]
    drawn = sampler(np.random.default_rng(seed), theta, law, n) @ (1 << np.arange(theta.size))
    _, probs = enumerated(theta, law, kind)
    return [frequencies_p_value(np.bincount(drawn, minlength=probs.size), probs)]


@pytest.mark.parametrize("kind", ["mixture", "tilted"])
@pytest.mark.parametrize("law", ["exactly(2)", "one or three", "poisson(2)"])
def test_draws_have_the_law(law, kind):
    def sampler(rng, log_odds, counts, n):
        return ribp.RestrictedBernoulli(log_odds, counts, kind=kind).sample(rng, n)

    assert holds(partial(row_p_values, sampler, LAWS[law], kind), replicates(40_000))


@pytest.mark.parametrize("name", ROW_SAMPLERS)
def test_broken_twins_are_caught(name):
    law = counts.table([0.05, 0.5, 0.05, 0.2, 0.1, 0.1])
    assert is_caught(partial(row_p_values, ROW_SAMPLERS[name], law, "mixture"), 20_000)


@given(
    theta=st.lists(st.floats(-700, 700), min_size=1, max_size=7),
    weights=st.lists(st.floats(0, 1), min_size=8, max_size=8).filter(lambda w: sum(w[:2]) > 0.01),
    kind=st.sampled_from(["mixture", "tilted"]),
)
def test_random_laws_are_enumeration(theta, weights, kind):
    law = counts.table(np.array(weights) / sum(weights))
    log_odds = np.array(theta)
    rows, probs = enumerated(log_odds, law, kind)
    row_law = ribp.RestrictedBernoulli(log_odds, law, kind=kind)
    np.testing.assert_allclose(row_law.inclusion_probs(), probs @ rows, rtol=0, atol=1e-11)
    pairs = (rows * probs[:, None]).T @ rows
    np.testing.assert_allclose(row_law.pair_probs(), pairs, rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.exp(row_law.log_prob(rows)), probs, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize(
    ("log_odds", "law"),
    [
        (np.full(90, 30.0), counts.poisson(0.1)),  # f lives far below the coins
        (np.full(90, -30.0), counts.poisson(40)),  # and far above
        (np.linspace(-3, 3, 80), counts.negative_binomial(2, 3)),
        (np.append(np.full(70, 20.0), [INF, INF]), counts.poisson(0.5)),
    ],
)
def test_a_tilted_law_without_an_end(log_odds, law):
    row_law = ribp.RestrictedBernoulli(log_odds, law, kind="tilted")
    finite = log_odds[np.isfinite(log_odds)]
    on = np.isposinf(log_odds).sum()
    weights = law.log_probs(log_odds.size)[on:] + exact.log_esp(finite, finite.size)
    weights -= np.logaddexp(0.0, finite).sum()
    total = np.logaddexp.reduce(weights)
    assert row_law.log_normaliser() == pytest.approx(total, rel=1e-12)
    found = np.exp(row_law.count_log_probs())[on:]
    np.testing.assert_allclose(found, np.exp(weights - total), rtol=1e-9, atol=1e-15)


@pytest.mark.jit
def test_large_log_odds_cancel_before_they_are_rounded():
    rng = np.random.default_rng(0)
    n = 2000
    theta = np.concatenate([rng.uniform(600, 700, n), -rng.uniform(600, 700, n)])
    row_law = ribp.RestrictedBernoulli(theta, counts.exactly(n))
    z = (np.arange(2 * n) < n).astype(int)
    assert abs(row_law.log_prob(z)) < 1e-12
    assert row_law.entropy() < 1e-9  # 4000 rounded probabilities times 700
    theta = np.repeat([30.0, -30.0], 500)
    found = ribp.RestrictedBernoulli(theta, counts.exactly(498)).entropy()
    assert found == pytest.approx(math.log(500 * 499 / 2), abs=1e-11)


def test_laws_do_not_change_with_their_input():
    theta = np.array([0.0, 1.0, 2.0])
    row_law = ribp.RestrictedBernoulli(theta, "exactly(1)")
    before = row_law.log_prob([1, 0, 0])
    theta[0] = 50.0
    assert row_law.log_prob([1, 0, 0]) == before
    assert row_law.log_odds[0] == 0.0


def test_scale_does_not_matter_for_the_mixture():
    theta = ODDS["ordinary"]
    one = ribp.RestrictedBernoulli(theta, LAWS["poisson(2)"])
    other = ribp.RestrictedBernoulli(theta + 123.0, LAWS["poisson(2)"])
    np.testing.assert_allclose(one.pair_probs(), other.pair_probs(), atol=1e-13)


def test_order_of_features_does_not_matter():
    rng = np.random.default_rng(3)
    theta = rng.normal(0, 4, 9)
    move = rng.permutation(9)
    one = ribp.RestrictedBernoulli(theta, LAWS["one-inflated"])
    other = ribp.RestrictedBernoulli(theta[move], LAWS["one-inflated"])
    np.testing.assert_allclose(other.inclusion_probs(), one.inclusion_probs()[move], atol=1e-14)
    np.testing.assert_allclose(other.pair_probs(), one.pair_probs()[np.ix_(move, move)], atol=1e-14)


def test_batches():
    theta = np.random.default_rng(0).normal(size=(2, 3, 4))
    batch = ribp.RestrictedBernoulli(theta, "uniform(1,2)")
    z = exact.all_rows(4)
    assert batch.log_prob(z[:, None, None]).shape == (16, 2, 3)
    assert batch.log_prob(z[3]).shape == (2, 3)
    assert batch.sample(np.random.default_rng(0)).shape == (2, 3, 4)
    assert batch.sample(np.random.default_rng(0), (5, 2)).shape == (5, 2, 2, 3, 4)
    assert batch.pair_probs().shape == (2, 3, 4, 4)
    assert batch.entropy().shape == (2, 3)
    single = ribp.RestrictedBernoulli(theta[1, 2], "uniform(1,2)")
    np.testing.assert_array_equal(batch.log_prob(z[:, None, None])[:, 1, 2], single.log_prob(z))
    np.testing.assert_array_equal(batch.inclusion_probs()[1, 2], single.inclusion_probs())
    assert single.sample(3).shape == (4,)
    assert single.sample(3, 0).shape == (0, 4)
    assert "2x3x4" in repr(batch)
    assert "uniform(1,2)" in repr(batch).replace(" ", "")


@pytest.mark.jit
def test_large_laws_stay_small_work():
    # A Poisson law over 10^5 features must not visit 10^5 counts.
    theta = np.random.default_rng(0).normal(-8, 2, 100_000)
    for kind in ("mixture", "tilted"):
        row_law = ribp.RestrictedBernoulli(theta, counts.poisson(5), kind=kind)
        eta = row_law.inclusion_probs()
        mean = np.exp(row_law.count_log_probs()) @ np.arange(100_001)
        assert eta.sum() == pytest.approx(mean, rel=1e-12)
        assert row_law.sample(np.random.default_rng(0), 3).shape == (3, 100_000)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ribp.RestrictedBernoulli([0.0, np.nan], "exactly(1)"), ["log_odds", "NaN"]),
        (lambda: ribp.RestrictedBernoulli([], "exactly(1)"), ["log_odds", "at least one feature"]),
        (lambda: ribp.RestrictedBernoulli([0.0, 1.0], "exactly(3)"),
         ["counts must have mass on 0..2", "exactly(3)", "Choose a law that allows 0 to 2"]),
        (lambda: ribp.RestrictedBernoulli([0.0, 1.0], "exactly(3)", kind="tilted"),
         ["counts must have mass on 0..2"]),
        (lambda: ribp.RestrictedBernoulli([INF, INF, 0.0], "exactly(1)"),
         ["counts must have mass on 2..3", "2 features are always on"]),
        (lambda: ribp.RestrictedBernoulli([INF, INF, 0.0], "exactly(1)", kind="tilted"),
         ["counts must have mass on 2..3", "2 features are always on"]),
        (lambda: ribp.RestrictedBernoulli([-INF, 0.0], "exactly(2)"),
         ["counts must have mass on 0..1", "1 are never on"]),
        (lambda: ribp.RestrictedBernoulli([0.0], 3), ["counts must be a count law", "got 3"]),
        (lambda: ribp.RestrictedBernoulli([0.0], "exactly(1)", kind="tiled"),
         ["kind must be one of mixture, tilted", "Did you mean 'tilted'?"]),
        (lambda: ribp.RestrictedBernoulli([0.0], "exactly(1)", kind=3), ["kind", "Choose one"]),
        (lambda: ribp.RestrictedBernoulli([0.0, 1.0], "exactly(1)").log_prob([1, 0, 0]),
         ["z must have 2 features", "shape (3,)"]),
        (lambda: ribp.RestrictedBernoulli([0.0, 1.0], "exactly(1)").log_prob(1), ["shape ()"]),
        (lambda: ribp.RestrictedBernoulli([0.0, 1.0], "exactly(1)").log_prob([2, 0]),
         ["z must hold only 0 and 1"]),
        (lambda: ribp.RestrictedBernoulli([0.0, 1.0], "exactly(1)").log_prob(["a", "b"]),
         ["z must hold only 0 and 1"]),
        (lambda: ribp.RestrictedBernoulli(np.zeros((0, 2)), "exactly(1)"), ["at least one vector"]),
        (lambda: ribp.RestrictedBernoulli([1e308, 0.0], "exactly(1)"), ["at most 1e300"]),
        (lambda: ribp.RestrictedBernoulli([1j, 0.0], "exactly(1)"), ["array of numbers"]),
        (lambda: ribp.RestrictedBernoulli([0.0, 1.0], "exactly(1)").log_prob([[1, 0], [1]]),
         ["z must be a regular array"]),
        (lambda: ribp.RestrictedBernoulli(np.zeros((2, 2)), "exactly(1)").log_prob(np.ones((3, 2))),
         ["z must broadcast against the shape (2,)"]),
        (lambda: ribp.RestrictedBernoulli([0.0], "exactly(1)").sample("x"), ["rng", "Generator"]),
        (lambda: ribp.RestrictedBernoulli([0.0], "exactly(1)").sample(0, -1), ["n must be"]),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    message_of(call, *words)
