"""Marks that several tests share."""

import pytest

from ribp.weights import WEIGHT_PRIORS

every_prior = pytest.mark.parametrize("name", [*WEIGHT_PRIORS])
whatever_is_found = pytest.mark.usefixtures("short_searches")
short_of_convergence = pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
"""Chains are too short to be called converged, and say so."""
