"""Sums over rows for several features of a column together: against the laws of the kinds."""

import numpy as np
import pytest
from scipy.special import gammaln

from ribp.kernels import kind_blocks as kernel
from tests.helpers.kind_table import (
    COLUMNS,
    GIVEN,
    LAW,
    LEVEL,
    NAMES,
    OWN,
    PLACES,
    ROWS,
    SEEN,
    X,
)

N, D = X.shape
BLOCKS = {"all": [0, 1, 2], "two, in another order": [2, 0], "none": []}


def added(block, seen):
    """Return log p, G and H of the kernel, by column of the data."""
    m = len(block) + 1
    sums = np.zeros((D, 1 + m + m * (m + 1) // 2))
    observed = np.zeros((0, 0), bool) if seen.all() else seen
    kernel.add_blocks(
        PLACES.numbers(X), observed, np.log(OWN), ROWS, COLUMNS, GIVEN.features, GIVEN.background,
        np.array(block, np.int64), LEVEL, sums,
    )  # fmt: skip
    found = np.empty_like(sums)
    found[COLUMNS.place] = sums
    return found


def constants(kind, own, x, exposures):
    """Return what the kernel leaves out of log p, as it does not depend on eta."""
    if kind.has_units:
        jacobian = np.log(x) if kind.name == "positive" else 0.0
        return -own[0] - 0.5 * np.log(2.0 * np.pi) - jacobian
    if kind.name == "binomial":
        return gammaln(4.0) - gammaln(x + 1.0) - gammaln(4.0 - x)
    if kind.name == "negbin":
        return gammaln(x + np.exp(own[0])) - gammaln(np.exp(own[0])) - gammaln(x + 1.0)
    return x * np.log(exposures) - gammaln(x + 1.0) if kind.name == "log-poisson" else 0.0


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("block", BLOCKS)
def test_sums_are_those_of_the_laws(block, seen):
    found = added(BLOCKS[block], SEEN[seen])
    eta, y = (
        LAW.exposed(LAW.means(ROWS, GIVEN), OWN),
        np.hstack([np.ones((N, 1)), ROWS[:, BLOCKS[block]]]),
    )
    m = y.shape[1]
    for d, kind in enumerate(PLACES.kinds):
        here, at, own = SEEN[seen][:, d], PLACES.latent(d), GIVEN.own[PLACES.own(d)]
        x, level = X[here, d], 1 if kind.width > 1 else 0
        log_p = kind.log_density(x, eta[here][:, at], own) - constants(kind, own, x, OWN[here])
        slope, bent = (one[:, level] for one in kind.slopes(x, eta[here][:, at], own))
        curved = (y[here].T * bent) @ y[here]
        expected = [log_p.sum(), *(y[here].T @ slope), *curved[np.tril_indices(m)]]
        np.testing.assert_allclose(found[d], expected, rtol=1e-10, atol=1e-10, err_msg=NAMES[d])
