"""Rows with z summed out: against all z and SciPy's densities; the same wherever a row stands."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import ribp
from ribp.errors import InputError
from ribp.likelihoods import (
    Data,
    GaussianParameters,
    Likelihood,
    LinearGaussian,
    PoissonCounts,
    PoissonParameters,
)
from ribp.likelihoods.data import complete
from ribp.likelihoods.row_sweeps import RowPrior
from ribp.posterior.row_posterior import row_posterior
from ribp.rng import kernel_seed
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates

FEATURES, DIMS, ROWS = 5, 4, 7
ALL_Z = np.array(list(product([0, 1], repeat=FEATURES)))
LAWS = [
    ribp.counts.exactly(2),
    ribp.counts.window(3, 1),
    ribp.counts.table([0.0, 0.3, 0.0, 0.7]),
    ribp.counts.poisson(1.5),
    ribp.counts.exactly(0),
]
LEARNED = np.log([0.1, 0.2, 0.05, 0.3, 0.25, 0.1])
WHICH = np.array([0, 1, 2, 3, 4, 5, 1])
CASES = ["gaussian", "gaussian with background", "poisson", "poisson with background"]
SLOW = ["gaussian, any kernels", "poisson, any kernels"]


class AnyGaussian(LinearGaussian):
    """As a likelihood would do it that has no kernels of its own."""

    row_kernels = Likelihood.row_kernels


class AnyPoisson(PoissonCounts):
    """The same for counts."""

    row_kernels = Likelihood.row_kernels


def row_laws(rng, features, laws=LAWS, which=WHICH):
    theta = rng.normal(0, 1, features)
    log_probs = [law.restricted_log_probs(0, features) for law in laws]
    if len(laws) == len(LAWS):
        log_probs.append(LEARNED)
    tables = np.array(log_probs) - ribp.log_esp(theta)
    sizes = np.bincount(which, minlength=len(tables))
    return RowPrior(theta, tables, np.zeros(len(tables), bool), sizes)


def problem(case, features=FEATURES, laws=LAWS, which=WHICH, missing=True):
    """Return data, likelihood, parameters and laws; row 3 shows nothing, rows 1 and 6 are one."""
    rng = np.random.default_rng((CASES + SLOW).index(case))
    background = case.endswith("background")
    law = row_laws(rng, features, laws, which)
    z = rng.integers(0, 2, (len(which), features))
    offset = rng.gamma(1.0, 1.0, DIMS) * background
    if case.startswith("gaussian"):
        A, noise = rng.normal(0, 1, (features, DIMS)), rng.uniform(0.5, 2.0, DIMS)
        values = z @ A + offset + noise * rng.normal(size=(len(which), DIMS))
        likelihood = (AnyGaussian if case in SLOW else LinearGaussian)(background=background)
        parameters = GaussianParameters(A, offset, noise, 1.0)
    else:
        A = rng.gamma(1.0, 1.0, (features, DIMS))
        values = rng.poisson(z @ A + offset).astype(float)
        likelihood = (AnyPoisson if case in SLOW else PoissonCounts)(background=background)
        parameters = PoissonParameters(A, offset, 1.0)
    values[-1] = values[1]
    if not missing:
        return complete(values), likelihood, parameters, law, which
    observed = rng.random(values.shape) < 0.7
    observed[2], observed[3], observed[-1] = True, False, observed[1]
    return Data(np.where(observed, values, 0.0), observed), likelihood, parameters, law, which


def log_joint(data, parameters, laws, n, which=WHICH):
    """Return log p(x_n, z) for ALL_Z, from the densities of SciPy."""
    means = ALL_Z @ parameters.features + parameters.background
    if isinstance(parameters, GaussianParameters):
        terms = stats.norm.logpdf(data.values[n], means, parameters.noise_scale)
    else:
        terms = stats.poisson.logpmf(data.values[n], means)
    seen = slice(None) if data.complete else data.observed[n]
    prior = laws.tables[which[n]][ALL_Z.sum(axis=1)] + ALL_Z @ laws.log_odds
    return prior + terms[:, seen].sum(axis=1)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("case", CASES + SLOW)
def test_enumerated_rows_are_those_of_the_definition(case, missing):
    given = data, _, parameters, laws, _ = problem(case, missing=missing)
    out = row_posterior(*given)
    np.testing.assert_array_equal(out.standard_error, 0.0)
    for n in range(ROWS):
        log_p = log_joint(data, parameters, laws, n)
        if np.isneginf(log_p).all():
            assert out.log_density[n] == -np.inf
            assert np.isnan(out.probs[n]).all()
            continue
        np.testing.assert_allclose(out.log_density[n], logsumexp(log_p), rtol=0, atol=1e-10)
        expected = np.exp(log_p - logsumexp(log_p)) @ ALL_Z
        np.testing.assert_allclose(out.probs[n], expected, rtol=0, atol=1e-10)
        drawn = np.flatnonzero((out.sample[n] == ALL_Z).all(axis=1))
        assert log_p[drawn] > -np.inf


@pytest.mark.parametrize("case", CASES + SLOW)
def test_a_row_that_shows_nothing_is_as_its_law_says(case):
    given = problem(case)
    theta, f = given[3].log_odds, np.exp(LAWS[WHICH[3]].restricted_log_probs(0, FEATURES))
    inclusion = sum(p * ribp.inclusion_probs(theta, k) for k, p in enumerate(f))
    exact = row_posterior(*given)
    assert exact.log_density[3] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(exact.probs[3], inclusion, rtol=0, atol=1e-12)
    annealed = row_posterior(*given, max_enumerated=0, n_particles=4, n_steps=1)
    assert annealed.log_density[3] == pytest.approx(0.0, abs=1e-12)
    assert annealed.standard_error[3] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("max_enumerated", [20_000, 10, 0])
@pytest.mark.parametrize("case", CASES + SLOW)
def test_a_row_has_one_answer_wherever_it_stands(case, max_enumerated):
    data, likelihood, parameters, laws, which = problem(case)

    def at(rows, seed=0):
        return row_posterior(
            data.rows(rows), likelihood, parameters, laws, which[rows],
            seed=np.uint64(seed), n_particles=5, n_steps=3, max_enumerated=max_enumerated,
        )  # fmt: skip

    whole, order = at(np.arange(ROWS)), np.random.default_rng(0).permutation(ROWS)
    shuffled = at(order)
    for one, other in zip(whole, shuffled, strict=True):
        np.testing.assert_array_equal(one[order], other)
        np.testing.assert_array_equal(one[1], one[6])
    for n in range(ROWS):
        for one, alone in zip(whole, at(np.array([n])), strict=True):
            np.testing.assert_array_equal(one[n], alone[0])
    fresh = at(np.arange(ROWS), seed=1)
    if max_enumerated == 0:
        assert np.any(fresh.log_density != whole.log_density)


def test_a_complete_row_has_one_answer_beside_rows_with_missing_entries():
    data, *rest, which = problem("gaussian")
    alone = complete(data.values[[2]])
    for most in (0, 20_000):
        kwargs = {"n_particles": 5, "n_steps": 3, "max_enumerated": most}
        one = row_posterior(alone, *rest, which[[2]], **kwargs)
        whole = row_posterior(data, *rest, which, **kwargs)
        for part, values in zip(one, whole, strict=True):
            np.testing.assert_array_equal(part[0], values[2])


def test_laws_with_many_rows_are_annealed_and_others_enumerated():
    out = row_posterior(*problem("gaussian"), n_particles=5, n_steps=3, max_enumerated=10)
    few = np.isin(WHICH, [0, 4])  # ten pairs; one row without features
    np.testing.assert_array_equal(out.standard_error[few], 0.0)
    assert np.all(out.standard_error[[1, 2, 5, 6]] > 0.0)


@pytest.mark.parametrize("wrong", [{"n_particles": 1}, {"n_steps": 0}])
def test_too_few_particles_or_steps_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        row_posterior(*problem("gaussian"), **wrong)


@pytest.mark.jit
@pytest.mark.parametrize("case", CASES)
def test_annealed_rows_agree_with_enumerated_ones(case):
    laws, which = [ribp.counts.window(3, 2), ribp.counts.table([0, 0.5, 0, 0.5])], np.arange(60) % 2
    given = problem(case, 10, laws, which)
    exact = row_posterior(*given)
    out = row_posterior(*given, max_enumerated=0)
    possible = np.isfinite(exact.log_density)
    assert possible.sum() > 40
    assert np.all(exact.log_density[~possible] == out.log_density[~possible])
    random = possible & (out.standard_error > 1e-9)
    assert np.median(out.standard_error[random]) < 0.05
    apart = out.probs[possible] - exact.probs[possible]
    assert np.abs(apart).mean() < 0.05

    def p_values(n, seed, wrong=0.0):
        """Densities are unbiased, their errors independent and as large as is said."""
        rng, relative, scaled = np.random.default_rng(seed), [], []
        for _ in range(n):
            out = row_posterior(*given, seed=kernel_seed(rng), max_enumerated=0)
            gap = out.log_density[random] - exact.log_density[random] + wrong
            relative.append(np.expm1(gap))
            scaled.append(np.abs(gap / out.standard_error[random]))
        # Standard errors have errors, so that this is near the mean of |N(0, 1)|.
        near = mean_p_value(np.ravel(scaled), (2 / np.pi) ** 0.5, 0.03)
        return [mean_p_value(np.ravel(relative), 0.0), near]

    assert holds(p_values, replicates(2))
    assert is_caught(partial(p_values, wrong=0.1), 1)  # a tenth is caught


@pytest.mark.parametrize("case", SLOW)
def test_annealing_without_kernels_is_unbiased(case):
    """Also where a law has one count, or a gap."""
    laws = [ribp.counts.window(3, 2), ribp.counts.table([0, 0.5, 0, 0.5]), ribp.counts.exactly(2)]
    given = problem(case, 5, laws, np.arange(6) % 3, missing=False)
    exact = row_posterior(*given)
    possible = np.isfinite(exact.log_density)

    def p_values(n, seed, wrong=0.0):
        rng, found, probs = np.random.default_rng(seed), [], []
        for _ in range(n):
            out = row_posterior(
                *given, seed=kernel_seed(rng), max_enumerated=0, n_particles=8, n_steps=8
            )
            ratio = np.exp(out.log_density - exact.log_density)[possible]
            found.append(ratio + wrong)
            probs.append((ratio[:, None] * (out.probs - exact.probs)[possible])[:, 0])
        return [
            *(mean_p_value(np.array(found)[:, j], 1.0) for j in range(possible.sum())),
            *(mean_p_value(np.array(probs)[:, j], 0.0) for j in range(possible.sum())),
        ]

    assert holds(p_values, replicates(60))
    assert is_caught(partial(p_values, wrong=0.3), 60)
