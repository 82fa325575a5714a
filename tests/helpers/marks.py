"""Marks that several tests share."""

import pytest

from ribp.weights import WEIGHT_PRIORS

every_prior = pytest.mark.parametrize("name", [*WEIGHT_PRIORS])
compiled_prior = pytest.mark.parametrize(
    "name", [name for name in WEIGHT_PRIORS if WEIGHT_PRIORS[name].compiled is not None]
)
"""Priors that kernels know; the others are updated in Python."""
whatever_is_found = pytest.mark.usefixtures("short_searches")
short_of_convergence = pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
"""Chains are too short to be called converged, and say so."""
