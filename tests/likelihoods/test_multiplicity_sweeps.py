"""Rows whose entries count with z summed out: by enumeration, and by annealing, the same."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from ribp import counts
from ribp.likelihoods import (
    GaussianParameters,
    NegativeBinomialMultiplicities,
    PoissonMultiplicities,
)
from ribp.likelihoods.data import with_missing
from ribp.likelihoods.first_rows import first_rows
from ribp.polynomials import RestrictedEntries
from ribp.posterior.new_rows import row_prior
from ribp.posterior.row_posterior import row_posterior

pytestmark = pytest.mark.jit
FEATURES, DIMS, ROWS = 4, 5, 5
RNG = np.random.default_rng(3)
PARAMETERS = GaussianParameters(
    RNG.normal(0, 1.2, (FEATURES, DIMS)), RNG.normal(size=DIMS), RNG.uniform(0.5, 1, DIMS), 1.0
)
THETA = RNG.normal(-0.5, 0.7, FEATURES)
VALUES = RNG.normal(0, 2, (ROWS, DIMS))
VALUES[1, 2] = VALUES[2] = np.nan
LIKELIHOODS = {
    "poisson sums": PoissonMultiplicities(restrict="sum"),
    "negative binomial sums": NegativeBinomialMultiplicities(restrict="sum", failures=0.6),
    "poisson": PoissonMultiplicities(),
    "negative binomial": NegativeBinomialMultiplicities(failures=2.0),
}
GAP = counts.table([0.1, 0.4, 0.0, 0.5])


def exact(likelihood):
    """Return log p(x), P(z > 0 | x) and E[z | x] of all rows, by what there is."""
    law = likelihood.entry_law
    rows = np.array(list(product(range(4 if law.by_sum else 15), repeat=FEATURES)))
    rows = rows[law.totals(rows) <= 3]
    prior = RestrictedEntries(
        THETA, GAP, entries=law.entries, restrict=law.restrict, failures=law.failures
    ).log_prob(rows)
    means = rows @ PARAMETERS.features + PARAMETERS.background
    terms = [likelihood.log_density(x, means, PARAMETERS) for x in VALUES]
    log_p = np.array([prior + np.nansum(one, axis=1) for one in terms])
    total = logsumexp(log_p, axis=1)
    p = np.exp(log_p - total[:, None])
    return total, p @ (rows > 0), p @ rows


def answered(likelihood, **options):
    law = likelihood.entry_law
    prior, which = row_prior(
        THETA, GAP.log_probs(law.most((GAP,), FEATURES))[None], np.zeros(ROWS, int), law
    )
    return row_posterior(with_missing(VALUES), likelihood, PARAMETERS, prior, which, **options)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_rows_are_weighed_as_by_enumeration(name):
    likelihood = LIKELIHOODS[name]
    density, probs, means = exact(likelihood)
    n_particles = 1500
    found = answered(likelihood, max_enumerated=0, n_particles=n_particles)
    error = np.maximum(found.standard_error, 0.01)
    assert (np.abs(found.log_density - density) < 5 * error).all()
    spread = error[:, None] + 0.5 / np.sqrt(n_particles)
    assert (np.abs(found.probs - probs) < 5 * spread).all()
    assert (np.abs(found.sizes - means) < 5 * spread * (1.0 + means)).all()
    assert np.isfinite(GAP.log_probs(FEATURES))[likelihood.entry_law.totals(found.sample)].all()
    if likelihood.entry_law.by_sum:
        few = answered(likelihood)
        np.testing.assert_allclose(few.log_density, density, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(few.sizes, means, atol=1e-10)
        assert not few.standard_error.any()


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_first_rows_obey_their_law(name):
    likelihood = LIKELIHOODS[name]
    law = likelihood.entry_law
    table = GAP.log_probs(law.most((GAP,), FEATURES))[None]
    prior, which = row_prior(THETA, table, np.zeros(ROWS, int), law)
    rows = first_rows(likelihood, with_missing(VALUES), PARAMETERS, prior, which)
    assert np.isfinite(table[0, law.totals(rows)]).all()
