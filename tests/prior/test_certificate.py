"""The certificate is honest: against a much deeper truncation the true error is below the bound."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import ribp
from ribp.entries import make_entries, negative_binomial_nonzero, poisson_nonzero
from ribp.errors import InputError, TruncationWarning
from ribp.measures import CompletelyRandomMeasure
from ribp.measures.levy import log_upper_total
from ribp.polynomials import RestrictedEntries
from ribp.prior.certificate import _tilted_levels, level_bounds, tv_bounds
from ribp.prior.request import Request
from ribp.prior.truncated_weights import _guess
from ribp.testing.goodness import holds, mean_p_value, replicates


def request(measure, **changes):
    options = {
        "rng": np.random.default_rng(0),
        "counts": ribp.counts.as_row_counts("exactly(1)", 1),
        "measure": measure,
        "truncation": ribp.Certified(),
        "kind": "mixture",
        "restrict": "nonzeros",
        "max_proposals": 10,
    } | changes
    entries, failures = options.pop("entries", "bernoulli"), options.pop("failures", 1.0)
    return Request(**options, entries=make_entries(entries, options["restrict"], failures))


def upper_tail(asked, stream):
    return stream.log_upper_tail_odds(asked.entries.odds(asked.restrict))


BINARY = {
    "beta c=1": ribp.BetaProcess(3),
    "beta c=2.5": ribp.BetaProcess(3, 2.5),
    "beta c=0.5": ribp.BetaProcess(3, 0.5),
    "stable": ribp.BetaProcess(3, 1, 0.4),
    "gamma": ribp.GammaProcess(3),
    "dirichlet": ribp.DirichletWeights(3),
    "pitman-yor": ribp.PitmanYorWeights(3, 0.3),
}


def true_error(own, head, ones):
    """Return P(a row of the deep law has a feature beyond the head), given the measure."""
    return -np.expm1(ribp.log_esp(own[:head], ones)[ones] - ribp.log_esp(own, ones)[ones])


def tails(measure, head, rng, repeats, n_atoms):
    """Return `repeats` continuations of a head, each ten times as deep."""
    if isinstance(measure, CompletelyRandomMeasure):
        start = np.exp(float(measure.log_levy_tail(head[-1])))
        gaps = rng.standard_exponential((repeats, n_atoms))
        return measure.inverse_levy_tail(start + np.cumsum(gaps, axis=1))
    # Sticks: what is left after k pieces is broken on by the same rule, with mass + k * discount.
    log_rest = np.log1p(-np.exp(head).sum())
    discount = getattr(measure, "discount", 0.0)
    rest = ribp.PitmanYorWeights(measure.mass + head.size * discount, discount)
    return [log_rest + rest.size_ordered(rng, n_atoms) for _ in range(repeats)]


@pytest.mark.jit
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("ones", [1, 2, 5])
def test_binary_rows(name, ones):
    """The error is below the bound for every tail that the head may have, and not far below."""
    measure = BINARY[name]
    asked = request(measure)
    largest = 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        stream = measure.atom_stream(rng)
        head = stream.extend(12)
        log_tail = upper_tail(asked, stream)
        bound = level_bounds(asked, head, log_tail, np.array([ones]))[0]
        for tail in tails(measure, head, rng, 100, 120):
            truth = true_error(np.concatenate([head, tail]), 12, ones)
            assert truth <= bound * (1 + 1e-9)
            largest = max(largest, truth / bound)
    assert largest > 1 / 20  # a bound twenty times smaller would have been exceeded


@pytest.mark.jit
@pytest.mark.parametrize("name", ["beta c=1", "beta c=2.5", "gamma"])
def test_expected_odds_alone_would_be_exceeded(name):
    """The broken twin: E[T] in place of a bound on T fails for nearly half of the tails."""
    measure = BINARY[name]
    stream = measure.atom_stream(np.random.default_rng(0))
    head = stream.extend(12)
    bound = level_bounds(request(measure), head, stream.log_expected_tail_odds(), np.array([1]))[0]

    def p_values(n, seed):
        drawn = tails(measure, head, np.random.default_rng(seed), n, 120)
        found = np.array([true_error(np.concatenate([head, tail]), 12, 1) for tail in drawn])
        exceeded = int((found > bound).sum())
        mean = 1.0 if found.mean() <= bound else mean_p_value(found, bound)
        return {"more than a fifth": stats.binom.cdf(exceeded, n, 0.2), "the mean is below": mean}

    assert holds(p_values, replicates(200))


@pytest.mark.parametrize("ones", [1, 3])
@pytest.mark.parametrize(
    ("measure", "entries", "restrict", "failures"),
    [
        (ribp.GammaProcess(3), "poisson", "nonzeros", 1.0),
        (ribp.GammaProcess(3), "poisson", "sum", 1.0),
        (ribp.GammaProcess(3), "poisson", "ones", 1.0),
        (ribp.DirichletWeights(3), "poisson", "sum", 1.0),
        (ribp.BetaProcess(3), "negative_binomial", "nonzeros", 2.0),
        (ribp.BetaProcess(3), "negative_binomial", "sum", 1.0),
        (ribp.BetaProcess(3), "negative_binomial", "sum", 2.5),
        (ribp.BetaProcess(3), "negative_binomial", "ones", 0.5),
    ],
)
def test_rows_of_counts(measure, entries, restrict, failures, ones):
    asked = request(measure, entries=entries, restrict=restrict, failures=failures)
    found = []
    for seed in range(30):
        stream = measure.atom_stream(np.random.default_rng(seed))
        head = stream.extend(15)
        log_tail = upper_tail(asked, stream)
        bound = level_bounds(asked, head, log_tail, np.array([ones]))[0]
        deep = np.concatenate([head, stream.extend(100)])
        if restrict == "sum":
            kept, whole = (
                RestrictedEntries(
                    atoms, "exactly(1)", entries=entries, restrict="sum", failures=failures
                ).log_coefficients(ones)[-1][ones]
                for atoms in (head, deep)
            )
            truth = -np.expm1(kept - whole)
        else:
            truth = true_error(asked.entries.log_odds(restrict, deep), 15, ones)
        assert truth <= bound * (1 + 1e-9)
        found.append(truth / bound)
    assert max(found) > 1 / 50


@pytest.mark.parametrize("failures", [1.0, 2.5])
def test_sums_that_are_large_for_few_atoms(failures):
    """There t R_J is not small, and the bound is far above R_J T: a small atom loses so much."""
    head, more = np.array([1.0, 0.5, 0.0]), -9.0
    asked = request(
        ribp.BetaProcess(3), entries="negative_binomial", restrict="sum", failures=failures
    )
    log_size = -float(np.logaddexp(0.0, -more))
    bound = level_bounds(asked, head, log_size, np.array([8]))[0]
    kept, whole = (
        RestrictedEntries(
            atoms, "exactly(1)", entries="negative_binomial", restrict="sum", failures=failures
        ).log_coefficients(8)[-1]
        for atoms in (head, np.append(head, more))
    )
    truth = -np.expm1(kept[8] - whole[8])
    room = 1.0 - 0.5 * np.exp(kept[7] - kept[8])
    assert room < 0.6
    np.testing.assert_allclose(truth, room * bound, rtol=0.01)


def test_no_certificate_where_the_argument_fails():
    arguments = {
        "n_rows": 3, "counts": "exactly(2)", "measure": ribp.BetaProcess(3),
        "entries": "negative_binomial", "restrict": "sum", "failures": 0.5,
    }  # fmt: skip
    with pytest.raises(InputError, match="cannot be Certified"):
        ribp.simulate(0, **arguments)
    draw = ribp.simulate(0, **arguments, truncation=ribp.SizeOrdered(50))
    assert draw.tv_bound_row is None
    assert draw.tv_bound is None


@pytest.mark.parametrize("mass", [1e-3, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("ones", [1, 2, 8, 50])
def test_few_atoms_at_concentration_one(mass, ones):
    for seed in range(5):
        draw = ribp.simulate(
            seed, n_rows=4, counts=ribp.counts.exactly(ones), measure=ribp.BetaProcess(mass)
        )
        assert draw.n_atoms <= 40 * mass + ones + 20
        assert draw.tv_bound_row <= 1e-12
        assert draw.tv_bound == pytest.approx(4 * draw.tv_bound_row)


def test_more_atoms_as_the_bound_has_fallen():
    assert _guess((0, 0.0), (10, -3.0), -6.0) == 8
    assert _guess((10, -3.0), (18, -3.0), -6.0) == 18  # does not fall: twice as many
    assert _guess((90, -2.0), (100, -3.0), -6.0) == 24  # a bit less than 30, so as not to overshoot
    assert _guess((90, -2.0), (100, -3.0), -60.0) == 33
    assert _guess((90, -2.0), (100, -3.0), -3.1) == 5
    assert _guess((20, -2.0), (30, -3.0), -3.1) == 4


def test_heavy_tails_stop_with_the_bound():
    with pytest.warns(TruncationWarning, match="max_atoms=500") as caught:
        draw = ribp.simulate(
            0, n_rows=3, counts="exactly(2)", measure=ribp.BetaProcess(3, 1, 0.9),
            truncation=ribp.Certified(max_atoms=500),
        )  # fmt: skip
    assert draw.n_atoms == 500
    assert caught[0].message.tv_bound_row == draw.tv_bound_row
    assert 1e-12 < draw.tv_bound_row <= 1


def test_bounds_of_the_other_truncations():
    arguments = {"n_rows": 10, "counts": "poisson(3)", "measure": ribp.BetaProcess(3)}
    sizes = [
        ribp.simulate(1, **arguments, truncation=ribp.SizeOrdered(n)).tv_bound_row
        for n in (10, 20, 40, 80)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] >= ribp.counts.poisson(3).tail(10)
    assert ribp.simulate(1, **arguments, truncation=ribp.WeakLimit(20)).tv_bound is None


def test_a_limit_below_the_count_is_an_error():
    with pytest.raises(InputError, match="must allow the 50 features"):
        ribp.simulate(
            0, n_rows=3, counts="exactly(50)", measure=ribp.BetaProcess(2),
            truncation=ribp.Certified(max_atoms=10),
        )  # fmt: skip


@pytest.mark.parametrize("law", ["poisson(3)", "negative_binomial(3, 1)"])
def test_tilted_far_from_the_coins_still_meets_the_tolerance(law):
    draw = ribp.simulate(0, n_rows=20, counts=law, measure=ribp.BetaProcess(100), kind="tilted")
    assert draw.tv_bound_row <= 1e-12


@pytest.mark.jit
@pytest.mark.parametrize("law", ["poisson(3)", "uniform(0, 4)", "negative_binomial(2, 1)"])
@pytest.mark.parametrize("kept", [8, 14, 25])
def test_tilted_bound_against_a_deep_measure(law, kept):
    """True total variation: a row of the whole measure has a feature beyond the head, or not."""
    measure, parsed = ribp.BetaProcess(3), ribp.counts.parse(law)
    seen = []
    for seed in range(8):
        stream = measure.atom_stream(np.random.default_rng(seed))
        head = stream.extend(kept)
        asked = request(
            measure, kind="tilted", truncation=ribp.SizeOrdered(kept),
            counts=ribp.counts.as_row_counts(law, 4),
        )  # fmt: skip
        row, matrix = tv_bounds(asked, head, upper_tail(asked, stream), None)
        deep = np.concatenate([head, stream.extend(200)])
        log_f = parsed.log_probs(60)
        inside, whole = (
            logsumexp(log_f[: k.size] + k)
            for k in (ribp.log_esp(head, min(kept, 60)), ribp.log_esp(deep, 60))
        )
        truth = -np.expm1(inside - whole)
        assert truth <= row * (1 + 1e-9)
        assert matrix == pytest.approx(min(1.0, 4 * row))
        seen.append(truth / row)
    if parsed.largest is not None:  # without an end the bound is that of the largest count
        assert max(seen) > 1 / 60


def test_matrix_bound_of_a_law_that_was_cut():
    draw = ribp.simulate(
        0, n_rows=10, counts="poisson(3)", measure=ribp.BetaProcess(3),
        truncation=ribp.SizeOrdered(9),
    )  # fmt: skip
    lost = ribp.counts.poisson(3).tail(9)
    assert draw.tv_bound_row > lost
    assert draw.tv_bound > 10 * lost


def test_sums_may_exceed_the_number_of_features():
    draw = ribp.simulate(
        0, n_rows=5, counts="exactly(7)", measure=ribp.GammaProcess(2), entries="poisson",
        restrict="sum", truncation=ribp.SizeOrdered(3),
    )  # fmt: skip
    assert draw.rows.sum(axis=1).tolist() == [7] * 5


def test_learned_laws_are_drawn_on_what_is_possible():
    law = ribp.counts.learned([1e-3] * 5)
    for seed in range(60):
        draw = ribp.simulate(
            seed, n_rows=3, counts=law, measure=ribp.BetaProcess(2), truncation=ribp.SizeOrdered(2)
        )
        assert draw.rows.sum(axis=1).max() <= 2


def test_the_upper_total_is_bernstein_s():
    # Poisson many atoms of equal odds b: T / b is Poisson, and 1e-9 of it lies above.
    for mean in (0.01, 1.0, 30.0):
        upper = np.exp(log_upper_total(np.log(mean), 0.0))
        assert stats.poisson.sf(upper, mean) <= 1e-9
        assert stats.poisson.sf(upper / 3, mean) > 1e-9


def test_tilted_bound_covers_an_unbounded_law():
    draw = ribp.simulate(
        0, n_rows=10, counts="poisson(3)", measure=ribp.BetaProcess(3), kind="tilted"
    )
    assert draw.tv_bound_row <= 1e-12
    short = ribp.simulate(
        0, n_rows=10, counts="poisson(3)", measure=ribp.BetaProcess(3), kind="tilted",
        truncation=ribp.SizeOrdered(6),
    )  # fmt: skip
    assert short.tv_bound_row > 0.01


def test_no_warning_when_the_tolerance_is_met():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ribp.simulate(0, n_rows=3, counts="exactly(2)", measure=ribp.GammaProcess(3))


def test_odds_are_those_of_the_entries():
    assert make_entries("poisson", "nonzeros", 1.0).odds("nonzeros") is poisson_nonzero
    odds = make_entries("negative_binomial", "nonzeros", 2.0).odds("nonzeros")
    theta = np.array([0.3])
    np.testing.assert_allclose(odds(theta), negative_binomial_nonzero(theta, 2.0))
    assert logsumexp(odds(theta)) == pytest.approx(np.log((1 + np.exp(0.3)) ** 2 - 1))


def test_what_a_tilted_law_loses_beyond_the_features():
    """P_f(count > K) over P(a row is kept), at least that of the head alone."""
    asked = request(
        ribp.BetaProcess(3), kind="tilted", truncation=ribp.SizeOrdered(2),
        counts=ribp.counts.as_row_counts("poisson(0.3)", 1),
    )  # fmt: skip
    levels, lost = _tilted_levels(asked, np.array([0.5, -1.0]), -2.0)
    w = np.exp([0.5, -1.0])
    f = stats.poisson(0.3).pmf(range(3))
    kept = (f @ [1.0, w.sum(), w.prod()]) / (1.0 + w).prod() * np.exp(-np.exp(-2.0))
    assert levels.tolist() == [2]
    assert lost[0] == pytest.approx(stats.poisson(0.3).sf(2) / kept)
