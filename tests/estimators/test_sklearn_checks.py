"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ribp import IndianBuffet, RestrictedIBP

SHORT = {"n_chains": 1, "n_warmup": 3, "n_draws": 4, "progress": False, "random_state": 0}

# Checks are about the face, not about what is found behind it.
pytestmark = [
    pytest.mark.jit,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("short_searches"),
]


@parametrize_with_checks([RestrictedIBP(**SHORT), IndianBuffet(**SHORT)])
def test_sklearn(estimator, check):
    check(estimator)
