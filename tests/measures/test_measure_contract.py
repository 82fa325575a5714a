"""What every measure promises, driven by one table."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import special

import ribp
from ribp.entries import poisson_nonzero
from ribp.errors import InputError
from ribp.measures import (
    MEASURES,
    BetaProcess,
    DirichletWeights,
    GammaProcess,
    Measure,
    PitmanYorWeights,
)
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.plug_ins import of_page, registered

SCALE_INVARIANT = of_page("adding-a-measure")["ScaleInvariant"]
CASES = [
    BetaProcess(5),
    BetaProcess(1e-3),
    BetaProcess(1000),
    BetaProcess(2, 0.5),
    BetaProcess(2, 100),
    BetaProcess(2, 1, 0.4),
    BetaProcess(2, -0.3, 0.6),
    GammaProcess(5),
    GammaProcess(1e-3, 4.0),
    DirichletWeights(5),
    DirichletWeights(1e-3),
    PitmanYorWeights(3, 0.5),
    PitmanYorWeights(-0.2, 0.5),
    PitmanYorWeights(5, 0),
    SCALE_INVARIANT(3.0),
]


def has_weak_limit(measure: Measure) -> bool:
    return getattr(measure, "discount", 0.0) == 0.0


@pytest.mark.parametrize("measure", CASES, ids=repr)
class TestEveryMeasure:
    def test_is_a_value(self, measure):
        assert measure == dataclasses.replace(measure)
        assert hash(measure) == hash(dataclasses.replace(measure))
        with pytest.raises(dataclasses.FrozenInstanceError):
            measure.mass = 2.0
        assert all(isinstance(value, float) for value in dataclasses.astuple(measure))

    def test_atoms_are_finite_and_repeatable(self, measure):
        first = measure.size_ordered(np.random.default_rng(0), 300)
        again = measure.size_ordered(np.random.default_rng(0), 300)
        assert first.shape == (300,)
        assert first.dtype == np.float64
        assert np.isfinite(first).all()
        np.testing.assert_array_equal(first, again)

    def test_seed_and_generator_agree(self, measure):
        a, b = measure.size_ordered(3, 5), measure.size_ordered(np.random.default_rng(3), 5)
        np.testing.assert_array_equal(a, b)

    def test_tail_shrinks_as_atoms_are_handed_out(self, measure):
        stream = measure.atom_stream(np.random.default_rng(1))
        tails = []
        for n in (1, 1, 10, 100):
            assert stream.extend(n).shape == (n,)
            tails.append(stream.log_expected_tail_odds())
        assert np.isfinite(tails).all()
        assert all(type(tail) is float for tail in tails)
        assert np.all(np.diff(tails) < 0)

    def test_larger_convex_odds_have_a_larger_tail(self, measure):
        """Odds 2w at least double the tail: exactly where the tail is linear in w."""
        stream = measure.atom_stream(np.random.default_rng(2))
        stream.extend(40)
        plain = stream.log_expected_tail_odds()
        doubled = stream.log_expected_tail_odds(lambda log_odds: log_odds + np.log(2.0))
        assert doubled >= plain + np.log(2.0) - 1e-12
        if isinstance(measure, (DirichletWeights, PitmanYorWeights, GammaProcess)):
            assert doubled == pytest.approx(plain + np.log(2.0), abs=1e-12)
            assert stream.log_expected_tail_odds(poisson_nonzero) >= plain

    def test_weak_limit_or_a_reason(self, measure):
        rng = np.random.default_rng(3)
        if has_weak_limit(measure):
            weights = measure.weak_limit(rng, 10_000)
            assert weights.shape == (10_000,)
            assert np.isfinite(weights).all()
        else:
            with pytest.raises(InputError, match="no weak limit for discount > 0") as caught:
                measure.weak_limit(rng, 10_000)
            assert "Use SizeOrdered or Certified" in str(caught.value)

    def test_numbers_are_checked(self, measure):
        rng = np.random.default_rng(4)
        for draw in (measure.size_ordered, measure.weak_limit):
            if draw == measure.weak_limit and not has_weak_limit(measure):
                continue
            with pytest.raises(InputError, match="n_features must be at least 1"):
                draw(rng, 0)
            with pytest.raises(InputError, match="rng must be a"):
                draw("seed", 2000)
        with pytest.raises(InputError, match="n_atoms must be a whole number"):
            measure.atom_stream(rng).extend(1.5)


def test_underflow_is_real_in_the_weak_limit():
    """MATH 4: 70% of the weights are below e^-700 at I = 10^4, mass 5; none is lost."""
    small = math.exp(-700 * 5e-4)
    assert small > 0.7

    def p_values(n, seed, share=small):
        rng = np.random.default_rng(seed)
        log_odds = np.concatenate([BetaProcess(5).weak_limit(rng, 10_000) for _ in range(n)])
        assert (special.expit(log_odds[log_odds < -746]) == 0.0).all()
        return [mean_p_value(log_odds < -700, share)]

    assert holds(p_values, replicates(1))
    assert is_caught(lambda n, seed: p_values(n, seed, share=0.6), 1)


def test_every_measure_with_a_name_has_a_row_here():
    assert {MEASURES[name] for name in MEASURES} <= {type(measure) for measure in CASES}


def test_a_measure_of_another_package_is_drawn_from_by_name():
    asked = {"n_rows": 20, "counts": "exactly(2)"}
    with registered(MEASURES, "scale-invariant", SCALE_INVARIANT):
        named = ribp.simulate(0, **asked, measure="scale-invariant(3)")
        with pytest.raises(InputError, match="measure must be one of beta-process"):
            ribp.simulate(0, **asked, measure="unknown(3)")
    plain = ribp.simulate(0, **asked, measure=SCALE_INVARIANT(3.0))
    np.testing.assert_array_equal(named.rows.toarray(), plain.rows.toarray())
    assert named.tv_bound_row <= 1e-12


class Broken(SCALE_INVARIANT):
    """A measure whose tail does not shrink."""

    def log_expected_tail_odds(self, log_threshold, odds=None):
        return np.zeros_like(log_threshold)


def test_a_tail_that_does_not_shrink_is_noticed():
    with pytest.raises(AssertionError):
        TestEveryMeasure().test_tail_shrinks_as_atoms_are_handed_out(Broken(3.0))
