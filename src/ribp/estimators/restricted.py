"""The estimator of the restricted buffet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ribp import checks
from ribp.checks import FloatArray
from ribp.counts import as_row_counts
from ribp.counts.finite import free_law
from ribp.errors import InputError
from ribp.estimators.arguments import Learned, entropy, fixed
from ribp.estimators.containers import contained
from ribp.estimators.describe import count_laws
from ribp.estimators.feature_estimator import Features
from ribp.likelihoods import Likelihood
from ribp.likelihoods.exposures import Exposure, mode_of, of_new_rows, typical
from ribp.model import Model
from ribp.posterior.laws import Counts
from ribp.posterior.new_rows import NewRows
from ribp.results.settings import MOST_FEATURES
from ribp.search import capacity


@dataclass(kw_only=True, eq=False, repr=False)
class RestrictedIBP(Features):
    """Hidden binary features, when something is known of how many each row has.

    Parameters
    ----------
    method
        "gibbs" (the default: mixes best), "gibbs-rows" (many rows, or counts), "augmented" (small
        problems, no truncation), "structured" (variational, exact counts), "stochastic" (the same
        in batches, for very many rows) or "hybrid" (the paper's variational method).
    max_features
        The largest number of features, or "auto" to find out.
    counts
        How many features a row has: a law such as ``ribp.counts.exactly(3)``, its text, a
        `RowCounts`, a whole number for each row, or a lowest and a highest one; None to learn it.
        A missing count (NaN, NA, None) means that the law of its row is not known: it is learned,
        or what `ribp.counts.fill` says. `fit` can override it.
    likelihood
        "gaussian"; with method="gibbs-rows" also "poisson" for counts, "noisy-or" where features
        cause what is yes or no, or kinds of columns: "auto" (from their types), one kind for all,
        such as "binary", or a mapping from columns to kinds,
        ``{"age": "real", "stage": ribp.kinds.ordinal(["I", "II", "III"])}`` (others are "auto").
    entries
        What a row has of a feature. "binary": it has it or not. "strengths": what it has may be
        louder or softer. "poisson", "negative_binomial": it may have it twice, three times, ...;
        all but "binary" with method="gibbs-rows".
    restrict
        What `counts` is about: "nonzeros", how many features a row has, or, with entries="poisson"
        or "negative_binomial", "sum": how many units, those of one feature all counted.
    failures
        With entries="negative_binomial": r. Larger ones are closer to Poisson entries.
    strength_law
        With entries="strengths": "around-one" (of size one, more or less: how much is learned),
        "positive" (the same, never negative) or "signed" (around zero: as often negative).
    weight_prior
        Of the features' weights: "weak-limit", "size-ordered" or "gamma-odds" (which, normalised,
        is a Dirichlet measure). Entries that count have the prior of their kind: leave it alone.
    mass, concentration
        alpha and c of the prior: a number, or "learn".
    noise
        "per-dim": every column has its own noise, and its own unit does not matter. "shared": one
        for all, as in the paper: then only a common factor of all columns does not matter.
    noise_scale, feature_scale
        A number, or "learn". The noise is in units of the data, and so is the feature scale with
        shared noise; with noise "per-dim" that is in units of the noise.
    background
        Whether there is something that every row has and nobody counts, such as offsets of columns:
        True, False, or "auto" to find out by a short search.
    fixed_components
        Features that are known and stay what they are, in the units and with the columns of
        `components_`, where they come first; others are found beside them. With
        method="gibbs-rows".
    n_chains, n_warmup, n_draws
        Chains, and sweeps of each that are thrown away and kept.
    n_jobs
        Chains at once; None or -1 for one a core.
    progress
        "auto", False, or a function of an `Event`.
    checkpoint
        A folder for checkpoints; `ribp.fitting.resume` goes on from it.
    random_state
        None, a whole number, a Generator or a RandomState.

    Attributes
    ----------
    components_
        A, the mean of each feature, shape (features, dims).
    background_
        What every row has, shape (dims,).
    exposures_
        Exposures of the fitted rows, if they have any: those given, or the means of what was
        learned.
    kinds_
        The kind of each column, by name or number, if columns have kinds. A column whose levels
        have no order then has a column of `components_` for each of them.
    background_choice_
        Whether there is a background, and why.
    weights_
        The mean probability of each feature, shape (features,).
    row_probs_
        P(row has feature) for the rows that were fitted, shape (rows, features); made when it is
        first asked for, in single precision above 50 000 rows.
    counts_
        The count law, as found: one law, or a `RowCounts` if rows differ.
    result_
        Everything: a `ribp.results.Result`.
    feature_names_
        The names of the features: feature0, ... or those that `name_features` gave them.
    n_features_in_, feature_names_in_
        Columns of the data.

    Examples
    --------
    >>> import numpy as np, ribp
    >>> rng = np.random.default_rng(0)
    >>> features, which = rng.normal(0, 3, (3, 8)), rng.integers(3, size=50)
    >>> X = features[which] + 0.2 * rng.normal(size=(50, 8))
    >>> settings = {"n_chains": 2, "n_warmup": 100, "n_draws": 300, "random_state": 1}
    >>> model = ribp.RestrictedIBP(counts="exactly(1)", **settings).fit(X)
    >>> model.components_.shape
    (3, 8)
    """

    _METHODS: ClassVar[dict[str, str]] = {
        name: name
        for name in ("gibbs", "gibbs-rows", "augmented", "structured", "stochastic", "hybrid")
    }

    counts: Counts = None
    concentration: float | Learned = 1.0
    fixed_components: ArrayLike | None = None
    entries: str = "binary"
    restrict: str = "nonzeros"
    failures: float = 1.0
    strength_law: str = "around-one"
    weight_prior: str = "weak-limit"

    def fit(
        self, X: Any, y: object = None, counts: Counts = None, exposure: Exposure = None
    ) -> Self:
        """Find the features of data.

        Parameters
        ----------
        X
            Shape (rows, dims): array, data frame or sparse matrix; NaN means missing. With
            "gibbs-rows", "structured" or "stochastic" also a memory map or a Dask array, of which
            only some rows are in memory at a time.
        y
            Not used.
        counts
            How many features each row has; None for the law given to the constructor.
        exposure
            With likelihood="poisson" by what the rates of each row are multiplied: a positive
            number a row, such as the length of a text; "learn" to find out; None if rows are alike.
            Its unit does not matter: features are rates at the mean exposure. Where it was given
            here, `transform` and others want it of their rows.
        """
        return self._fit(X, counts, exposure)

    def transform(
        self, X: Any, counts: Counts = None, exposure: ArrayLike | None = None
    ) -> FloatArray:
        """Return P(feature is active | row), shape (rows, features).

        Deterministic, and independent of the other rows. Without `counts` rows have the law of the
        fit; where rows had different laws, their average, with a warning.
        """
        return self._transform(X, counts, exposure)

    def fit_transform(
        self, X: Any, y: object = None, counts: Counts = None, exposure: Exposure = None
    ) -> FloatArray:
        """Fit, then transform the same rows under the same laws."""
        own: Any = exposure if mode_of(exposure) == "given" else None
        return self.fit(X, y, counts, exposure).transform(X, counts, own)

    def decode(self, X: Any, counts: Counts = None, exposure: ArrayLike | None = None) -> Any:
        """Return 0/1 rows, or counts, that obey their count laws, shape (rows, features).

        An array, or a data frame as `set_output` says; so does `inverse_transform`.
        """
        return self._decode(X, counts, exposure)

    def strengths(self, X: Any, counts: Counts = None, exposure: ArrayLike | None = None) -> Any:
        """Return E[strength | the row has the feature], shape (rows, features).

        NaN where no draw lets the row have it. With entries="strengths".
        """
        rows = self._sized_rows(X, counts, ("strengths",), exposure)
        probs = rows.probs[:, self._kept]
        with np.errstate(invalid="ignore", divide="ignore"):
            strengths = np.where(probs > 0.0, rows.sizes[:, self._kept] / probs, np.nan)
        return contained(self, strengths, X, self.result_.feature_names)

    def multiplicities(self, X: Any, counts: Counts = None) -> Any:
        """Return E[z | row], how often rows have each feature on average, shape (rows, features).

        With entries="poisson" or "negative_binomial".
        """
        rows = self._sized_rows(X, counts, ("poisson", "negative_binomial"))
        return contained(self, rows.sizes[:, self._kept], X, self.result_.feature_names)

    def reconstruct(self, X: Any, counts: Counts = None, exposure: ArrayLike | None = None) -> Any:
        """Return E[z s | x] A + b, what the features of rows make of them, shape (rows, dims).

        Times the exposures of rows, if they have any; those that are learned are estimated.

        A and b are `components_` and `background_`, means over draws: where strengths are signed,
        and their scale is that of the features, this is rougher than `result_.fitted`. Where
        columns have kinds: the most probable level, the mean of numbers, the median of positive
        ones, as a data frame.
        """
        check_is_fitted(self)
        data, _ = self._data(X, reset=False)
        sizes = self.result_.rows_given(data, counts, exposure).sizes[:, self._kept]
        likelihood = self.result_.model.likelihood
        made = np.asarray(sizes @ self.components_ + self.background_)
        own = of_new_rows(likelihood, exposure, len(made))
        own = typical(data, made) if likelihood.exposure == "learn" else own
        return self._made(likelihood.exposed(made, own), X)

    def _sized_rows(
        self,
        X: Any,
        counts: Counts,
        kinds: tuple[str, ...],
        exposure: ArrayLike | None = None,
    ) -> NewRows:
        """Return rows whose entries have a size of some kind, or raise an `InputError`."""
        check_is_fitted(self)
        entries = self.result_.model.likelihood.entries
        if entries not in kinds:
            names = " or ".join(f'"{kind}"' for kind in kinds)
            raise InputError("entries", f"must be {names}", entries, f"Fit with entries={names}.")
        data, _ = self._data(X, reset=False)
        return self.result_.rows_given(data, counts, exposure)

    def score(
        self,
        X: Any,
        y: object = None,
        counts: Counts = None,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Return the mean log density of an observed entry, features of the row summed out.

        With `sample_weight` rows count for more or less.
        """
        return self._score(X, counts, sample_weight, exposure)

    def sample(
        self,
        n_rows: int = 1,
        counts: Counts = None,
        random_state: Any = None,
        exposure: ArrayLike | None = None,
    ) -> Any:
        """Return new data from the posterior predictive, shape (rows, dims).

        A data frame with names of levels where columns have kinds.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(entropy(random_state))
        number = checks.integer("n_rows", n_rows)
        return self._named(self.result_.sample(rng, number, counts, exposure)[1])

    def _check_counts(
        self, counts: Counts, shape: tuple[int, ...], row_names: Sequence[str] | None
    ) -> None:
        counts = self.counts if counts is None else counts
        if counts is not None and isinstance(self.max_features, str):
            capacity.check_counts(as_row_counts(counts, shape[0]), shape[1], row_names)

    def _model(
        self, n_rows: int, likelihood: Likelihood[Any], counts: Counts
    ) -> tuple[Model, bool]:
        counts = self.counts if counts is None else counts
        auto = isinstance(self.max_features, str) and self.max_features == "auto"
        size = (
            0
            if auto
            else checks.integer("max_features", self.max_features, least=1, most=MOST_FEATURES)
        )
        if counts is None:
            counts = free_law(size or None)
        laws = as_row_counts(counts, n_rows)
        mass = fixed("mass", self.mass)
        size = size or capacity.first_guess(laws, mass) + len(likelihood.known)
        model = Model(
            laws,
            size,
            likelihood,
            mass,
            fixed("concentration", self.concentration),
            self._weights(likelihood.entry_law.weight_prior),
        )
        return model, auto and self.method != "augmented"

    def _weights(self, only: str | None) -> str:
        """Return the name of the weight prior; `only` that of entries that count."""
        if only is None or self.weight_prior == only:
            return self.weight_prior
        if self.weight_prior != "weak-limit":
            raise InputError(
                "weight_prior",
                f'must be left alone with entries="{self.entries}"',
                self.weight_prior,
                "Leave it out.",
            )
        return only

    def _describe(self) -> None:
        super()._describe()
        self.counts_ = count_laws(self.result_)
