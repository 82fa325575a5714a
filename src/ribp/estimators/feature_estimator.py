"""What both estimators have in common."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import FitWarning, InputError
from ribp.estimators.arguments import (
    Background,
    Learned,
    background_or_auto,
    check_entry_options,
    check_exposure,
    check_offsets,
    entropy,
    fixed,
    known_features,
)
from ribp.estimators.containers import contained
from ribp.estimators.describe import describe
from ribp.estimators.kind_tables import Kinds, TablesOfKinds
from ribp.estimators.named_features import NamedFeatures
from ribp.fitting import Prepared, prepare, run
from ribp.likelihoods import Likelihood, exposures, with_entries
from ribp.likelihoods.data import Data
from ribp.likelihoods.exposures import Exposure
from ribp.likelihoods.likelihood import Asked
from ribp.likelihoods.validation import as_data
from ribp.posterior.laws import Counts
from ribp.results import Result
from ribp.results.settings import AnyModel
from ribp.rows.column_notices import column_notices, rare_count_notices
from ribp.rows.homes import home_of
from ribp.rows.local import in_memory
from ribp.rows.store import RowStore
from ribp.running.progress import ProgressOption
from ribp.threads import n_workers

_EARLY = ("absurd-cell", "nothing-observed", "rare-counts")
"""Codes of notices that are given before any work."""


@dataclass(eq=False, repr=False)
class Features(NamedFeatures, TablesOfKinds, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators have in common: fields are the parameters that scikit-learn sees."""

    _METHODS: ClassVar[dict[str, str]]

    method: str = "gibbs"
    _: KW_ONLY
    max_features: int | Literal["auto"] = "auto"
    likelihood: Any = "gaussian"
    mass: float | Learned = "learn"
    noise: str = "per-dim"
    noise_scale: float | Learned = "learn"
    feature_scale: float | Learned = "learn"
    background: Background = "auto"
    n_chains: int = 4
    n_warmup: int = 500
    n_draws: int = 500
    n_jobs: int | None = None
    progress: ProgressOption = "auto"
    checkpoint: str | Path | None = None
    random_state: Any = None

    # Fitting

    def _fit(self, X: Any, counts: Counts, exposure: Exposure = None) -> Self:
        home = home_of(X)
        kinds = self._chosen_kinds(X, in_memory=home is None)
        if home is not None:
            with closing(home.open(X)) as store:
                return self.fit_prepared(
                    self.prepare(store, counts, kinds=kinds, exposure=exposure)
                )
        data, names = self._data(X, reset=True, kinds=kinds)
        columns = getattr(self, "feature_names_in_", None)
        return self.fit_prepared(
            self.prepare(in_memory(data), counts, names, columns, kinds, exposure)
        )

    def prepare(
        self,
        store: RowStore,
        counts: Counts = None,
        row_names: Sequence[str] | None = None,
        dim_names: Sequence[str] | None = None,
        kinds: Kinds | None = None,
        exposure: Exposure = None,
    ) -> Prepared:
        """Return the fit of data in a row store, for `ribp.fitting.run`.

        Raise an error if such data cannot be fitted so, before any work is done. `kinds` are those
        of the columns; if left out they follow from `likelihood`, all columns being numbers.
        `exposure` as in `RestrictedIBP.fit`.
        """
        method = self._METHODS[checks.one_of("method", self.method, self._METHODS)]
        n_workers(self.n_jobs)
        self._check_counts(counts, store.shape, row_names)
        if kinds is None:
            kinds = self._unseen_kinds(range(store.shape[1]) if dim_names is None else dim_names)
        mode, own = exposures.mode_of(exposure), None
        if mode == "given":
            own = exposures.checked(exposure, store.shape[0])
            store.use_exposures(own / own.mean())
        likelihood = self._likelihood(store, kinds, dim_names, row_names, mode)
        if own is not None:
            likelihood = exposures.in_unit_of(likelihood, own)
        model, grow = self._model(store.shape[0], likelihood, counts)
        notices = column_notices(store, dim_names, row_names)
        if (self.likelihood, self.noise, self.noise_scale) == ("gaussian", "per-dim", "learn"):
            notices += rare_count_notices(store.look())
        return prepare(
            model,
            store,
            method,
            grow=grow,
            choose=self._chooses,
            n_chains=self.n_chains,
            n_warmup=self.n_warmup,
            n_draws=self.n_draws,
            seed=entropy(self.random_state),
            row_names=row_names,
            dim_names=dim_names,
            notices=notices,
        )

    def fit_prepared(self, prepared: Prepared) -> Self:
        """Run a fit that `prepare` has returned."""
        notices = prepared.about.notices
        for notice in notices:
            if notice.code in _EARLY:
                warnings.warn(notice.text, FitWarning, stacklevel=4)
        result = run(
            prepared, n_jobs=self.n_jobs, progress=self.progress, checkpoint=self.checkpoint
        )
        for notice in result.summary().warnings:
            if notice not in notices:
                warnings.warn(notice.text, FitWarning, stacklevel=4)
        return self.adopt(result, prepared.about.dim_names)

    def adopt(self, result: Result, dim_names: Sequence[str] | None = None) -> Self:
        """Take over a result, as if it had just been fitted."""
        self.result_ = result
        self.n_features_in_ = result.settings["n_dims"]
        if dim_names is not None:
            self.feature_names_in_ = np.array(dim_names, dtype=object)
        self._describe()
        return self

    @abstractmethod
    def _model(
        self, n_rows: int, likelihood: Likelihood[Any], counts: Counts
    ) -> tuple[AnyModel, bool]:
        """Return the model, and whether it may grow."""

    def _check_counts(
        self, counts: Counts, shape: tuple[int, ...], row_names: Sequence[str] | None
    ) -> None:
        """Raise an error if a count of some row cannot be meant."""

    @property
    def _chooses(self) -> bool:
        """Whether a short search decides on the background."""
        return background_or_auto(self.background) is None

    def _describe(self) -> None:
        """Set the attributes that describe the main mode."""
        found = describe(self.result_)
        self.components_, self.background_ = found.components, found.background
        self.weights_, self.background_choice_ = found.weights, self.result_.background_choice
        self._kept, self._n_features_out = found.kept, int(found.kept.size)
        if self.result_.exposures is not None:
            self.exposures_ = self.result_.exposures
        kinds = self._fitted_kinds
        if kinds is not None:
            self.kinds_ = dict(zip(self._columns(), kinds, strict=True))
        self.__dict__.pop("row_probs_", None)  # of an earlier fit

    @cached_property
    def row_probs_(self) -> NDArray[Any]:
        """P(row has feature) for the rows that were fitted; made when it is first asked for."""
        check_is_fitted(self)
        return self.result_.row_probs()

    def _data(
        self, X: Any, *, reset: bool, kinds: Kinds | None = None
    ) -> tuple[Data, Sequence[str] | None]:
        """Return data at the door, and names of rows if there are any.

        With `kinds` if X is to be fitted; otherwise columns have those of the fit.
        """
        kinds = kinds if reset else self._fitted_kinds
        index = getattr(X, "index", None)
        names = None
        if (
            index is not None
            and getattr(index, "dtype", None) is not None
            and index.dtype.kind in "OUT"
        ):
            names = [str(name) for name in index]
        columns = getattr(X, "columns", None)
        named = columns is not None and not reset
        if named:  # before entries are taken for those of other columns
            validate_data(self, X, reset=False, skip_check_array=True)
        numbers = self._numbers(X, kinds, names)
        data = as_data(numbers, names, None if columns is None else [str(name) for name in columns])
        if not named:
            validate_data(self, X, reset=reset, skip_check_array=True)  # number of columns
        return data, names

    def _likelihood(
        self,
        store: RowStore,
        kinds: Kinds | None,
        dim_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
        exposure: str,
    ) -> Likelihood[Any]:
        on = background_or_auto(self.background)
        asked = Asked(
            bool(on),
            known_features(getattr(self, "fixed_components", None)),
            self.noise,
            fixed("noise_scale", self.noise_scale),
            fixed("feature_scale", self.feature_scale),
            getattr(self, "strength_law", "around-one"),
            getattr(self, "restrict", "nonzeros"),
            getattr(self, "failures", 1.0),
            exposure,
        )
        name = self.likelihood if kinds is None else "kinds"
        kind = with_entries(name, getattr(self, "entries", "binary"))
        check_entry_options(kind, asked)
        check_exposure(kind, name, exposure)
        if on is False and kind.always_background:
            words = "where columns have kinds" if kinds is not None else f"with {name}"
            raise InputError("background", f"must be on {words}", False, 'Leave it at "auto".')
        if kinds is not None:
            return self._likelihood_of_kinds(asked, store, kinds, dim_names, row_names)
        found = kind.make(asked, store.look().moments)
        if on is False:
            check_offsets(found)
        return found

    # Reading

    def _transform(self, X: Any, counts: Counts, exposure: Exposure = None) -> FloatArray:
        return np.asarray(self._row_features(X, counts, exposure, decode=False))

    def _decode(self, X: Any, counts: Counts, exposure: Exposure = None) -> Any:
        rows = self._row_features(X, counts, exposure, decode=True)
        return contained(self, rows, X, self.result_.feature_names)

    def _row_features(
        self, X: Any, counts: Counts, exposure: Exposure, *, decode: bool
    ) -> NDArray[Any]:
        """Return the features of rows, read in parts if X has a home."""
        check_is_fitted(self)
        home = home_of(X)
        if home is not None:
            self.check_in_parts()
            with closing(home.open(X)) as store:
                asked = {"features": self._kept, "decode": decode}
                return np.concatenate(list(self.result_.mapped(store, counts, exposure, **asked)))
        data, _ = self._data(X, reset=False)
        if decode:
            return self.result_.decode(data, counts, exposure, features=self._kept)
        return self.result_.rows_given(data, counts, exposure).probs[:, self._kept]

    def _score(
        self,
        X: Any,
        counts: Counts,
        sample_weight: ArrayLike | None,
        exposure: Exposure = None,
    ) -> float:
        check_is_fitted(self)
        data, _ = self._data(X, reset=False)
        n_rows, dims = data.values.shape
        entries = np.full(n_rows, dims) if data.complete else data.observed.sum(axis=1)
        weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, float)
        if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise InputError(
                "sample_weight", "must be a number >= 0 for each row", sample_weight, "Correct it."
            )
        total = weights @ self.result_.rows_given(data, counts, exposure).log_density
        seen = float(weights @ entries)
        return float(total / seen) if seen > 0 else 0.0

    def inverse_transform(self, X: Any) -> Any:
        """Return the data that rows of features, or of their probabilities, make on average.

        Where columns have kinds as a data frame of pandas, see `reconstruct`; for noisy-OR the
        probabilities of yes.

        Parameters
        ----------
        X
            Shape (rows, features).
        """
        check_is_fitted(self)
        given = np.asarray(X, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self._n_features_out:
            raise InputError(
                "X",
                f"must have {self._n_features_out} columns, one a feature",
                f"shape {given.shape}",
                "Pass what `transform` or `decode` returns.",
            )
        return self._made(np.asarray(given @ self.components_ + self.background_), X)

    def _columns(self) -> list[str]:
        """Return the names of the columns of the data, or their numbers."""
        return [
            str(name) for name in getattr(self, "feature_names_in_", range(self.n_features_in_))
        ]

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the fit to one file, from which `ribp.load` makes an estimator again."""
        check_is_fitted(self)
        self.result_.with_estimator(type(self).__name__, self._settings()).save(path, overwrite)

    def _settings(self) -> dict[str, Any]:
        """Return what is needed to make this estimator again."""
        names = getattr(self, "feature_names_in_", None)
        parameters = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if isinstance(value, str | int | float | bool | None)
        }
        return {
            "parameters": parameters,
            "feature_names_in": None if names is None else [str(name) for name in names],
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
