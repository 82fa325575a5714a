"""Count laws against direct formulas, and their draws against their probabilities."""

import copy
import math
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ribp import counts
from ribp.counts import (
    CountLaw,
    Learned,
    empirical,
    exactly,
    learned,
    mixture,
    negative_binomial,
    poisson,
    table,
    truncated,
    uniform,
    window,
)
from ribp.errors import InputError
from ribp.testing.goodness import holds, is_caught, replicates
from tests.helpers.count_law_cases import (
    all_laws,
    counts_p_value,
    dirichlet_p_values,
    simple_laws,
)
from tests.helpers.plug_ins import of_page

INF = math.inf


def direct_nb(m, d):
    return stats.nbinom(1 / d, 1 / (1 + d * m))


def direct_truncated(law, lo, hi, k_max=2000):
    p = np.array(law.pmf(np.arange(k_max + 1)))
    p[:lo] = 0
    p[(k_max if hi is None else hi) + 1 :] = 0
    return p / p.sum()


AT_LEAST = of_page("adding-a-count-law")["AtLeast"]
FORMULAS = [
    (AT_LEAST(1, 0.2), stats.geom(0.8)),
    (truncated(AT_LEAST(1, 0.2), 2, 4), direct_truncated(stats.geom(0.8), 2, 4)),
    (exactly(3), [0, 0, 0, 1]),
    (exactly(0), [1]),
    (uniform(2, 5), [0, 0, 0.25, 0.25, 0.25, 0.25]),
    (window(4, 1), [0, 0, 0, 1 / 3, 1 / 3, 1 / 3]),
    (window(0.5, 2.5), [0.25] * 4),
    (poisson(4.5), stats.poisson(4.5)),
    (poisson(0), [1]),
    (poisson(1e-9), stats.poisson(1e-9)),
    (negative_binomial(4, 0.7), direct_nb(4, 0.7)),
    (negative_binomial(4, 7), direct_nb(4, 7)),
    (negative_binomial(30, 0.005), direct_nb(30, 0.005)),
    (negative_binomial(0, 1), [1]),
    (table([0.1, 0, 0.9, 0]), [0.1, 0, 0.9]),
    (mixture([(0.8, exactly(1)), (0.2, uniform(0, 3))]), [0.05, 0.85, 0.05, 0.05]),
    (empirical([3, 1, 1, 1]), [0, 0.75, 0, 0.25]),
    (learned([1, 0, 3]), [0.25, 0, 0.75]),
    (truncated(poisson(9), 1, 20), direct_truncated(stats.poisson(9), 1, 20)),
    (truncated(poisson(9), 12), direct_truncated(stats.poisson(9), 12, None)),
    (truncated(poisson(9), 0, 2), direct_truncated(stats.poisson(9), 0, 2)),
    (truncated(poisson(1e-3), 4), direct_truncated(stats.poisson(1e-3), 4, None)),
    (truncated(negative_binomial(5, 2), 3, 9), direct_truncated(direct_nb(5, 2), 3, 9)),
    (truncated(negative_binomial(5, 0.1), 3), direct_truncated(direct_nb(5, 0.1), 3, None)),
    (truncated(table([0.1, 0.2, 0.3, 0.4]), 1, 2), [0, 0.4, 0.6]),
    (truncated(learned([1, 2, 3, 4]), 1, 2), [0, 0.4, 0.6]),
    (truncated(uniform(2, 8), 0, 3), [0, 0, 0.5, 0.5]),
]
IDS = [str(law) for law, _ in FORMULAS]


def vector(formula, k_max=2000):
    if isinstance(formula, (list, np.ndarray)):
        p = np.asarray(formula, dtype=float)[: k_max + 1]
        return np.pad(p, (0, k_max + 1 - len(p)))
    return np.array(formula.pmf(np.arange(k_max + 1)))


@pytest.mark.parametrize(("law", "formula"), FORMULAS, ids=IDS)
class TestFormulas:
    def test_probabilities(self, law, formula):
        # log k! is 13,000 at k = 2000, so its last bit is 2e-12
        np.testing.assert_allclose(law.probs(2000), vector(formula), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(law.probs(60), vector(formula, 60), rtol=1e-12, atol=1e-300)

    def test_logarithms(self, law, formula):
        expected = vector(formula, 60)
        log_f = law.log_probs(60)
        assert log_f.dtype == np.float64
        assert log_f.shape == (61,)
        assert (log_f[expected == 0] < -700).all()
        assert (expected[log_f == -INF] == 0).all()
        on = expected > 1e-290
        np.testing.assert_allclose(log_f[on], np.log(expected[on]), rtol=1e-12, atol=1e-12)

    def test_sums_to_one(self, law, formula):
        assert law.probs(2000).sum() + law.tail(2000) == pytest.approx(1, abs=1e-13)

    def test_ends(self, law, formula):
        on = np.flatnonzero(np.isfinite(law.log_probs(60)))
        assert law.smallest == on[0]
        assert law.largest == (None if on[-1] == 60 else on[-1])

    def test_mean(self, law, formula):
        expected = np.arange(2001) @ vector(formula)
        assert law.mean == pytest.approx(expected, rel=1e-12)

    def test_tail(self, law, formula):
        p = vector(formula)
        assert law.tail(-1) == pytest.approx(1, abs=1e-15)
        for k in (0, 1, 2, 3, 7, 15, 30, 60):
            assert law.tail(k) == pytest.approx(math.fsum(p[k + 1 :]), rel=1e-11, abs=1e-290)

    def test_draws(self, law, formula):
        def p_values(n, seed):
            draws = law.sample(np.random.default_rng(seed), n)
            assert draws.dtype == np.int64
            assert draws.shape == (n,)
            return [counts_p_value(draws, law)]

        assert holds(p_values, replicates(20_000))
        assert law.sample(np.random.default_rng(0), 0).shape == (0,)

    def test_is_a_value(self, law, formula):
        assert copy.deepcopy(law) == law == pickle.loads(pickle.dumps(law))
        assert hash(copy.deepcopy(law)) == hash(law)
        with pytest.raises(AttributeError):
            law.anything = 1

    @pytest.mark.parametrize(("lo", "hi"), [(0, 6), (1, 4), (2, 3)])
    def test_restricted(self, law, formula, lo, hi):
        p = vector(formula)[: hi + 1].copy()
        p[:lo] = 0
        if p.sum() == 0:
            with pytest.raises(InputError, match=rf"must have mass on {lo}\.\.{hi}, but got "):
                law.restricted_log_probs(lo, hi)
        else:
            log_f = law.restricted_log_probs(lo, hi)
            np.testing.assert_allclose(np.exp(log_f), p / p.sum(), rtol=1e-12, atol=1e-300)


class Broken(AT_LEAST):
    """A law whose ends are those of another."""

    def _ends(self):
        return 0, self.hi


def test_wrong_ends_are_noticed():
    with pytest.raises(AssertionError):
        TestFormulas().test_ends(Broken(1, 0.2), stats.geom(0.8))


def test_a_wrong_sampler_is_noticed():
    for shift, law in [(0, poisson(4.7)), (0, uniform(0, 3)), (1, truncated(poisson(4.5), 1))]:

        def p_values(n, seed, shift=shift, law=law):
            draws = poisson(4.5).sample(np.random.default_rng(seed), n)
            return [counts_p_value(draws + shift, law)]

        assert is_caught(p_values, 20_000)


@given(all_laws)
@settings(max_examples=100)
def test_every_law_keeps_the_contract(law):
    assert isinstance(law, CountLaw)
    log_f = law.log_probs(400)
    assert not np.isnan(log_f).any()
    np.testing.assert_array_equal(law.probs(400), np.exp(log_f))
    if law.smallest <= 400:
        assert law.probs(400).sum() + law.tail(400) == pytest.approx(1, abs=1e-10)
        assert log_f[law.smallest] > -INF
    assert (log_f[: law.smallest] == -INF).all()
    if law.largest is not None:
        assert law.tail(law.largest) == 0
        assert law.mean <= law.largest * (1 + 1e-12)
    assert law.mean >= law.smallest * (1 - 1e-12)
    draws = law.sample(np.random.default_rng(0), 50)
    assert draws.min() >= law.smallest
    assert law.largest is None or draws.max() <= law.largest


@given(simple_laws, st.integers(0, 30), st.integers(0, 30))
def test_truncating_agrees_with_restricting(law, lo, more):
    hi = lo + more
    try:
        expected = law.restricted_log_probs(lo, hi)
    except InputError:
        with pytest.raises(InputError, match="must have mass"):
            truncated(law, lo, hi)
    else:
        log_f = truncated(law, lo, hi).log_probs(hi)
        np.testing.assert_array_equal(log_f == -INF, expected == -INF)
        on = expected > -600
        np.testing.assert_allclose(log_f[on], expected[on], rtol=1e-10, atol=1e-10)


class TestFarTails:
    def test_log_probabilities_do_not_underflow(self):
        k = 10_000
        expected = k * math.log(2.0) - 2.0 - math.lgamma(k + 1)
        assert poisson(2).log_probs(k)[-1] == pytest.approx(expected, rel=1e-14)

    def test_poisson_tail_is_a_series(self):
        first = poisson(9).log_probs(151)[-1]
        series = math.fsum(math.prod(9 / (151 + j) for j in range(1, n + 1)) for n in range(60))
        expected = math.exp(first) * series
        assert expected < 1e-120
        assert poisson(9).tail(150) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("dispersion", [1e-100, 1e-12, 1e-5, 0.0099, 0.0101, 0.5, 40])
    def test_negative_binomial_is_a_product(self, dispersion):
        m, d = Fraction(7), Fraction(dispersion)
        log_f = negative_binomial(7, dispersion).log_probs(30)
        # f(k)/f(0) in exact arithmetic; f(0) = (1 + d m)^(-1/d)
        assert log_f[0] == pytest.approx(-math.log1p(7 * dispersion) / dispersion, rel=1e-14)
        ratio = Fraction(1)
        for k in range(30):
            ratio *= m * (1 + k * d) / ((k + 1) * (1 + d * m))
            assert log_f[k + 1] - log_f[0] == pytest.approx(math.log(ratio), rel=1e-12, abs=1e-12)

    def test_a_tail_below_the_range_of_doubles_can_be_conditioned_on(self):
        law = truncated(poisson(1), 1000)
        series = [math.prod(1 / (1000 + j) for j in range(1, n + 1)) for n in range(8)]
        expected = np.array(series) / math.fsum(series)
        np.testing.assert_allclose(law.probs(1007)[1000:], expected, rtol=1e-11)
        assert law.mean == pytest.approx(np.arange(1000, 1008) @ expected, rel=1e-12)
        assert poisson(1).tail(999) == 0
        assert law.tail(1000) == pytest.approx(expected[1:].sum(), rel=1e-11)

    def test_far_below_the_mode(self):
        law = truncated(poisson(1e6), 10, 500_000)  # terms fall by k/rate = 1/2 a step
        assert law.tail(499_999) == pytest.approx(0.5, abs=1e-4)
        assert law.mean == pytest.approx(499_999, abs=1e-3)
        assert law.sample(np.random.default_rng(0), 1000).min() > 499_900

    def test_far_above_the_mode_without_an_end(self):
        law = truncated(negative_binomial(10, 1), 10_000)  # geometric: memoryless
        assert law.mean == pytest.approx(10_010, rel=1e-10)
        assert law.tail(10_009) == pytest.approx((10 / 11) ** 10, rel=1e-9)

    def test_scales_that_no_table_could_hold(self):
        assert exactly(10**15).tail(10**15 - 1) == 1
        assert exactly(2**63 - 1).sample(np.random.default_rng(0), 2).tolist() == [2**63 - 1] * 2
        last = truncated(poisson(3), 2**63 - 1)
        assert last.sample(np.random.default_rng(0), 1).tolist() == [2**63 - 1]
        assert uniform(0, 10**15).tail(5 * 10**14) == pytest.approx(0.5)
        law = truncated(negative_binomial(1e9, 1), 1)
        assert law.mean == pytest.approx(1e9 + 1, rel=1e-12)
        assert (law.sample(np.random.default_rng(0), 100) > 0).all()

    def test_the_variance_of_the_negative_binomial(self):
        k = np.arange(3001)
        p = negative_binomial(6, 0.5).probs(3000)
        assert (k - 6) ** 2 @ p == pytest.approx(6 + 0.5 * 36, rel=1e-12)


class TestCanonicalForm:
    def test_equal_laws_are_equal(self):
        assert exactly(3) == exactly(3.0) == exactly(np.int64(3)) == uniform(3, 3)
        assert window(4, 1) == uniform(3, 5) == window(4.4, 1.4)
        assert window(-1, 3) == uniform(0, 2)
        assert window(2.5, 0.5) == uniform(2, 3)
        assert window(7, 0) == exactly(7)
        assert poisson(-0.0) == negative_binomial(0, 3) == exactly(0)
        assert poisson(3) == poisson(3.0) != poisson(4)
        assert table([0.5, 0.5, 0]) == table((0.5, 0.5)) == empirical(np.array([0, 1]))
        assert table([0.5, 0.5]) != learned([0.5, 0.5])
        assert learned([1, 2, 0]) == learned([1, 2])

    def test_a_table_is_normalised(self):
        law = table([0.3, 0.7 + 5e-10])
        assert math.fsum(law.p) == pytest.approx(1, abs=2e-16)
        assert table(law.p) == law

    def test_a_table_is_a_copy(self):
        p = np.array([0.5, 0.5])
        law = table(p)
        p[0] = 9
        assert law.probs(1).tolist() == [0.5, 0.5]

    def test_mixtures_are_flat(self):
        inner = mixture([(0.5, exactly(1)), (0.5, exactly(2))])
        flat = mixture([(0.25, exactly(1)), (0.25, exactly(2)), (0.5, poisson(3))])
        assert mixture([(0.5, inner), (0.5, poisson(3))]) == flat
        assert mixture([(0, exactly(9)), (1, inner), (0.0, poisson(1))]) == inner
        assert mixture([(1, poisson(3))]) == poisson(3)
        assert mixture((w, law) for w, law in [(1.0, exactly(3))]) == exactly(3)
        assert mixture([(1, learned([1, 1]))]) == learned([1, 1])

    def test_truncations_are_flat(self):
        assert truncated(poisson(9)) == poisson(9)
        assert truncated(exactly(3), 1, 5) == exactly(3)
        assert truncated(truncated(poisson(9), 1, 20), 3) == truncated(poisson(9), 3, 20)
        assert truncated(truncated(poisson(9), 1), 0, 7) == truncated(poisson(9), 1, 7)
        assert truncated(truncated(poisson(9), 1), 3) == truncated(poisson(9), 3)
        assert truncated(truncated(poisson(9), 3), 1) == truncated(poisson(9), 3)

    def test_a_truncated_mixture_is_a_mixture(self):
        law = mixture([(0.5, exactly(0)), (0.5, poisson(3))])
        assert truncated(law, 1) == truncated(poisson(3), 1)
        cut = truncated(law, 0, 5)
        assert cut.laws == (exactly(0), truncated(poisson(3), 0, 5))
        np.testing.assert_allclose(
            cut.log_probs(5), law.restricted_log_probs(0, 5), rtol=1e-13, atol=1e-13
        )

    def test_repr_is_the_text(self):
        assert repr(mixture([(0.8, exactly(1)), (0.2, poisson(9))])) == (
            "0.8*exactly(1) + 0.2*poisson(9)"
        )
        assert repr(truncated(negative_binomial(9, 0.25), 1)) == (
            "truncated(negative_binomial(9, 0.25), 1)"
        )
        assert len(repr(table(np.full(1000, 1e-3)))) < 130


class TestLearned:
    def test_posterior(self):
        law = learned([1, 0.5, 0, 2])
        assert law.posterior([3, 0, 0, 1]) == learned([4, 0.5, 0, 3])
        assert law.posterior([3]) == learned([4, 0.5, 0, 2])
        assert law.posterior([3, 0, 0, 0, 0, 0]) == learned([4, 0.5, 0, 2])
        assert law.posterior([]) == law
        assert law.base == (1.0, 0.5, 0.0, 2.0)

    def test_tables_have_the_dirichlet_law(self):
        def p_values(n, seed, base):
            rng, law = np.random.default_rng(seed), learned([0.4, 0, 3.0, 1.5])
            tables = np.array([law.draw_table(rng).probs(3) for _ in range(n)])
            np.testing.assert_allclose(tables.sum(axis=1), 1, rtol=1e-12)
            return dirichlet_p_values(tables, np.array(base))

        assert holds(partial(p_values, base=[0.4, 0, 3.0, 1.5]), replicates(4000))
        assert is_caught(partial(p_values, base=[0.6, 0, 3.0, 1.5]), 1000)

    @pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e300])
    def test_extreme_bases(self, scale):
        law = learned([scale, 2 * scale, scale])
        np.testing.assert_allclose(law.probs(2), [0.25, 0.5, 0.25])
        drawn = law.draw_table(np.random.default_rng(0))
        assert drawn.probs(2).sum() == pytest.approx(1)

    def test_impossible_histograms(self):
        law = learned([1, 0, 1])
        with pytest.raises(
            InputError, match="zero where base is zero, but got 4 rows with count 1"
        ):
            law.posterior([0, 4])
        with pytest.raises(InputError, match=r"how often each count 0\.\.2 was seen"):
            law.posterior([0, 0, 0, 1])
        with pytest.raises(InputError, match=r"how often each count 0\.\.2 was seen"):
            law.posterior([[1]])
        with pytest.raises(InputError, match="histogram must be at least 0"):
            law.posterior([-1])

    def test_type(self):
        assert isinstance(learned([1]), Learned)


NOT_A_COUNT = [True, np.True_, math.nan, 2.5, -1, INF, -INF, None, "three", exactly(1), 2**63, [1]]


class TestErrors:
    @pytest.mark.parametrize("k", NOT_A_COUNT, ids=repr)
    def test_counts(self, k):
        with pytest.raises(InputError, match="k must be"):
            exactly(k)
        with pytest.raises(InputError, match="lo must be"):
            uniform(k, 9)
        with pytest.raises(InputError, match="hi must be"):
            uniform(0, k)
        with pytest.raises(InputError, match="lo must be"):
            truncated(poisson(3), k)
        if k is not None:
            with pytest.raises(InputError, match="hi must be"):
                truncated(poisson(3), 0, k)

    @pytest.mark.parametrize("rate", [True, math.nan, -1, INF, None, "x", 1e16], ids=repr)
    def test_means(self, rate):
        with pytest.raises(InputError, match="rate must be"):
            poisson(rate)
        with pytest.raises(InputError, match="mean must be"):
            negative_binomial(rate, 1)

    @pytest.mark.parametrize("dispersion", [0, -1, INF, math.nan, None, 1e-200, 1e300], ids=repr)
    def test_dispersions(self, dispersion):
        with pytest.raises(InputError, match="dispersion must"):
            negative_binomial(3, dispersion)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: exactly(-1), "k must be at least 0, but got -1. Choose k at least 0."),
            (lambda: uniform(3, 1), "hi must be at least lo = 3, but got 1. Exchange lo and hi."),
            (
                lambda: window(0.5, 0.25),
                "half_width must leave a count k >= 0 with |k - 0.5| <= half_width, "
                "but got 0.25. Widen or move the window.",
            ),
            (lambda: window(-3, 2), "half_width must leave a count k >= 0"),
            (lambda: window(3, -1), "half_width must leave a count k >= 0"),
            (lambda: window(INF, 2), "centre must be finite, but got inf."),
            (lambda: window(3, math.nan), "half_width must be a number"),
            (lambda: table([0.5, 0.4]), "p must sum to one, but got a sum of 0.9. Divide by"),
            (lambda: table([]), "p must sum to one, but got a sum of 0.0."),
            (lambda: table([1.5, -0.5]), "p must be non-negative and finite, but got -0.5."),
            (lambda: table([math.nan, 1]), "p must be non-negative and finite, but got nan."),
            (lambda: table([[1.0]]), "p must be a flat list, but got shape (1, 1)."),
            (lambda: table(1.0), "p must be a flat list, but got shape ()."),
            (lambda: table(["a"]), "p must be a list of numbers, but got ['a']."),
            (lambda: table([10**400]), "p must be a list of numbers"),
            (lambda: table([0.5, 0.5 + 1e-8]), "p must sum to one"),
            (lambda: mixture([]), "weights must sum to one"),
            (lambda: mixture([(0.5, exactly(1))]), "weights must sum to one"),
            (lambda: mixture([(-1, exactly(1)), (2, exactly(1))]), "weights must be non-neg"),
            (lambda: mixture([exactly(1)]), "components must be pairs (weight, law)"),
            (lambda: mixture(3), "components must be pairs (weight, law), but got 3."),
            (lambda: mixture([(1, 3)]), "components must be pairs (weight, law), but got (1, 3)"),
            (
                lambda: mixture([(0.5, exactly(1)), (0.5, learned([1, 1]))]),
                "components must be known laws, but got learned(1, 1). A learned law stands alone",
            ),
            (lambda: truncated(3, 1), "law must be a count law, but got 3."),
            (
                lambda: truncated(exactly(5), 0, 3),
                "law must have mass on 0..3, but got exactly(5), which lives on 5..5. Widen",
            ),
            (lambda: truncated(uniform(1, 3), 5), "law must have mass on 5.., but got uniform"),
            (lambda: truncated(poisson(3), 5, 4), "hi must be at least lo = 5, but got 4."),
            (lambda: empirical([]), "ks must be a list of at least one count, but got shape (0,)"),
            (lambda: empirical([[1]]), "ks must be a list of at least one count"),
            (lambda: empirical([1, -2]), "ks must be at least 0"),
            (lambda: empirical([1.5]), "ks must hold whole numbers, but got 1.5"),
            (lambda: empirical([10**7]), "ks must be below 1000000, but got 10000000."),
            (lambda: learned([0, 0]), "base must have a positive entry, but got [0, 0]."),
            (lambda: learned([]), "base must have a positive entry"),
            (lambda: learned([-1, 2]), "base must be non-negative and finite, but got -1.0."),
            (lambda: poisson(3).log_probs(-1), "k_max must be at least 0"),
            (lambda: poisson(3).tail(-2), "k must be at least -1"),
            (lambda: poisson(3).sample(None, 3), "rng must be a numpy.random.Generator"),
            (lambda: poisson(3).sample(np.random.default_rng(0), -3), "size must be at least 0"),
            (lambda: poisson(3).restricted_log_probs(3, 2), "hi must be at least lo = 3"),
            (lambda: learned([1]).draw_table("x"), "rng must be a numpy.random.Generator"),
        ],
    )
    def test_messages(self, make, message):
        with pytest.raises(InputError) as caught:
            make()
        assert str(caught.value).replace("np.float64(1.5)", "1.5").startswith(message)

    def test_no_mass_names_an_unbounded_law(self):
        law = truncated(poisson(3), 5)
        with pytest.raises(
            InputError, match=r"got truncated\(poisson\(3\), 5\), .* on 5\.\.\.\.\."
        ):
            law.restricted_log_probs(0, 3)


def test_public_names():
    for name in counts.__all__:
        assert getattr(counts, name).__doc__
