"""Tables whose columns have kinds, as estimators take and return them: levels have their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.estimators.containers import contained
from ribp.kinds import NAMES, Kind
from ribp.kinds.choice import (
    AUTO,
    check_numbered,
    chosen,
    is_choice,
    unseen_columns,
    unseen_kinds,
)
from ribp.kinds.coding import decoded, encoded
from ribp.kinds.given_columns import columns_of
from ribp.likelihoods import LIKELIHOODS, ColumnsOfKinds
from ribp.likelihoods.likelihood import Asked
from ribp.results import Result
from ribp.rows.kind_look import looked_columns
from ribp.rows.store import RowStore

Kinds = tuple[Kind, ...]


def likelihood_names() -> list[str]:
    """Return what users may write for a likelihood."""
    return [*(name for name in LIKELIHOODS if name != "kinds"), AUTO, *NAMES]


class TablesOfKinds:
    """What estimators know of kinds."""

    likelihood: Any
    result_: Result
    components_: FloatArray
    background_: FloatArray

    def _chosen_kinds(self, X: Any, *, in_memory: bool) -> Kinds | None:
        """Return the kinds of the columns of a table to be fitted; None if they have none."""
        self._check_likelihood()
        if not is_choice(self.likelihood):
            return None
        if in_memory:
            return chosen(self.likelihood, columns_of(X))
        return self._unseen_kinds(range(X.shape[1]), X.dtype)

    def _unseen_kinds(self, names: Sequence[Any], dtype: Any = None) -> Kinds | None:
        """Return the same of a table that is not in memory, of which the type may be known."""
        self._check_likelihood()
        return unseen_kinds(self.likelihood, unseen_columns(names, dtype))

    def check_in_parts(self) -> None:
        """Raise an `InputError` if levels have names that data in parts do not have."""
        check_numbered(self._fitted_kinds or ())

    @property
    def _fitted_kinds(self) -> Kinds | None:
        return self.result_.model.likelihood.kinds

    def _numbers(self, X: Any, kinds: Kinds | None, row_names: Sequence[str] | None) -> Any:
        """Return a table as it is or, if its columns have kinds, its numbers."""
        return X if kinds is None else encoded(columns_of(X), kinds, row_names)

    def _likelihood_of_kinds(
        self,
        asked: Asked,
        store: RowStore,
        kinds: Kinds,
        dim_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
    ) -> ColumnsOfKinds:
        columns = looked_columns(store, kinds, dim_names, row_names)
        return ColumnsOfKinds.of(asked, columns)

    def _check_likelihood(self) -> None:
        """Raise an `InputError` if it is not one that users can choose."""
        words = likelihood_names()
        if not is_choice(self.likelihood) and self.likelihood not in words:
            raise InputError(
                "likelihood",
                f"must be one of {', '.join(words)}, or a mapping from columns to kinds",
                repr(self.likelihood),
                'Write for example "auto", or {"age": "real", "smoker": "binary"}.',
            )

    def _made(self, eta: FloatArray, X: Any) -> Any:
        """Return what rows make of the columns, given M; levels by name, in a data frame."""
        kinds, names = self._fitted_kinds, self._columns()  # type: ignore[attr-defined]
        own = self.result_.tree["posterior"].dataset.get("own")
        mode = list(self.result_.alignment.chains)
        means = np.zeros(0) if own is None else own.to_numpy()[mode].mean(axis=(0, 1))
        made = self.result_.model.likelihood.typical(eta, means)
        if kinds is None:
            return contained(self, made, X, names)
        return decoded(made, kinds, names, getattr(X, "index", None))

    def _named(self, values: FloatArray, X: Any = None) -> Any:
        """Return data as they are or, if their columns have kinds, with the names of levels."""
        kinds = self._fitted_kinds
        if kinds is None:
            return values
        return decoded(values, kinds, self._columns(), getattr(X, "index", None))  # type: ignore[attr-defined]

    def impute(self, X: Any) -> Any:
        """Return the data of the fit, missing entries filled, shape (rows, dims).

        By posterior means; where columns have kinds by the most probable level, the mean of numbers
        and the median of positive ones, as a data frame. `result_.impute` says how sure they are.
        """
        check_is_fitted(self)
        data, _ = self._data(X, reset=False)  # type: ignore[attr-defined]
        filled = self.result_.impute(data)[0]
        if self._fitted_kinds is None:
            return contained(self, filled, X, self._columns())  # type: ignore[attr-defined]
        return self._named(filled, X)
