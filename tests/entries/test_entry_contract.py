"""What every kind of entries promises, driven by one table."""

from itertools import product

import numpy as np
import pytest
from scipy import special, stats

import ribp
from ribp.entries import ENTRY_KINDS
from ribp.errors import InputError
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.plug_ins import of_page, registered

TWO_TRIALS = of_page("adding-an-entry-kind")["TwoTrials"]
THETA = np.array([-4.0, -0.7, 0.4])
BETA, GAMMA = ribp.BetaProcess(3, 1.4), ribp.GammaProcess(3)


def kind(name, failures=1.0):
    return (TWO_TRIALS if name == "two-trials" else ENTRY_KINDS[name])(failures)


KINDS = {  # a kind, its law given theta from elsewhere, and a measure that suits it
    "bernoulli": (kind("bernoulli"), lambda t: stats.bernoulli(special.expit(t)), BETA),
    "poisson": (kind("poisson"), lambda t: stats.poisson(np.exp(t)), GAMMA),
    "negative_binomial": (
        kind("negative_binomial", 2.5), lambda t: stats.nbinom(2.5, special.expit(-t)), BETA
    ),
    "two-trials": (kind("two-trials"), lambda t: stats.binom(2, special.expit(t)), BETA),
}  # fmt: skip
every_kind = pytest.mark.parametrize(("own", "law", "measure"), KINDS.values(), ids=KINDS)


@pytest.fixture(autouse=True)
def two_trials():
    """Register the kind of the documentation: every test here runs on it as on ours."""
    with registered(ENTRY_KINDS, "two-trials", TWO_TRIALS):
        yield


def test_every_kind_with_a_name_has_a_row_here():
    assert set(ENTRY_KINDS) == set(KINDS)


@every_kind
def test_odds_and_ratios_are_those_of_the_law(own, law, measure):
    zero, one, some = law(THETA).pmf(0), law(THETA).pmf(1), law(THETA).sf(0)
    np.testing.assert_allclose(np.exp(own.log_odds("nonzeros", THETA)), some / zero, rtol=1e-10)
    np.testing.assert_allclose(np.exp(own.log_odds("ones", THETA)), one / zero, rtol=1e-10)
    for z in range(5):
        ratio = np.exp(own.log_ratios(THETA, np.full(3, z)))
        np.testing.assert_allclose(ratio, law(THETA).pmf(z) / zero, rtol=1e-10, atol=1e-300)


@every_kind
def test_odds_are_convex_in_the_size_and_vanish_at_zero(own, law, measure):
    size = np.linspace(0.01, 0.9, 60)
    theta = special.logit(size) if measure is BETA else np.log(size)
    for restrict in own.restrictions:
        odds = np.exp(own.log_odds(restrict, theta))
        assert (np.diff(odds, 2) > -1e-12).all()
        assert np.exp(own.log_odds(restrict, np.array([-700.0]))) < 1e-200


@every_kind
def test_positive_entries_have_their_law(own, law, measure):
    top = 40

    def p_values(n, seed, shift=0.0):
        rng = np.random.default_rng(seed)
        found = []
        for theta in THETA[1:]:
            values = own.draw_positive(rng, np.full(n, theta))
            assert values.min() >= 1
            claimed = law(theta + shift).pmf(np.arange(1, top)) / law(theta + shift).sf(0)
            seen = np.bincount(np.minimum(values, top - 1), minlength=top)[1:]
            found.append(frequencies_p_value(seen, claimed))
        return found

    assert holds(p_values, replicates(4000))
    if not own.binary:
        assert is_caught(lambda n, seed: p_values(n, seed, 0.3), 4000)


@every_kind
def test_sums_are_those_of_an_enumeration(own, law, measure):
    if "sum" not in own.restrictions:
        return
    table = np.exp([own.log_ratios(np.array(t), np.arange(5)) for t in THETA])
    direct = np.zeros(5)
    for z in product(range(5), repeat=3):
        if sum(z) < 5:
            direct[sum(z)] += np.prod([table[i, value] for i, value in enumerate(z)])
    np.testing.assert_allclose(np.exp(own.log_coefficients(THETA, 4)[-1]), direct, rtol=1e-10)
    rows = own.draw_sums(np.random.default_rng(0), THETA, np.array([4, 0, 3]))
    ends = np.cumsum(rows.lengths)
    totals = [rows.values[a:b].sum() for a, b in zip(ends - rows.lengths, ends, strict=True)]
    assert totals == [4, 0, 3]


@pytest.mark.parametrize("name", KINDS)
def test_simulate_draws_rows_of_it(name):
    own, _, measure = KINDS[name]
    for restrict in own.restrictions:
        draw = ribp.simulate(
            0, n_rows=50, counts="exactly(3)", measure=measure, entries=name, restrict=restrict,
            failures=own.failures,
        )  # fmt: skip
        z = draw.rows.toarray().astype(int)
        assert (z.sum(axis=1) == 3).all() if restrict != "nonzeros" else ((z > 0).sum(1) == 3).all()
        assert draw.tv_bound_row <= 1e-12


def test_what_does_not_go_together_is_refused():
    asked = {"n_rows": 3, "counts": "exactly(3)", "entries": "two-trials"}
    with pytest.raises(InputError, match=r"weights that are probabilities.*beta-process"):
        ribp.simulate(0, **asked, measure=GAMMA)
    with pytest.raises(InputError, match="restrict must be 'nonzeros' or 'ones'"):
        ribp.simulate(0, **asked, measure=BETA, restrict="sum")
    with pytest.raises(InputError, match="kind must be 'mixture'"):
        ribp.simulate(0, **asked, measure=BETA, kind="tilted")


class Broken(TWO_TRIALS):
    """A kind that forgets the second trial."""

    def odds(self, restrict):
        return None


def test_wrong_odds_are_noticed():
    with pytest.raises(AssertionError):
        test_odds_and_ratios_are_those_of_the_law(Broken(), KINDS["two-trials"][1], BETA)
