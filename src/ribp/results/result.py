"""The result of a fit: what its draws say of features and of rows, old or new."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts
from ribp.errors import InputError
from ribp.kinds.coding import encoded
from ribp.kinds.given_columns import columns_of
from ribp.likelihoods import exposures
from ribp.likelihoods.data import ALL_ALIKE, BoolArray, Data, Rows
from ribp.likelihoods.moments import MANY
from ribp.likelihoods.validation import as_data
from ribp.posterior import predict
from ribp.posterior.align import Alignment, align
from ribp.posterior.diagnostics import Diagnostic, diagnose
from ribp.posterior.draws import Draws, aligned_draws, aligned_row_probs, unaligned_draws
from ribp.posterior.effects import Effect, effects
from ribp.posterior.feature_spread import shown_places
from ribp.posterior.judgement import judge
from ribp.posterior.laws import Counts, laws_of_rows
from ribp.posterior.modes import Mode, modes
from ribp.posterior.new_rows import NewRows, RowWeigher, in_blocks, weigh_rows
from ribp.posterior.predictive_checks import Checks
from ribp.posterior.predictive_checks import checks as predictive_checks
from ribp.posterior.row_features import RowFeatures
from ribp.posterior.stored_draws import array, stored_draws
from ribp.posterior.summary import Summary, coactivation, summary
from ribp.posterior.worth import gain_of
from ribp.results import feature_names, tables
from ribp.results.stored_fit import StoredFit
from ribp.rows.kind_look import looked_columns
from ribp.rows.shard import not_a_count
from ribp.rows.store import RowStore
from ribp.threads import memory, n_cores, on_one_blas_thread

if TYPE_CHECKING:
    import pandas as pd

_EFFECT_DRAWS = 50  # to tell what features change


class Result(StoredFit):
    """The draws of a fit.

    Parameters
    ----------
    tree
        As `ribp.results.build` returns it. It is validated, and not copied.
    """

    @on_one_blas_thread
    def judged(self, take: Callable[[IntArray], Data]) -> Result:
        """Return the same result with a judgement by its data.

        `take` gives those of some rows, in standard units (`Likelihood.standard`).
        """
        judgement = judge(
            self._tree, self.model.likelihood, self._counts, lambda: self.alignment, take
        )
        return self._with("judgement", judgement.to_json())

    @on_one_blas_thread
    def scored(self, data: Data, values: FloatArray, hidden: BoolArray) -> Result:
        """Return the same result, the worth of its features told by entries hidden from the fit.

        Parameters
        ----------
        data
            The data of the fit.
        values, hidden
            True values, and which entries were hidden, shape (rows, dims).
        """
        alone = self.model.likelihood.column_log_density(self.exposed(data), values)[hidden]
        gains = self.held_out_log_density(values, hidden) - alone
        gain = gain_of(gains, np.nonzero(hidden)[0])
        if self.judgement is None or not np.isfinite(gain).all():
            return self
        judgement = self.judgement._replace(gain=gain, hidden=True)
        return self._with("judgement", judgement.to_json())

    # Reading it

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """Groups of chains with the same features, the highest log joint first."""
        return modes(self._tree)

    @cached_property
    def alignment(self) -> Alignment:
        """The features of all draws of the main mode in one order, the most popular first."""
        return align(stored_draws(self._tree), self.modes[0].chains)

    @cached_property
    def shown_places(self) -> IntArray:
        """Places, in the order of `alignment`, of the features that `components_` has."""
        return shown_places(self.alignment, len(self.model.likelihood.known))

    @property
    def feature_names(self) -> list[str]:
        """The names of the features that `components_` has: feature0 if nobody gave one."""
        stored = feature_names.from_text(self._tree.attrs.get("feature_names"))
        return feature_names.all_names(stored, self.shown_places.size)

    @property
    def short_feature_names(self) -> list[str]:
        """The same, but the number alone where nobody gave a name."""
        stored = feature_names.from_text(self._tree.attrs.get("feature_names"))
        return [stored.get(at, str(at)) for at in range(self.shown_places.size)]

    def named(self, names: Mapping[int, str] | Sequence[str]) -> Result:
        """Return the same result with names for features.

        Parameters
        ----------
        names
            By number, as in `components_`, or one for each feature.
        """
        stored = feature_names.from_text(self._tree.attrs.get("feature_names"))
        after = feature_names.changed(stored, names, self.shown_places.size)
        return self._with("feature_names", feature_names.to_text(after))

    def named_as(self, other: Result) -> Result:
        """Return the same result with the names that features of another fit of its rows have."""
        stored = feature_names.from_text(other.tree.attrs.get("feature_names"))
        if not stored:
            return self
        return self.named(feature_names.carried(stored, other.row_probs(), self.row_probs()))

    def row_probs(self) -> NDArray[Any]:
        """Return P(row has feature) for the rows that were fitted, shape (rows, features).

        Features as in `components_`; single precision above 50 000 rows.
        """
        return self._row_probs

    @cached_property
    def _row_probs(self) -> NDArray[Any]:
        activity, at = self.alignment.activity, self.shown_places
        if activity.shape[1] == self.settings["n_rows"]:  # of many rows it has some only
            return np.asarray(activity[:, :, at].mean(axis=0))
        precision = np.float32 if self.settings["n_rows"] > MANY else np.float64
        return aligned_row_probs(self._tree, self.alignment, at, precision)

    def components_frame(self) -> pd.DataFrame:
        """Return the features as a table: feature, column, mean, 5% and 95% of draws."""
        return tables.components_frame(self)

    def effects(self) -> list[Effect] | None:
        """Return what each feature changes, where columns have kinds: probabilities of events."""
        return self._effects

    @cached_property
    def _effects(self) -> list[Effect] | None:
        if self.event_names is None:
            return None
        return effects(self.draws(_EFFECT_DRAWS), self.model.likelihood, self.shown_places)

    @property
    def event_names(self) -> list[str] | None:
        """Names of the events whose probabilities features change; None if features add."""
        return self.model.likelihood.event_names(self._columns)

    def effects_frame(self) -> pd.DataFrame:
        """Return what features change: feature, event, its probability without and with it."""
        return tables.effects_frame(self)

    def rows_frame(self) -> pd.DataFrame:
        """Return P(row has feature) as a table: a line for each row, a column for each feature."""
        return tables.rows_frame(self)

    def summary(self) -> Summary:
        """Return features, diagnostics and warnings; print it."""
        return self._summary

    @cached_property
    def _summary(self) -> Summary:
        return summary(
            self._tree,
            self.modes,
            self.alignment,
            self._diagnostics,
            self.shown_places,
            self.feature_names,
        )

    def diagnostics(self) -> dict[str, Diagnostic]:
        """Return mean, error, R-hat and effective sizes of what does not depend on names."""
        return self._diagnostics

    @cached_property
    def _diagnostics(self) -> dict[str, Diagnostic]:
        return diagnose(self._tree)

    def draws(self, max_draws: int | None = None) -> Draws:
        """Return stored draws of the main mode as arrays, features in one order."""
        return aligned_draws(
            self._tree, self.model.likelihood, self._counts, self.alignment, max_draws
        )

    @property
    def _counts(self) -> RowCounts | None:
        return getattr(self.model, "counts", None)

    @on_one_blas_thread
    def coactivation(self, rows: ArrayLike | None = None) -> FloatArray:
        """Return the mean number of features that two rows share, shape (rows, rows)."""
        return coactivation(self._tree, rows, self.modes[0].chains)

    def rows_given(
        self,
        X: Any,
        counts: Counts = None,
        exposure: ArrayLike | None = None,
        *,
        max_draws: int | None = 100,
        **options: Any,
    ) -> NewRows:
        """Return density and features of rows, old or new, z summed out.

        Parameters
        ----------
        X
            The rows, as `fit` takes them; entries may be missing.
        counts
            Their count laws; None for that of the fit, the average where rows had different ones.
        exposure
            A positive number for each row, if the fit was given exposures.
        max_draws
            Use so many draws, evenly spaced; None for all that are stored.
        **options
            As in `ribp.posterior.row_posterior.row_posterior`.
        """
        data, draws, likelihood = (
            self._exposed(self._data(X), exposure),
            self._draws_without_rows(max_draws),
            self.model.likelihood,
        )
        tables, law_of_row = laws_of_rows(
            self._counts, draws, counts, len(data.values), likelihood.entry_law
        )
        return weigh_rows(draws, likelihood, data, law_of_row, tables, n_jobs=n_cores(), **options)

    def decode(
        self,
        X: Any,
        counts: Counts = None,
        exposure: ArrayLike | None = None,
        *,
        features: ArrayLike | None = None,
        max_draws: int | None = 100,
        **options: Any,
    ) -> NDArray[Any]:
        """Return 0/1 rows, or counts, that obey their count laws, shape (rows, features).

        Only some `features` may be allowed; other arguments as in `rows_given`.
        """
        data = self._exposed(self._data(X), exposure)
        work, law_of_row = self.row_features(
            counts, len(data.values), features=features, decode=True, max_draws=max_draws, **options
        )
        return np.concatenate(list(in_blocks(work, data, law_of_row, n_cores())))

    def row_features(
        self,
        counts: Counts,
        n_rows: int,
        *,
        features: ArrayLike | None = None,
        decode: bool = False,
        max_draws: int | None = 100,
        **options: Any,
    ) -> tuple[RowFeatures, IntArray]:
        """Return what finds the features of rows, a block at a time, and the law of each row.

        For more rows than fit into memory; `decode` for 0/1 rows instead of probabilities, other
        arguments as in `rows_given`.
        """
        draws = self._draws_without_rows(max_draws)
        entries = self.model.likelihood.entry_law
        tables, law_of_row = laws_of_rows(self._counts, draws, counts, n_rows, entries)
        at = np.arange(draws.log_odds.shape[1]) if features is None else np.asarray(features)
        weigher = RowWeigher.of_draws(draws, self.model.likelihood, tables, **options)
        return RowFeatures.of(weigher, at, tables, decode), law_of_row

    def mapped(
        self,
        store: RowStore,
        counts: Counts = None,
        exposure: ArrayLike | None = None,
        **options: Any,
    ) -> Iterator[NDArray[Any]]:
        """Yield the features of the rows of a store, some rows at a time.

        Arguments as in `rows_given` and `row_features`.
        """
        n_rows, n_dims = store.shape
        store.use_exposures(self._checked_exposure(exposure, n_rows))
        if n_dims != self.settings["n_dims"]:
            rule = f"must have the {self.settings['n_dims']} columns of the fit"
            raise InputError("X", rule, f"{n_dims} columns", "Pass the same columns.")
        law, look = self.model.likelihood, store.look()
        law.check(n_dims, look.not_a_count)
        law.check_range(look.low, look.high)
        if law.kinds is not None:
            looked_columns(store, law.kinds, self._columns)
        work, law_of_row = self.row_features(counts, n_rows, **options)
        return store.mapped(work, law_of_row)

    def sample(
        self,
        rng: np.random.Generator | int,
        n_rows: int,
        counts: Counts = None,
        exposure: ArrayLike | None = None,
    ) -> tuple[Rows, FloatArray]:
        """Return new rows and their data; count laws and exposures as in `rows_given`.

        Exposures that were learned are drawn from their prior.
        """
        own = self._checked_exposure(exposure, n_rows)
        rng, draws = checks.generator("rng", rng), self.draws()
        each = 8 * self.settings["n_dims"] + draws.log_odds.shape[1] + 16
        checks.fits("n_rows", n_rows, each, memory())
        tables, law_of_row = laws_of_rows(
            self._counts, draws, counts, n_rows, self.model.likelihood.entry_law
        )
        draws = draws._replace(count_log_probs=tables)
        return predict.new_rows(
            rng, draws, self.model.likelihood, law_of_row, own if own.size else None
        )

    def count_probs(self) -> FloatArray:
        """Return the mean of each count law, shape (laws, counts)."""
        return np.asarray(np.exp(self.draws().count_log_probs).mean(axis=0))

    @property
    def exposures(self) -> FloatArray | None:
        """Those of the fitted rows, as given or the means of what was learned; None without any."""
        return self._exposures

    @cached_property
    def _exposures(self) -> FloatArray | None:
        law = self.model.likelihood
        if law.exposure == "given":
            unit: float = law.exposure_unit  # type: ignore[attr-defined]
            return np.asarray(unit * array(self._tree, "laws", "exposure"))
        if law.exposure == "one":
            return None
        learned = array(self._tree, "features", "exposure")[list(self.alignment.chains)]
        return np.asarray(learned.mean(axis=(0, 1), dtype=np.float64))

    def exposed(self, data: Data) -> Data:
        """Return the data of the fit with the exposures of their rows, if they have any."""
        if self.exposures is None:
            return data._replace(exposures=ALL_ALIKE)
        unit = getattr(self.model.likelihood, "exposure_unit", 1.0)
        return data._replace(exposures=self.exposures / unit)

    def _exposed(self, data: Data, exposure: ArrayLike | None) -> Data:
        """Return data of new rows with their exposures."""
        return data._replace(exposures=self._checked_exposure(exposure, len(data.values)))

    def _checked_exposure(self, exposure: ArrayLike | None, n_rows: int) -> FloatArray:
        """Return exposures of new rows, which must be given if and only if the fit was."""
        return exposures.of_new_rows(self.model.likelihood, exposure, n_rows)

    @property
    def _columns(self) -> list[Any]:
        """Names or numbers of the columns of the data."""
        return list(self._tree["features"]["dim"].to_numpy().tolist())

    def _draws_without_rows(self, max_draws: int | None) -> Draws:
        """Return stored draws of the main mode without the rows that were fitted, once made."""
        if max_draws not in self._rowless:
            self._rowless[max_draws] = aligned_draws(
                self._tree, self.model.likelihood, self._counts, self.alignment, max_draws,
                np.arange(0),
            )  # fmt: skip
        return self._rowless[max_draws]

    @cached_property
    def _rowless(self) -> dict[int | None, Draws]:
        return {}

    def log_likelihood(self, X: Any, **options: Any) -> FloatArray:
        """Return log p(x_n | draw), z summed out, of the fitted rows: (chain, stored draw, row).

        What `to_arviz` wants for cross-validation by `az.loo`.
        """
        data, counts, likelihood = self._data(X, fitted=True), self._counts, self.model.likelihood
        draws = unaligned_draws(self._tree, likelihood, counts)
        law_of_row = np.zeros(len(data.values), np.int64) if counts is None else counts.law_of_row
        work = RowWeigher.of_draws(draws, likelihood, **options).log_densities
        parts = list(in_blocks(work, data, law_of_row, n_cores()))
        return np.concatenate(parts, axis=1).reshape(self.n_chains, -1, len(data.values))

    @on_one_blas_thread
    def impute(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of all entries of the fitted data."""
        return predict.impute(self.draws(), self.model.likelihood, self._data(X, fitted=True))

    @on_one_blas_thread
    def fitted(self, rows: ArrayLike | None = None) -> FloatArray:
        """Return what the features of fitted rows make of them, shape (rows, dims)."""
        n_rows = self.settings["n_rows"]
        at = np.arange(n_rows) if rows is None else checks.integers("rows", rows)
        if at.size and at.max() >= n_rows:
            raise InputError("rows", f"must be below {n_rows}", at.max(), "Correct them.")
        return predict.fitted(self.draws(), self.model.likelihood, at)

    @on_one_blas_thread
    def held_out_log_density(self, values: FloatArray, mask: BoolArray) -> FloatArray:
        """Return the log density of entries that were missing in the fit, shape (entries,)."""
        return predict.held_out_entries(self.draws(), self.model.likelihood, values, mask)

    @on_one_blas_thread
    def posterior_predictive(
        self, rng: np.random.Generator | int, n_draws: int = 100
    ) -> FloatArray:
        """Return replicates of the fitted data, shape (n_draws, rows, dims)."""
        rng = checks.generator("rng", rng)
        each = 8 * self.settings["n_dims"] * self.settings["n_rows"]
        checks.fits("n_draws", n_draws, each, memory())
        return predict.posterior_predictive(rng, self.draws(), self.model.likelihood, n_draws)

    @on_one_blas_thread
    def check(self, rng: np.random.Generator | int, X: Any, n_draws: int = 50) -> Checks:
        """Return posterior predictive checks by the data of the fit; print them."""
        rng, data = checks.generator("rng", rng), self._data(X, fitted=True)
        return predictive_checks(rng, self.draws(n_draws), self.model.likelihood, data)

    def _data(self, X: Any, *, fitted: bool = False) -> Data:
        """Return whatever `fit` takes as data: those of the fit, or others of as many columns."""
        kinds = self.model.likelihood.kinds
        if kinds is not None and not isinstance(X, Data):
            X = encoded(columns_of(X), kinds)
        data = X if isinstance(X, Data) else as_data(X)
        n_rows, n_dims = (self.settings[name] for name in ("n_rows", "n_dims"))
        if data.shape[1] != n_dims or (fitted and data.shape[0] != n_rows):
            rule = f"must be the {n_rows} rows of {n_dims} columns of the fit"
            rule = rule if fitted else f"must have the {n_dims} columns of the fit"
            raise InputError("X", rule, f"shape {data.shape}", "Pass the data of the fit.")
        self.model.likelihood.check(n_dims, not_a_count(data.values))
        self.model.likelihood.check_values(data, self._columns)
        return self._with_exposures(data) if fitted else data

    def _with_exposures(self, data: Data) -> Data:
        """Return the data of the fit with the exposures that it was given."""
        given = self.model.likelihood.exposure == "given"
        own = array(self._tree, "laws", "exposure") if given else ALL_ALIKE
        return data._replace(exposures=own)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the size of the fit, and its summary."""
        return f"<pre>{escape(repr(self))}</pre>{self.summary()._repr_html_()}"
