"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ribp import IndianBuffet, RestrictedIBP

SHORT = {"n_chains": 1, "n_warmup": 3, "n_draws": 4, "progress": False, "random_state": 0}

pytestmark = [pytest.mark.jit, pytest.mark.filterwarnings("ignore")]


@parametrize_with_checks(
    [
        RestrictedIBP(**SHORT),
        RestrictedIBP("gibbs-rows", max_features=5, **SHORT),
        IndianBuffet(**SHORT),
    ]
)
def test_sklearn(estimator, check):
    check(estimator)
