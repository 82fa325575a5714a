"""Sweeps over rows given the features: their law, whatever the data, the laws and the threads."""

from functools import partial

import numpy as np
import pytest
from scipy.special import logsumexp, xlogy

import ribp
from ribp.likelihoods import row_sweeps
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers import row_cases, row_sweep_cases
from tests.helpers.row_cases import BITS, DIMS, FEATURES, ONES, ROWS, SEEN, TABLE, THETA

LAWS = [row_cases.LAWS[name] for name in ("interval", "one count", "a hole")]
LOG_F = np.array([law.log_probs(FEATURES) for law in LAWS])
TABLES = np.array([TABLE[name] for name in ("interval", "one count", "a hole")])
ALL_SEEN = np.zeros((0, 0), bool)
PATTERNS = np.array(list(SEEN.values()))


class Gaussian:
    """Data, parameters, sweeps and log-likelihood by definition."""

    def __init__(self, offset):
        rng = np.random.default_rng(3)
        self.features = rng.normal(0, 0.8, (FEATURES, DIMS))
        self.offset = offset * rng.normal(0, 1, DIMS)
        self.noise = rng.uniform(0.5, 2.0, DIMS)
        self.x = ROWS[5] @ self.features + self.offset + self.noise * rng.normal(size=DIMS)

    def sweep(self, seed, number, data, observed, rows, **options):
        return row_sweep_cases.sweep_gaussian(
            np.uint64(seed), number, data, observed, rows, self.features, self.offset, self.noise,
            **options,
        )  # fmt: skip

    def log_likelihood(self, seen):
        scaled = (self.x - self.offset - ROWS @ self.features) / self.noise
        return -0.5 * (scaled[:, seen] ** 2).sum(axis=1)


class Poisson:
    """The same for counts."""

    def __init__(self, offset):
        rng = np.random.default_rng(3)
        self.features = rng.gamma(0.7, 1.0, (FEATURES, DIMS))
        self.offset = offset * rng.gamma(1.0, 0.5, DIMS)
        self.x = np.array([3.0, 0.0, 1.0, 7.0, 2.0])

    def sweep(self, seed, number, data, observed, rows, **options):
        return row_sweep_cases.sweep_poisson(
            np.uint64(seed), number, data, observed, rows, self.features, self.offset, **options
        )

    def log_likelihood(self, seen):
        rates = self.offset + ROWS @ self.features
        with np.errstate(divide="ignore"):
            return (xlogy(self.x, rates) - rates)[:, seen].sum(axis=1)


def posterior(model, seen, tables=TABLES):
    """Return the probabilities of ROWS under each law, (laws, states)."""
    log_p = ROWS @ THETA + tables[:, ONES] + model.log_likelihood(seen)
    return np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))


def options(which, tables=TABLES, **moves):
    whole = np.array([False, False, True]) | moves.pop("whole", False)
    return {"theta": THETA, "tables": tables, "which": which, "whole": whole, **moves}


def chains(model, patterns, n_each, n_sweeps, seed=0, **moves):
    """Return the last states of many chains: a row each, of every law and missing pattern."""
    n = n_each * len(LAWS) * len(patterns)
    which, pattern = np.arange(n) % len(LAWS), np.arange(n) // len(LAWS) % len(patterns)
    observed = patterns[pattern]
    data = np.where(observed, model.x, np.nan if len(patterns) > 1 else 0.0)
    if patterns.all():
        observed = ALL_SEEN
    rows = np.zeros((n, FEATURES), np.int8)
    for law, start in enumerate([1, 2, 1]):
        rows[which == law, :start] = 1
    sums = None
    for number in range(n_sweeps):
        rows, sums = model.sweep(seed, number, data, observed, rows, **options(which, **moves))
    return rows, which, pattern, sums


def law_p_values(n, seed, model, patterns=PATTERNS[:1], n_sweeps=30, tables=TABLES, **moves):
    """Return a p-value for each pattern and law: n chains end in the posterior."""
    rows, which, pattern, _ = chains(model, patterns, n, n_sweeps, seed, **moves)
    return {
        f"pattern {at}, law {law}": frequencies_p_value(
            np.bincount((rows @ BITS)[(which == law) & (pattern == at)], minlength=len(ROWS)), probs
        )
        for at, seen in enumerate(patterns)
        for law, probs in enumerate(posterior(model, seen, tables))
    }


MODELS = {"Gaussian": Gaussian, "Poisson": Poisson}
MOVES = {
    "all moves": {"whole": True},
    "flips and relocations": {},
    "whole rows": {"flips": False, "relocations": False, "whole": True},
}


SETTINGS = {
    "complete": (PATTERNS[:1], 0.0),
    "offset": (PATTERNS[:1], 1.0),
    "missing": (PATTERNS, 1.0),
}


@pytest.mark.jit
@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("model", MODELS)
def test_chains_end_in_the_posterior(model, setting, moves):
    patterns, offset = SETTINGS[setting]
    check = partial(law_p_values, model=MODELS[model](offset), patterns=patterns, **MOVES[moves])
    assert holds(check, replicates(1000))


@pytest.mark.jit
@pytest.mark.parametrize("model", MODELS)
def test_wrong_laws_are_caught(model):
    """The tilted law, f without e_k, is another one unless f is a point mass."""
    model = MODELS[model](1.0)

    def p_values(n, seed, law):
        found = law_p_values(n, seed, model, tables=LOG_F, whole=True)
        return [found[f"pattern 0, law {law}"]]

    assert is_caught(partial(p_values, law=0), 4000)
    assert holds(partial(p_values, law=1), replicates(1000))


def test_laws_with_a_gap_need_whole_rows():
    gap, none = [[0, 0, -np.inf, 0], [0, -np.inf, 0, -np.inf]], [[-np.inf, 0, 0, -np.inf]]
    tables = np.array(gap + none + [[0.0] * 4, [-np.inf] * 3 + [0]])
    assert row_sweeps.needs_whole_rows(tables).tolist() == [True, True, False, False, False]
    assert row_sweeps.needs_whole_rows(TABLES).tolist() == [False, False, True]


@pytest.mark.jit
def test_a_hole_is_not_crossed_without_whole_rows():
    model = Gaussian(1.0)
    which = np.full(100, 2)
    rows = np.zeros((100, FEATURES), np.int8)
    rows[:, 0] = 1
    data = np.tile(model.x, (100, 1))
    settings = {**options(which), "whole": np.zeros(3, bool)}
    for number in range(20):
        rows, _ = model.sweep(0, number, data, ALL_SEEN, rows, **settings)
    assert (rows.sum(axis=1) == 1).all()


def problem(model, n=1500, features=9, dims=6, seed=0):
    """Return a larger problem with three laws, ready to be swept."""
    rng = np.random.default_rng(seed)
    theta, which = rng.normal(-1, 1, features), rng.integers(0, 3, n)
    laws = [ribp.counts.uniform(1, 4), ribp.counts.exactly(3), ribp.counts.table([0, 0.5, 0, 0.5])]
    tables = np.array([law.log_probs(features) for law in laws]) - ribp.log_esp(theta)
    rows = np.zeros((n, features), np.int8)
    for law in range(3):
        at = which == law
        rows[at] = ribp.RestrictedBernoulli(theta, laws[law]).sample(rng, int(at.sum()))
    settings = {"theta": theta, "tables": tables, "which": which, "whole": np.ones(3, bool)}
    if model == "Gaussian":
        loads, offset, noise = rng.normal(size=(features, dims)), rng.normal(size=dims), 1.5
        data = offset + rows @ loads + noise * rng.normal(size=(n, dims))
        parameters = {"features": loads, "offset": offset, "noise_scale": np.full(dims, noise)}
        return data, rows, {**settings, **parameters}
    loads, offset = rng.gamma(0.5, 1.0, (features, dims)), np.full(dims, 0.2)
    data = rng.poisson(offset + rows @ loads).astype(float)
    data[::7] *= 1000.0
    return data, rows, {**settings, "features": loads, "offset": offset}


SWEEPS = {"Gaussian": row_sweep_cases.sweep_gaussian, "Poisson": row_sweep_cases.sweep_poisson}


@pytest.mark.jit
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("model", SWEEPS)
def test_threads_change_nothing(model, missing):
    data, rows, settings = problem(model)
    observed = np.random.default_rng(1).random(data.shape) < 0.8 if missing else ALL_SEEN
    seed = np.uint64(2**63 + 5)
    one = SWEEPS[model](seed, 3, data, observed, rows, **settings)
    assert (one[0] != rows).any()
    for n_threads in (1, 2, 3):
        more = SWEEPS[model](seed, 3, data, observed, rows, **settings, n_threads=n_threads)
        np.testing.assert_array_equal(more[0], one[0])
        for a, b in zip(more[1] or (), one[1] or (), strict=True):
            np.testing.assert_array_equal(a, b)
    other = SWEEPS[model](seed, 4, data, observed, rows, **settings)
    assert (other[0] != one[0]).any()


@pytest.mark.jit
def test_gaussian_sums():
    data, rows, settings = problem("Gaussian")
    new, sums = row_sweep_cases.sweep_gaussian(np.uint64(0), 0, data, ALL_SEEN, rows, **settings)
    np.testing.assert_array_equal(sums.pairs, new.T.astype(float) @ new)
    np.testing.assert_allclose(sums.products, new.T @ data, atol=1e-10)
    np.testing.assert_allclose(sums.squares, (data**2).sum(axis=0))
    assert (sums.number == len(data)).all()
    assert sums.gaps.shape == (0, *sums.pairs.shape)
    observed = np.ones(data.shape, bool)
    again, same = row_sweep_cases.sweep_gaussian(np.uint64(0), 0, data, observed, rows, **settings)
    np.testing.assert_array_equal(again, new)  # a mask that hides nothing
    np.testing.assert_array_equal(same.products, sums.products)
    assert not same.gaps.any()


@pytest.mark.jit
@pytest.mark.parametrize("background", [False, True])
def test_gaussian_sums_of_what_is_seen(background):
    data, rows, settings = problem("Gaussian")
    observed = np.random.default_rng(1).random(data.shape) < 0.8
    data = np.where(observed, data, 0.0)
    new, sums = row_sweep_cases.sweep_gaussian(
        np.uint64(0), 0, data, observed, rows, background=background, **settings
    )
    z = np.hstack([new, np.ones((len(new), int(background)))]).astype(float)
    seen = np.einsum("nd,ni,nj->dij", observed, z, z)
    np.testing.assert_array_equal(sums.pairs - sums.gaps, seen)
    np.testing.assert_allclose(sums.products, z.T @ data, atol=1e-9)
    np.testing.assert_array_equal(sums.number, observed.sum(axis=0))


@pytest.mark.jit
@pytest.mark.parametrize("missing", [False, True])
def test_poisson_sums(missing):
    data, rows, settings = problem("Poisson")
    observed = np.random.default_rng(1).random(data.shape) < 0.8
    mask = observed if missing else ALL_SEEN
    new, sums = row_sweep_cases.sweep_poisson(np.uint64(0), 0, data, mask, rows, **settings)
    seen = observed if missing else np.ones(data.shape, bool)
    total = (data * seen).sum(axis=0)
    np.testing.assert_array_equal(sums.splits.sum(axis=0) + sums.rest, total)
    np.testing.assert_array_equal(sums.exposure, new.T.astype(float) @ seen)
    np.testing.assert_array_equal(sums.number, seen.sum(axis=0))


@pytest.mark.jit
@pytest.mark.parametrize("model", SWEEPS)
def test_columns_that_no_row_has_seen_do_not_matter(model):
    data, rows, settings = problem(model)
    settings["whole"] = np.zeros(3, bool)
    observed = np.ones(data.shape, bool)
    observed[:, 4:] = False
    hidden, _ = SWEEPS[model](np.uint64(0), 0, data, observed, rows, **settings)
    for name in {"features", "offset", "noise_scale"} & settings.keys():
        settings[name] = np.ascontiguousarray(settings[name][..., :4])
    short, _ = SWEEPS[model](np.uint64(0), 0, data[:, :4].copy(), ALL_SEEN, rows, **settings)
    np.testing.assert_array_equal(hidden, short)


HARSH = {"large data": (1e15, 1.0), "tiny features": (1.0, 1e-280), "large features": (1.0, 1e120)}


@pytest.mark.parametrize("harsh", HARSH)
@pytest.mark.parametrize("model", MODELS)
def test_harsh_values_give_rows_of_the_law(model, harsh):
    data_size, feature_size = HARSH[harsh]
    model = MODELS[model](1.0)
    model.x = np.round(model.x * data_size)
    model.features = model.features * feature_size
    rows, which, _, _ = chains(model, PATTERNS, 1, 3, whole=True)
    assert (TABLES[which, rows.sum(axis=1)] > -np.inf).all()


@pytest.mark.jit
def test_features_too_small_to_be_seen_leave_the_prior():
    model = Gaussian(0.0)
    model.features = 1e-200 * model.features
    check = partial(law_p_values, model=model, n_sweeps=20, whole=True)
    assert holds(check, replicates(4000))


@pytest.mark.parametrize("patterns", [PATTERNS[:1], PATTERNS], ids=["complete", "missing"])
@pytest.mark.parametrize("model", MODELS)
def test_short_chains_without_the_compiler(model, patterns):
    rows, which, _, sums = chains(MODELS[model](0.0), patterns, 5, 6, whole=True)
    assert (TABLES[which, rows.sum(axis=1)] > -np.inf).all()
    assert len(np.unique(rows @ BITS)) > 3
    if model == "Poisson":
        assert sums.rest.sum() == 0  # no offset, and all counts need a feature


@pytest.mark.parametrize("model", MODELS)
def test_moves_can_be_left_out(model):
    moves = {"flips": False, "relocations": False}
    start = chains(MODELS[model](0.0), PATTERNS, 2, 0)[0]
    rows, which, _, _ = chains(MODELS[model](0.0), PATTERNS, 2, 4, n_threads=2, **moves)
    np.testing.assert_array_equal(rows[which < 2], start[which < 2])
    assert (rows[which == 2] != start[which == 2]).any()  # its rows are proposed as a whole


@pytest.mark.parametrize("model", MODELS)
def test_relocations_alone_move_rows_of_two_ones(model):
    start = chains(MODELS[model](0.0), PATTERNS, 2, 0)[0]
    rows, which, _, _ = chains(MODELS[model](0.0), PATTERNS, 2, 4, flips=False)
    assert (rows[which == 1] != start[which == 1]).any()
    np.testing.assert_array_equal(rows[which == 1].sum(axis=1), 2)


def test_counts_that_no_row_can_make_change_nothing():
    """Impossible data: every row has likelihood zero, and keeps a count that its law allows."""
    model = Poisson(0.0)
    model.features[:, 0] = 0.0
    rows, which, _, _ = chains(model, PATTERNS[:1], 2, 3, whole=True)
    np.testing.assert_array_equal(rows.sum(axis=1)[which == 1], 2)
    assert (TABLES[which, rows.sum(axis=1)] > -np.inf).all()


def test_no_rows():
    data, rows, settings = problem("Poisson", n=0)
    new, sums = row_sweep_cases.sweep_poisson(np.uint64(0), 0, data, ALL_SEEN, rows, **settings)
    assert new.shape == rows.shape
    assert sums.splits.sum() == 0
