"""All samplers agree in law with reference values and with each other; wrong ones do not."""

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

import ribp
from experiments.printed import prior as printed
from ribp import counts
from ribp.testing.goodness import (
    holds,
    is_caught,
    mean_p_value,
    replicates,
    two_sample_p_value,
)
from tests.helpers.row_statistics import many

pytestmark = pytest.mark.jit

METHODS = ["inclusion", "esscher", "rejection", "collapsed", "lazy"]
TRUNCATED = METHODS[:3]

# By quadrature, one feature in each of five rows: P(row 1 = row 2) and the expected number of
# distinct features, by mass and concentration.
REFERENCE = {
    (1.0, 1.0): (0.56146, 2.11232),
    (2.0, 1.0): (0.44066, 2.54361),
    (1.0, 2.5): (0.32310, 2.96983),
    (1.0, 0.5): (0.73000, 1.63306),
}

# Given the measure, a row needs 1/a proposals on average, where a is the probability that its coins
# show J ones (mixture), or a count that is then accepted (tilted). The mean of 1/a over measures
# is infinite in many cases, and then the limit of 10^7 proposals is met now and then: at mass 2 and
# concentration 1, one draw in 3e5 with J = 1. It is infinite, without a discount, in two ways.
#
# - Odds too small. All are below e with probability e^(m c), and then 1/a ~ e^-J: finite if and
#   only if m c > J.
# - Odds too large. Let atoms be 1 - d_i, of rate m c d^(c-1) dd. The J nearest to one are free, any
#   other one costs 1/d: finite if c > 1, as every m c d^(c-2) dd is; infinite if c < 1. At c = 1
#   those with d > e multiply the mean by e^-m, and the J free ones have probability e^J: finite if
#   and only if m < J.
#
# So rows with exactly J ones have a finite mean if and only if c > 1 and m c > J, never at c = 1. A
# mixture needs that for each of its counts. A tilted law may choose the easiest count each time: it
# needs m c > its smallest, and either c > 1 or, at c = 1, m < its largest. A discount s makes all
# of the first kind finite, and c + s takes the place of c in the second.
UNTILTED = ["rejection", "collapsed", "lazy"]
FEASIBLE = [
    (mass, concentration, method)
    for mass, concentration in REFERENCE
    for method in METHODS
    if method not in UNTILTED
    or (concentration > 1 and mass * concentration > 1)
    or mass == concentration == 1  # without a mean, but beyond 10^7 once in 10^7 draws only
]


@pytest.mark.parametrize(("mass", "concentration", "method"), FEASIBLE)
def test_reference_values(mass, concentration, method):
    options = {
        "n_rows": 5,
        "counts": "exactly(1)",
        "measure": ribp.BetaProcess(mass, concentration),
    }
    same, distinct = REFERENCE[mass, concentration]

    def p_values(n, seed):
        found = many(lambda rng: ribp.simulate(rng, **options, method=method).rows, n, seed)
        return [mean_p_value(found[:, 0], same, 5e-6), mean_p_value(found[:, 1], distinct, 5e-6)]

    assert holds(p_values, replicates(400))


@pytest.mark.parametrize("method", ["inclusion", "esscher"])
def test_reference_for_two_features(method):
    options = {"n_rows": 5, "counts": "exactly(2)", "measure": ribp.BetaProcess(2)}

    def p_values(n, seed):
        found = many(lambda rng: ribp.simulate(rng, **options, method=method).rows, n, seed)
        return [mean_p_value(found[:, 0], 0.2338, 4e-4), mean_p_value(found[:, 1], 4.401, 2e-3)]

    assert holds(p_values, replicates(500))


# All of a finite mean.
CASES = {
    "concentration 2.5, spread": (
        ribp.BetaProcess(3, 2.5), counts.table([0, 0.5, 0.3, 0.2]), "mixture"),
    "discount 0.4, two ones": (
        ribp.BetaProcess(3, 1, 0.4), counts.exactly(2), "mixture"),
    "discount 0.4, concentration 2.5, spread": (
        ribp.BetaProcess(3, 2.5, 0.4), counts.table([0, 0.5, 0.3, 0.2]), "mixture"),
    "two groups": (
        ribp.BetaProcess(1.5, 2.5), counts.by_group(
            {"a": counts.exactly(1), "b": counts.uniform(1, 2)}, list("aabbb")), "mixture"),
    "tilted": (
        ribp.BetaProcess(2), counts.table([0, 0.5, 0.3, 0.2]), "tilted"),
    "tilted, concentration 2.5, two groups": (
        ribp.BetaProcess(2, 2.5), counts.by_group(
            {"a": counts.exactly(1), "b": counts.poisson(3)}, list("aabbb")), "tilted"),
}  # fmt: skip


def samples(name, method, repeats, seed):
    measure, law, kind = CASES[name]
    # A bound that is looser than the default, far below what these draws can see.
    truncation = ribp.Certified(1e-3, 20_000) if method in TRUNCATED else None
    return many(
        lambda rng: ribp.simulate(
            rng, n_rows=5, counts=law, measure=measure, method=method, kind=kind,
            truncation=truncation,
        ).rows,
        repeats,
        [seed, METHODS.index(method)],
    )  # fmt: skip


def same_share(first, second):
    """Return the exact p-value of zeros and ones: where ones are rare, few draws have no spread."""
    ones = [(int(found.sum()), found.size) for found in (first, second)]
    return stats.fisher_exact([[k, n - k] for k, n in ones]).pvalue


@pytest.mark.parametrize("name", CASES)
def test_samplers_agree(name):
    share = 0.12 if CASES[name][0].discount else 0.4  # truncated ones are dearer

    def p_values(n, seed):
        collapsed, lazy = (samples(name, method, n, seed) for method in ("collapsed", "lazy"))
        exact = np.concatenate([collapsed, lazy])
        pairs = {method: (samples(name, method, int(share * n), seed), exact)
                 for method in TRUNCATED}  # fmt: skip
        return {
            f"{method}, {column}": p_value(found[:, column], other[:, column])
            for method, (found, other) in (pairs | {"lazy": (lazy, collapsed)}).items()
            for column, p_value in enumerate([same_share, two_sample_p_value, two_sample_p_value])
        }

    assert holds(p_values, replicates(500))


DEEP = {
    "many ones, small mass": (ribp.BetaProcess(1), counts.exactly(8)),
    "concentration 0.5": (ribp.BetaProcess(2, 0.5), counts.exactly(3)),
    "large mass, few ones": (ribp.BetaProcess(15), counts.uniform(0, 2)),
    "gamma": (ribp.GammaProcess(2), counts.poisson(3)),
    "dirichlet": (ribp.DirichletWeights(2), counts.exactly(3)),
}


@pytest.mark.parametrize("name", DEEP)
def test_the_default_agrees_with_a_much_deeper_truncation(name):
    """Where rejection is hopeless: ten times the atoms that the certificate asks for."""
    measure, law = DEEP[name]
    options = {"n_rows": 5, "counts": law, "measure": measure}
    atoms = ribp.simulate(0, **options).n_atoms
    rules = [None, ribp.SizeOrdered(10 * atoms)]

    def p_values(n, seed):
        default, deep = (
            many(lambda rng: ribp.simulate(rng, **options, truncation=rule).rows, n, [seed, at])  # noqa: B023
            for at, rule in enumerate(rules)
        )
        numbers = [two_sample_p_value(default[:, at], deep[:, at]) for at in (1, 2)]
        return [same_share(default[:, 0], deep[:, 0]), *numbers]

    assert holds(p_values, replicates(300))


def one_feature_rows(dishes):
    n = len(dishes)
    return csr_array((np.ones(n, np.int8), (np.arange(n), dishes)))


def retrospective(rng):
    rows = printed.retrospective_rows(rng, 1.0, 1, 5, start=1)
    return one_feature_rows([int(row[0]) for row in rows])


WRONG = {
    "kept rows only": lambda rng: one_feature_rows(printed.kept_only_rows(rng, 1.0, 5)),
    "retrospective as printed": retrospective,
    "too few atoms": lambda rng: ribp.simulate(
        rng, n_rows=5, counts="exactly(1)", measure=ribp.BetaProcess(1),
        truncation=ribp.SizeOrdered(2)).rows,
    "wrong concentration": lambda rng: ribp.simulate(
        rng, n_rows=5, counts="exactly(1)", measure=ribp.BetaProcess(1, 1.5), method="lazy").rows,
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_samplers_are_caught(name):
    def p_values(n, seed):
        found = many(WRONG[name], n, seed)
        return [mean_p_value(found[:, 0], 0.56146), mean_p_value(found[:, 1], 2.11232)]

    assert is_caught(p_values, 1000)
