"""The estimator of the unrestricted buffet, a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ribp import checks
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.checks import FloatArray
from ribp.estimators.arguments import LIMITS, entropy, fixed
from ribp.estimators.feature_estimator import Features
from ribp.likelihoods import Likelihood
from ribp.likelihoods.linear_gaussian import as_gaussian
from ribp.posterior.laws import Counts
from ribp.results.settings import MOST_FEATURES, AnyModel

_USUAL_FEATURES = 30  # of a buffet that must have a limit


@dataclass(kw_only=True, eq=False, repr=False)
class IndianBuffet(Features):
    """The unrestricted Indian buffet: the baseline that knows nothing of counts.

    Parameters and attributes as in `RestrictedIBP`, without counts. Methods: "gibbs", whose number
    of features has no limit, "variational" and "hybrid", which have at most `max_features` ("auto":
    30, fewer if there are few rows).
    """

    _METHODS: ClassVar[dict[str, str]] = {
        "gibbs": "buffet",
        "variational": "buffet-variational",
        "hybrid": "buffet-hybrid",
    }

    concentration: float = 1.0

    def fit(self, X: Any, y: object = None) -> Self:
        """Find the features of data; X as in `RestrictedIBP.fit`."""
        return self._fit(X, None)

    def transform(self, X: Any) -> FloatArray:
        """Return P(feature is active | row), shape (rows, features)."""
        return self._transform(X, None)

    def decode(self, X: Any) -> Any:
        """Return 0/1 rows: features that are more likely than not, shape (rows, features)."""
        return self._decode(X, None)

    def score(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log density of an observed entry, features of the row summed out."""
        return self._score(X, None, sample_weight)

    def sample(self, n_rows: int = 1, random_state: Any = None) -> FloatArray:
        """Return new data from the posterior predictive, shape (rows, dims)."""
        check_is_fitted(self)
        rng = np.random.default_rng(entropy(random_state))
        return self.result_.sample(rng, checks.integer("n_rows", n_rows))[1]

    def _model(
        self, n_rows: int, likelihood: Likelihood[Any], counts: Counts
    ) -> tuple[AnyModel, bool]:
        likelihood = as_gaussian(likelihood, "IndianBuffet")
        mass = fixed("mass", self.mass)
        concentration = checks.within("concentration", self.concentration, *LIMITS["concentration"])
        if self.method == "gibbs":
            return BuffetModel(n_rows, likelihood, mass, concentration), False
        size = min(_USUAL_FEATURES, n_rows)
        if self.max_features != "auto":
            size = checks.integer("max_features", self.max_features, least=1, most=MOST_FEATURES)
        return FiniteBuffetModel(n_rows, size, likelihood, mass, concentration), False
