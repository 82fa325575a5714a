"""`ribp.simulate`: what it returns, hard cases that end, other measures, and errors."""

import tracemalloc
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

import ribp
from experiments.printed import prior as printed
from ribp import counts
from ribp.errors import InputError, ProposalLimitError
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
    two_sample_p_value,
)

METHODS = ["inclusion", "esscher", "rejection", "collapsed", "lazy"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["mixture", "tilted"])
def test_what_is_returned(method, kind):
    draw = ribp.simulate(
        0, n_rows=30, counts=counts.uniform(1, 3), measure=ribp.BetaProcess(2), method=method,
        kind=kind,
    )  # fmt: skip
    z = draw.rows.toarray()
    assert set(z.sum(axis=1).tolist()) <= {1, 2, 3}
    assert z.any(axis=0).all()
    first = (z > 0).argmax(axis=0)
    assert (np.diff(first) >= 0).all()  # columns in order of first appearance
    assert draw.n_proposed - draw.n_rejected == 30
    assert (draw.n_rejected == 0) == (method == "inclusion")
    if method == "collapsed":
        assert draw.log_odds is None
        assert draw.unused_log_odds is None
    else:
        assert draw.log_odds.size == z.shape[1]
        assert draw.log_odds.size + draw.unused_log_odds.size == draw.n_atoms
    exact = method in ("collapsed", "lazy")
    assert (draw.tv_bound == 0.0) == exact
    assert draw.tv_bound <= 30 * 1e-12
    assert "30 rows" in repr(draw)
    again = ribp.simulate(
        np.random.default_rng(0), n_rows=30, counts="uniform(1,3)", measure=ribp.BetaProcess(2),
        method=method, kind=kind,
    )  # fmt: skip
    assert (again.rows != draw.rows).nnz == 0


def test_many_rows_need_little_more_memory_than_they_take():
    def simulate(n):
        return ribp.simulate(0, n_rows=n, counts="exactly(5)", measure=ribp.BetaProcess(mass=5))

    simulate(10)  # compiled before it is measured
    tracemalloc.start()
    rows = simulate(50_000).rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.data.dtype == np.int8
    assert peak < 3 * (rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)


def test_log_odds_belong_to_their_columns():
    """Rows weighed by inclusion probabilities p of their features have mean p @ p, given odds."""

    def p_values(n, seed, turned=False):
        draw = ribp.simulate(seed, n_rows=n, counts="exactly(3)", measure=ribp.BetaProcess(4))
        probs = ribp.inclusion_probs(np.concatenate([draw.log_odds, draw.unused_log_odds]), 3)
        own = probs[: draw.log_odds.size]
        return [mean_p_value(draw.rows @ (own[::-1] if turned else own), probs @ probs)]

    assert holds(p_values, replicates(4000))
    assert is_caught(partial(p_values, turned=True), 4000)


def test_laws_by_row_and_by_group():
    exact = np.array([0, 3, 1, 2, 0, 3])
    for method in METHODS:
        draw = ribp.simulate(1, n_rows=6, counts=exact, measure=ribp.BetaProcess(2), method=method)
        assert draw.rows.sum(axis=1).tolist() == exact.tolist()
    ranges = np.array([[1, 1], [2, 4]] * 50)
    z = ribp.simulate(1, n_rows=100, counts=ranges, measure=ribp.BetaProcess(2)).rows.toarray()
    assert set(z[::2].sum(axis=1).tolist()) == {1}
    assert set(z[1::2].sum(axis=1).tolist()) == {2, 3, 4}


@pytest.mark.jit
def test_a_learned_law_is_one_table_for_all_its_rows():
    """Counts of two rows are equal with probability 3 E f^2 = 1/2; from the mean law, 1/3."""

    def p_values(n, seed, share):
        rng = np.random.default_rng(seed)
        options = {"n_rows": 2, "counts": counts.learned([0, 1, 1, 1])}
        ones = [ribp.simulate(rng, **options, measure=ribp.BetaProcess(3)).rows.sum(axis=1)
                for _ in range(n)]  # fmt: skip
        return [mean_p_value([one == other for one, other in ones], share)]

    assert holds(partial(p_values, share=1 / 2), replicates(300))
    assert is_caught(partial(p_values, share=1 / 3), 800)


@pytest.mark.jit
@pytest.mark.parametrize(
    ("options", "law"),
    [
        ({"mass": 1}, "exactly(50)"),
        ({"mass": 5}, "exactly(0)"),
        ({"mass": 5, "concentration": 0.5}, "exactly(3)"),
        ({"mass": 5, "concentration": 0.01}, "exactly(3)"),
        ({"mass": 1e-3}, "exactly(4)"),
        ({"mass": 1000}, "exactly(5)"),
        ({"mass": 1000}, "poisson(1000)"),
        ({"mass": 3, "concentration": 40}, "uniform(0, 9)"),
    ],
)
def test_hard_cases_end(options, law):
    draw = ribp.simulate(0, n_rows=50, counts=law, measure=ribp.BetaProcess(**options))
    ones = draw.rows.sum(axis=1)
    assert ones.min() >= counts.parse(law).smallest
    assert draw.tv_bound_row <= 1e-12


@pytest.mark.jit
def test_a_million_rows():
    draw = ribp.simulate(0, n_rows=10**6, counts="exactly(5)", measure=ribp.BetaProcess(5))
    assert draw.rows.nnz == 5 * 10**6
    assert draw.rows.indices.dtype == np.int32
    assert draw.tv_bound <= 1e-6


@pytest.mark.parametrize("method", ["rejection", "collapsed", "lazy", "esscher"])
def test_no_silent_hang(method):
    rare = {"n_rows": 300, "counts": "exactly(9)", "measure": ribp.BetaProcess(1)}
    with pytest.raises(ProposalLimitError, match="acceptance rate") as caught:
        ribp.simulate(0, **rare, method=method, max_proposals=300)
    assert "method='inclusion'" in str(caught.value)
    assert caught.value.n_proposed == 300
    assert caught.value.n_accepted < 300


@pytest.mark.jit
def test_poisson_counts_are_not_the_buffet():
    """Counts of both are Poisson(mass), but only the buffet's rows depend on each other."""
    from ribp.kernels.proposals import buffet_rows

    mass, kinds, always = 3.0, np.zeros(2, np.int64), np.ones((1, 200))
    poisson = counts.poisson(mass)
    law = np.append(poisson.probs(14), poisson.tail(14))

    def p_values(n, seed, covariance=mass / 2):  # alpha / (c + 1)
        rng = np.random.default_rng(seed)
        buffet = np.array([
            buffet_rows(key, kinds, always, mass, 1.0, 0.0, 10)[1]
            for key in rng.integers(2**63, size=n, dtype=np.uint64)
        ])  # fmt: skip
        restricted = np.array([
            ribp.simulate(rng, n_rows=2, counts=poisson, measure=ribp.BetaProcess(mass))
            .rows.sum(axis=1)
            for _ in range(n // 4)
        ])  # fmt: skip
        both = [*buffet.T, *restricted.T]
        seen = [np.bincount(np.minimum(found, 15), minlength=16) for found in both]
        return [
            *(frequencies_p_value(times, law) for times in seen),
            mean_p_value((buffet - mass).prod(axis=1), covariance),
            mean_p_value((restricted - mass).prod(axis=1), 0.0),
        ]

    assert holds(p_values, replicates(4000))
    assert is_caught(partial(p_values, covariance=0.0), 1000)


@pytest.mark.parametrize("mass", [Fraction(1), Fraction(5, 2), Fraction(7)])
def test_counting_kept_rows_only_is_not_exchangeable(mass):
    """The paper's two probabilities, by exact arithmetic."""
    old, new = printed.kept_only_probs([1], mass)
    same_then_new = old[0] * printed.kept_only_probs([2], mass)[1]
    new_then_same = new * printed.kept_only_probs([1, 1], mass)[0][0]
    assert same_then_new == 2 * mass / (mass**2 + 8 * mass + 12)
    assert new_then_same == 3 * mass / (2 * mass**2 + 10 * mass + 12)
    assert same_then_new != new_then_same


@pytest.mark.jit
def test_counting_kept_rows_only_by_simulation():
    """Its rows are not exchangeable: (same, new) and (new, same) have other probabilities."""
    # Concentration 2.5, for the number of proposals to have a mean: see test_agreement.py.
    options = {"n_rows": 3, "counts": "exactly(1)", "measure": ribp.BetaProcess(2, 2.5)}

    def kept_only(rng, n):
        return np.array([printed.kept_only_rows(rng, 1.0, 3) for _ in range(n)])

    def right(rng, n):
        return np.array([
            ribp.simulate(rng, **options, method="collapsed").rows.indices for _ in range(n)
        ])  # fmt: skip

    def orders(draw, n, seed):
        rows = draw(np.random.default_rng(seed), n)
        pairs = [(rows[:, 1] == 0) & (rows[:, 2] == 1), (rows[:, 1] == 1) & (rows[:, 2] == 0)]
        return np.array(pairs, float)

    def exchangeable(n, seed, draw):
        same_then_new, new_then_same = orders(draw, n, seed)
        return [mean_p_value(same_then_new - new_then_same, 0.0)]

    def as_printed(n, seed):
        return [mean_p_value(seen, p) for seen, p in
                zip(orders(kept_only, n, seed), (2 / 21, 3 / 24), strict=True)]  # fmt: skip

    assert holds(as_printed, replicates(4000))
    assert holds(partial(exchangeable, draw=right), replicates(5000))
    assert is_caught(partial(exchangeable, draw=kept_only), 20_000)


@pytest.mark.jit
def test_thinning_a_buffet_is_the_tilted_law():
    # A mass between two counts, for the number of proposals to have a mean: see test_agreement.py.
    law = counts.table([0, 0.4, 0.2, 0, 0, 0.4])
    options = {"n_rows": 1, "counts": law, "measure": ribp.BetaProcess(4.5)}

    @cache
    def ones(n, seed, kind):
        rng = np.random.default_rng(seed)
        if kind == "thinned":
            return [printed.thinned_rows(rng, 1, law, 4.5).rows.sum() for _ in range(n)]
        return [ribp.simulate(rng, **options, kind=kind).rows.sum() for _ in range(n)]

    def is_tilted(n, seed, kind):
        return [two_sample_p_value(ones(n, seed, kind), ones(n, seed + 1, "tilted"))]

    def is_mixture(n, seed, kind):
        seen = np.bincount(ones(n, seed, kind), minlength=6)
        return [frequencies_p_value(seen, law.probs(5))]

    assert holds(partial(is_tilted, kind="thinned"), replicates(600))
    assert holds(partial(is_mixture, kind="mixture"), replicates(600))
    assert is_caught(partial(is_tilted, kind="mixture"), 600)
    assert is_caught(partial(is_mixture, kind="thinned"), 600)


# --- other measures and entries -----------------------------------------------------------


def shares(draw):
    """Return the largest share of a feature in the whole draw, and the number of features."""
    totals = np.asarray(draw.rows.sum(axis=0), dtype=float)
    return totals.max() / totals.sum(), totals.size


@pytest.mark.jit
def test_gamma_poisson_sums_are_a_dirichlet_process():
    """Both ways, and the Chinese restaurant process as a third."""
    mass = 2.0
    options = {"n_rows": 4, "counts": "exactly(3)", "entries": "poisson", "restrict": "sum"}

    def restaurant(rng):
        tables: list[int] = []
        for n in range(12):
            at = rng.choice(len(tables) + 1, p=np.array([*tables, mass]) / (n + mass))
            tables = [*tables, 0] if at == len(tables) else tables
            tables[at] += 1
        return max(tables) / 12, len(tables)

    def p_values(n, seed, other=mass):
        rng = np.random.default_rng(seed)
        gamma, dirichlet = (
            np.array([shares(ribp.simulate(rng, **options, measure=one)) for _ in range(n)])
            for one in (ribp.GammaProcess(mass), ribp.DirichletWeights(other))
        )
        tables = np.array([restaurant(rng) for _ in range(4 * n)])
        return [
            two_sample_p_value(one[:, column], other[:, column])
            for one, other in [(gamma, dirichlet), (gamma, tables), (dirichlet, tables)]
            for column in range(2)
        ]

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, other=3 * mass), 150)


@pytest.mark.jit
def test_conditional_poisson_sampling_from_a_dirichlet_measure():
    """Poisson entries that are all one, on gamma weights or their normalisation: the same rows."""
    options = {"n_rows": 3, "counts": "exactly(2)"}

    def p_values(n, seed, mass=2):
        rng = np.random.default_rng(seed)
        ways = [
            {"measure": ribp.GammaProcess(2), "entries": "poisson", "restrict": "ones"},
            {"measure": ribp.DirichletWeights(2), "entries": "poisson", "restrict": "ones"},
            {"measure": ribp.DirichletWeights(mass)},
        ]
        found = [
            np.array([shares(ribp.simulate(rng, **options, **way)) for _ in range(n)])
            for way in ways
        ]
        assert all((way[:, 0] <= 0.5).all() for way in found)  # no feature twice in a row
        return [two_sample_p_value(found[0][:, 1], other[:, 1]) for other in found[1:]]

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, mass=8), 150)


@pytest.mark.parametrize("restrict", ["nonzeros", "sum", "ones"])
@pytest.mark.parametrize(
    ("measure", "entries", "failures"),
    [
        (ribp.GammaProcess(2), "poisson", 1.0),
        (ribp.PitmanYorWeights(2, 0.0), "poisson", 1.0),
        (ribp.BetaProcess(2, 2.5), "negative_binomial", 1.5),
    ],
)
def test_every_restriction(measure, entries, failures, restrict):
    draw = ribp.simulate(
        0, n_rows=40, counts=counts.uniform(1, 3), measure=measure, entries=entries,
        restrict=restrict, failures=failures,
    )  # fmt: skip
    z = draw.rows.toarray()
    quantity = z.sum(axis=1) if restrict == "sum" else (z > 0).sum(axis=1)
    assert set(quantity.tolist()) == {1, 2, 3}
    if restrict == "ones":
        assert z.max() == 1
    assert draw.tv_bound_row <= 1e-12
    assert draw.n_rejected == 0


def test_weak_limits():
    for measure in (ribp.BetaProcess(2), ribp.GammaProcess(2), ribp.DirichletWeights(2)):
        draw = ribp.simulate(
            0, n_rows=9, counts="uniform(1, 40)", measure=measure, truncation=ribp.WeakLimit(12)
        )
        assert draw.n_atoms == 12
        assert draw.rows.sum(axis=1).max() <= 12


GOOD = {"n_rows": 5, "counts": "exactly(2)", "measure": ribp.BetaProcess(2)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_rows": 0}, "n_rows must be at least 1"),
        ({"n_rows": 2.5}, "n_rows must be a whole number"),
        ({"counts": [1, 2]}, "counts"),
        ({"counts": "exactly(2"}, "^"),
        ({"measure": 5}, "measure must be a directing measure"),
        ({"measure": "gama-process(2)"}, "Did you mean 'gamma-process'?"),
        ({"measure": "gamma-process(x)"}, "measure must have numbers"),
        ({"method": "inclusions"}, "Did you mean 'inclusion'?"),
        ({"kind": "mixed"}, "kind must be one of"),
        ({"entries": "poison"}, "Did you mean 'poisson'?"),
        ({"restrict": "zeros"}, "restrict must be one of"),
        ({"truncation": 20}, "truncation must be WeakLimit, SizeOrdered or Certified"),
        ({"truncation": ribp.WeakLimit(2)}, "must exceed mass"),
        ({"truncation": ribp.SizeOrdered(1)}, "counts must have mass on 0..1"),
        ({"truncation": ribp.SizeOrdered(1), "kind": "tilted"}, "counts must have mass on 0..1"),
        ({"truncation": ribp.WeakLimit(9), "measure": ribp.BetaProcess(2, 1, 0.3)}, "no weak"),
        ({"truncation": ribp.Certified(), "method": "lazy"}, "truncation must be left out"),
        ({"measure": ribp.GammaProcess(2), "method": "lazy"}, "must be a BetaProcess for method"),
        ({"entries": "poisson"}, "must have weights that are sizes for entries='poisson'"),
        ({"entries": "negative_binomial", "measure": ribp.GammaProcess(2)}, "beta-process"),
        ({"restrict": "sum"}, "restrict must be 'nonzeros' or 'ones'"),
        ({"entries": "negative_binomial", "method": "lazy"}, "method must be 'inclusion'"),
        ({"entries": "negative_binomial", "kind": "tilted"}, "kind must be 'mixture'"),
        ({"failures": 0}, "failures must be positive"),
        ({"max_proposals": 0}, "max_proposals must be between 1 and"),
        ({"rng": "seed"}, "rng must be"),
        ({"max_proposals": 10**15 + 1}, "max_proposals must be between 1 and 1000000000000000"),
    ],
)  # fmt: skip
def test_bad_input(change, words):
    with pytest.raises(InputError) as caught:
        ribp.simulate(**({"rng": 0} | GOOD | change))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ribp.BetaProcess(0), "mass must be positive"),
        (lambda: ribp.BetaProcess(-1), "mass must be positive"),
        (lambda: ribp.BetaProcess(1, 1, 1), "discount must be at least 0 and below 1"),
        (lambda: ribp.BetaProcess(1, 1, -0.1), "discount must be at least 0 and below 1"),
        (lambda: ribp.BetaProcess(1, 0), "concentration must be"),
    ],
)
def test_bad_measures(make, words):
    with pytest.raises(InputError) as caught:
        make()
    assert words in str(caught.value)


def test_rows_without_ones_have_no_features():
    draw = ribp.simulate(0, n_rows=3, counts="exactly(0)", measure=ribp.BetaProcess(2))
    assert draw.rows.shape == (3, 0)
    one = ribp.simulate(0, n_rows=1, counts="exactly(1)", measure=ribp.BetaProcess(2))
    assert one.rows.shape == (1, 1)
