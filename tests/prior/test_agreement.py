"""All samplers agree in law with reference values and with each other; wrong ones do not."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import ribp
from ribp import counts
from ribp.paper import prior as printed
from ribp.testing.goodness import agrees, mean_p_value, n_seeds, two_sample_p_value
from tests.helpers.row_statistics import many

pytestmark = pytest.mark.jit

METHODS = ["inclusion", "esscher", "rejection", "collapsed", "lazy"]
TRUNCATED = METHODS[:3]

# By quadrature, one feature in each of five rows: P(row 1 = row 2) and, at concentration 1, the
# expected number of distinct features.
REFERENCE = {
    (1.0, 1.0): (0.56146, 2.1123),
    (2.0, 1.0): (0.44066, 2.5436),
    (1.0, 2.5): (0.32310, None),
    (1.0, 0.5): (0.73000, None),
}


# At concentration 0.5 untilted proposals meet any limit too often: P(more than y) ~ y^(-1/2).
FEASIBLE = [
    (*key, method)
    for key in REFERENCE
    for method in METHODS
    if key[1] >= 1 or method in ("inclusion", "esscher")
]


@pytest.mark.parametrize(("mass", "concentration", "method"), FEASIBLE)
def test_reference_values(mass, concentration, method):
    measure = ribp.BetaProcess(mass, concentration)
    repeats = n_seeds(400) if concentration != 1 and method in TRUNCATED else n_seeds(500)
    found = many(
        lambda rng: (
            ribp.simulate(rng, n_rows=5, counts="exactly(1)", measure=measure, method=method).rows
        ),
        repeats,
        seed=1,
    )
    same, distinct = REFERENCE[mass, concentration]
    assert agrees(mean_p_value(found[:, 0], same, 5e-6))
    if distinct is not None:
        assert agrees(mean_p_value(found[:, 1], distinct, 5e-5))


@pytest.mark.parametrize("method", METHODS)
def test_reference_for_two_features(method):
    found = many(
        lambda rng: (
            ribp.simulate(
                rng, n_rows=5, counts="exactly(2)", measure=ribp.BetaProcess(2), method=method
            ).rows
        ),
        n_seeds(500),
        seed=2,
    )
    assert agrees(mean_p_value(found[:, 0], 0.2338, 4e-4))
    assert agrees(mean_p_value(found[:, 1], 4.401, 2e-3))


CASES = {
    "concentration 2.5, spread": (
        ribp.BetaProcess(3, 2.5), counts.table([0, 0.5, 0.3, 0.2]), "mixture"),
    "discount 0.4, two ones": (
        ribp.BetaProcess(3, 1, 0.4), counts.exactly(2), "mixture"),
    "discount 0.4, concentration 2.5, spread": (
        ribp.BetaProcess(3, 2.5, 0.4), counts.table([0, 0.5, 0.3, 0.2]), "mixture"),
    "two groups": (
        ribp.BetaProcess(1.5), counts.by_group(
            {"a": counts.exactly(1), "b": counts.uniform(1, 2)}, list("aabbb")), "mixture"),
    "tilted": (
        ribp.BetaProcess(3), counts.table([0, 0.5, 0.3, 0.2]), "tilted"),
    "tilted, concentration 2.5, two groups": (
        ribp.BetaProcess(2, 2.5), counts.by_group(
            {"a": counts.exactly(1), "b": counts.poisson(3)}, list("aabbb")), "tilted"),
}  # fmt: skip


def samples(name, method, repeats):
    measure, law, kind = CASES[name]
    # A bound that is looser than the default, far below what these draws can see.
    truncation = ribp.Certified(1e-3, 20_000) if method in TRUNCATED else None
    return many(
        lambda rng: ribp.simulate(
            rng, n_rows=5, counts=law, measure=measure, method=method, kind=kind,
            truncation=truncation,
        ).rows,
        repeats,
        seed=METHODS.index(method),
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_samplers_agree(name):
    collapsed, lazy = (samples(name, method, n_seeds(500)) for method in ("collapsed", "lazy"))
    exact = np.concatenate([collapsed, lazy])
    repeats = n_seeds(60 if CASES[name][0].discount else 200)
    pairs = {method: (samples(name, method, repeats), exact) for method in TRUNCATED}
    for method, (found, other) in (pairs | {"lazy": (lazy, collapsed)}).items():
        for column in range(3):
            assert agrees(two_sample_p_value(found[:, column], other[:, column])), (method, column)


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
    default, deep = (
        many(lambda rng, rule=rule: ribp.simulate(rng, **options, truncation=rule).rows, 300, seed)
        for seed, rule in enumerate(rules)
    )
    for column in range(3):
        assert agrees(two_sample_p_value(default[:, column], deep[:, column]))


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
        rng, n_rows=5, counts="exactly(1)", measure=ribp.BetaProcess(1, 0.8), method="lazy").rows,
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_samplers_are_caught(name):
    """P-values are below 1e-17; the suite asks for 1e-7. The last one is nearest to the truth."""
    found = many(WRONG[name], 3000 if name == "wrong concentration" else 500, seed=3)
    p_values = [mean_p_value(found[:, 0], 0.56146), mean_p_value(found[:, 1], 2.1123)]
    assert not all(agrees(p) for p in p_values)
