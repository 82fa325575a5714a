"""What estimators say of features by name: names, tables, and what notebooks show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ribp.results import Result

if TYPE_CHECKING:
    import pandas as pd


class NamedFeatures:
    """Methods that read and change names of features, for estimators that have a `result_`."""

    result_: Result

    @property
    def feature_names_(self) -> NDArray[np.object_]:
        """The names of features: feature0, ... or those that `name_features` gave them."""
        check_is_fitted(self)
        return np.array(self.result_.feature_names, dtype=object)

    def name_features(self, names: Mapping[int, str] | Sequence[str]) -> Self:
        """Give features names, which tables, pictures, reports and files then have.

        Parameters
        ----------
        names
            By number, as in `components_`, such as ``{0: "loud C"}``; or one for each feature.
        """
        check_is_fitted(self)
        self.result_ = self.result_.named(names)
        return self

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the columns of `transform`: those of the features."""
        return self.feature_names_

    def components_frame(self) -> pd.DataFrame:
        """Return the features as a table: feature, column, mean, 5% and 95% of draws."""
        check_is_fitted(self)
        return self.result_.components_frame()

    def effects_frame(self) -> pd.DataFrame:
        """Return what features change where columns have kinds: probabilities without and with."""
        check_is_fitted(self)
        return self.result_.effects_frame()

    def rows_frame(self) -> pd.DataFrame:
        """Return P(row has feature) for the rows that were fitted, as a table."""
        check_is_fitted(self)
        return self.result_.rows_frame()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what notebooks show: parameters and, once fitted, the summary."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def _repr_html_inner(self) -> str:
        shown: str = super()._repr_html_inner()  # type: ignore[misc]
        return shown + self.result_.summary()._repr_html_() if hasattr(self, "result_") else shown
