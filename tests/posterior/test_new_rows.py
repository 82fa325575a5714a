"""Rows that were not seen: density and features against sums over all z and all draws."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from ribp import counts
from ribp.counts.tables import mean_log_probs
from ribp.errors import FitWarning, InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.posterior import new_rows
from ribp.posterior.laws import laws_of_rows
from ribp.posterior.new_rows import RowWeigher, weigh_rows
from ribp.posterior.row_posterior import RowPosterior
from ribp.symmetric import log_esp
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.trees import DIMS, FEATURES, MODELS, ROWS, buffet_chains, pool, pool_of, truth_of

NEW = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [np.nan, 1.0, 5.0], [np.nan] * 3, [1.0, 0, 2]])
DATA = with_missing(NEW)
Z = np.array(list(product([0, 1], repeat=FEATURES)), np.int8)


def model_and_pool(name):
    if name == "buffet":
        model, chains = buffet_chains(1, truth_of(1), 3)
        return model, pool_of(chains, model)
    return MODELS[name], pool(MODELS[name], 1, 3)


def log_likelihoods(likelihood, given):
    """Return log p(x_n | z) for all z and rows."""
    mean = Z @ given.features + given.background
    if isinstance(likelihood, LinearGaussian):
        terms = stats.norm.logpdf(NEW[:, None], mean, given.noise_scale)
    else:
        terms = stats.poisson.logpmf(NEW[:, None], mean)
    return np.nansum(terms, axis=2)


def expected(model, given, laws, which):
    """Return log density and probabilities by enumeration."""
    log_joint = []
    for s, parameters in enumerate(given.parameters):
        theta = given.log_odds[s]
        prior = Z @ np.where(np.isfinite(theta), theta, -1e300)
        if len(laws):
            real = theta[np.isfinite(theta)]
            tables = np.full((len(laws[s]), FEATURES + 1), -np.inf)
            tables[:, : real.size + 1] = laws[s][:, : real.size + 1] - log_esp(real)
            prior = prior + tables[which][:, Z.sum(axis=1)]
        else:
            prior = np.tile(prior - np.logaddexp(0, theta).sum(), (len(NEW), 1))
        log_joint.append(prior + log_likelihoods(model.likelihood, parameters))
    log_joint = np.array(log_joint)
    total = logsumexp(log_joint, axis=(0, 2))
    weights = np.exp(log_joint - total[:, None]).sum(axis=0)
    return total - np.log(len(log_joint)), weights @ Z


@pytest.mark.parametrize("name", [*MODELS, "buffet"])
def test_against_enumeration(name):
    model, given = model_and_pool(name)
    which = np.arange(len(NEW)) % max(given.count_log_probs.shape[1], 1)
    found = weigh_rows(given, model.likelihood, DATA, which)
    laws = given.count_log_probs if given.count_log_probs.shape[1] else ()
    log_density, probs = expected(model, given, laws, which)
    np.testing.assert_allclose(found.log_density, log_density, atol=1e-10)
    np.testing.assert_allclose(found.probs, probs, atol=1e-10)
    assert not found.standard_error.any()
    weigher = RowWeigher.of_draws(given, model.likelihood)
    by_draw = weigher.log_densities(DATA, which)
    again = logsumexp(by_draw, axis=0) - np.log(len(by_draw))
    np.testing.assert_allclose(again, found.log_density, atol=1e-12)  # nothing seen: log 1


@pytest.mark.parametrize("name", ["noise per column", "buffet"])
def test_annealing_has_a_standard_error(name):
    model, given = model_and_pool(name)

    def p_values(n, seed, wrong=0.0):
        """Densities are unbiased, and their errors as large as is said."""
        data = complete(np.random.default_rng(seed).normal(1.0, 2.0, (n, DIMS)))
        which = np.zeros(n, np.int64)
        exact = weigh_rows(given, model.likelihood, data, which)
        found = weigh_rows(
            given, model.likelihood, data, which, max_enumerated=0, n_particles=16, n_steps=8
        )
        gap = found.log_density - exact.log_density + wrong
        error = found.standard_error
        assert (error > 0).all()
        # Standard errors of 16 particles have errors, so that this is near the mean of |N(0, 1)|.
        near = mean_p_value(np.abs(gap / error), (2 / np.pi) ** 0.5, 0.05)
        return [mean_p_value(np.expm1(gap), 0.0), near]

    assert holds(p_values, replicates(200))
    assert is_caught(partial(p_values, wrong=0.5), 200)


@pytest.mark.parametrize(("n_draws", "each"), [(1, 64), (25, 64), (50, 32), (100, 16), (1000, 16)])
def test_draws_that_are_averaged_share_particles(n_draws, each, monkeypatch):
    model, given = model_and_pool("noise per column")
    asked = []

    def row_posterior(*_, n_particles=64, **__):
        asked.append(n_particles)
        one, many = np.zeros(len(NEW)), np.zeros((len(NEW), FEATURES))
        return RowPosterior(one, one, many, many, many)

    monkeypatch.setattr(new_rows, "row_posterior", row_posterior)
    first = RowWeigher.of_draws(given, model.likelihood)
    weigher = RowWeigher(first.likelihood, first.draws[:1] * n_draws, {})
    which = np.zeros(len(NEW), np.int64)
    weigher(DATA, which)
    assert asked == [each] * n_draws
    weigher.log_densities(DATA, which)  # each by itself
    assert asked[n_draws:] == [64] * n_draws


def test_rows_do_not_depend_on_each_other_or_on_threads():
    model, given = model_and_pool("noise per column")
    which, order = np.zeros(len(NEW), np.int64), np.array([3, 1, 4, 0, 2])
    options = {"max_enumerated": 0, "n_particles": 4, "n_steps": 3}
    one = weigh_rows(given, model.likelihood, DATA, which, **options)
    two = weigh_rows(given, model.likelihood, DATA, which, n_jobs=2, **options)
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)
    moved = weigh_rows(given, model.likelihood, DATA.rows(order), which, **options)
    np.testing.assert_array_equal(moved.probs, one.probs[order])
    np.testing.assert_array_equal(moved.log_density, one.log_density[order])


# Which law they have


def test_laws_of_new_rows():
    model, given = model_and_pool("learned")
    fitted = model.counts
    asked = counts.by_row([counts.exactly(2), fitted.laws[0], counts.exactly(2), fitted.laws[1]])
    tables, which = laws_of_rows(fitted, given, asked, 4)
    known = mean_log_probs(counts.as_row_counts(counts.exactly(2), 1), FEATURES)[0]
    assert which.tolist() == [0, 1, 0, 2]
    np.testing.assert_array_equal(tables[:, 0], np.tile(known, (len(given.log_odds), 1)))
    np.testing.assert_array_equal(tables[:, 1], given.count_log_probs[:, 0])
    np.testing.assert_array_equal(tables[:, 2], given.count_log_probs[:, 1])


def test_the_average_law_is_said_to_be_one():
    model, given = model_and_pool("learned")
    with pytest.warns(FitWarning, match="2 different count laws"):
        tables, which = laws_of_rows(model.counts, given, None, 3)
    mean = np.exp(given.count_log_probs).mean(axis=1)  # half of the rows each
    np.testing.assert_allclose(np.exp(tables[:, 0]), mean, atol=1e-14)
    assert which.tolist() == [0, 0, 0]
    model, given = model_and_pool("noise per column")
    tables, _ = laws_of_rows(model.counts, given, None, 3)  # one law: no warning
    np.testing.assert_allclose(np.exp(tables), np.exp(given.count_log_probs), atol=1e-14)


def test_laws_that_cannot_be():
    model, given = model_and_pool("noise per column")
    with pytest.raises(InputError, match="possible with the 5 features"):
        laws_of_rows(model.counts, given, counts.exactly(9), 3)
    with pytest.raises(InputError, match="each of the 3 rows"):
        laws_of_rows(model.counts, given, [1, 2], 3)
    _, given = model_and_pool("buffet")
    with pytest.raises(InputError, match="must be None"):
        laws_of_rows(None, given, counts.exactly(1), 3)
    tables, which = laws_of_rows(None, given, None, 3)
    assert tables.shape[1] == 0
    assert which.tolist() == [0, 0, 0]
    assert given.rows.shape[1] == ROWS


def test_probabilities_are_at_most_one():
    model, given = model_and_pool("noise per column")
    tables = np.full((1, FEATURES + 1), -np.inf)
    tables[0, -1] = 0.0  # every row has every feature, for sure
    found = weigh_rows(given, model.likelihood, DATA, np.zeros(len(NEW), np.int64), tables)
    assert found.probs.max() <= 1.0
    np.testing.assert_allclose(found.probs, 1.0, atol=1e-12)
