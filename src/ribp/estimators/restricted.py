"""The estimator of the restricted buffet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ribp import checks
from ribp.checks import FloatArray
from ribp.counts import as_row_counts
from ribp.estimators.arguments import Background, Learned, entropy, fixed
from ribp.estimators.describe import count_laws
from ribp.estimators.feature_estimator import Features
from ribp.likelihoods.data import Rows
from ribp.likelihoods.moments import Moments
from ribp.model import Model
from ribp.posterior.laws import Counts
from ribp.results.settings import MOST_FEATURES
from ribp.running.progress import ProgressOption
from ribp.search import capacity


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
        `fit` can override it.
    likelihood
        "gaussian", or "poisson" for counts (with method="gibbs-rows").
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
        Features that are known and stay what they are, shape (features, dims); others are found
        beside them. They come first in `components_`. With method="gibbs-rows".
    n_chains, n_warmup, n_draws
        Chains, and sweeps of each that are thrown away and kept.
    n_jobs
        Chains at once; None for one a core.
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

    def __init__(
        self,
        method: str = "gibbs",
        *,
        max_features: int | Literal["auto"] = "auto",
        counts: Counts = None,
        likelihood: str = "gaussian",
        mass: float | Learned = "learn",
        concentration: float | Learned = 1.0,
        noise: str = "per-dim",
        noise_scale: float | Learned = "learn",
        feature_scale: float | Learned = "learn",
        background: Background = "auto",
        fixed_components: ArrayLike | None = None,
        n_chains: int = 4,
        n_warmup: int = 500,
        n_draws: int = 500,
        n_jobs: int | None = None,
        progress: ProgressOption = "auto",
        checkpoint: str | Path | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.fixed_components = fixed_components
        self.max_features = max_features
        self.counts = counts
        self.likelihood = likelihood
        self.mass = mass
        self.concentration = concentration
        self.noise = noise
        self.noise_scale = noise_scale
        self.feature_scale = feature_scale
        self.background = background
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.random_state = random_state

    def fit(self, X: Any, y: object = None, counts: Counts = None) -> Self:
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
        """
        return self._fit(X, counts)

    def transform(self, X: Any, counts: Counts = None) -> FloatArray:
        """Return P(feature is active | row), shape (rows, features).

        Deterministic, and independent of the other rows. Without `counts` rows have the law of the
        fit; where rows had different laws, their average, with a warning.
        """
        return self._transform(X, counts)

    def fit_transform(self, X: Any, y: object = None, counts: Counts = None) -> FloatArray:
        """Fit, then transform the same rows under the same laws."""
        return self.fit(X, y, counts).transform(X, counts)

    def decode(self, X: Any, counts: Counts = None) -> Rows:
        """Return 0/1 rows that obey their count laws, shape (rows, features)."""
        return self._decode(X, counts)

    def score(
        self,
        X: Any,
        y: object = None,
        counts: Counts = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean log density of an observed entry, features of the row summed out.

        With `sample_weight` rows count for more or less.
        """
        return self._score(X, counts, sample_weight)

    def sample(
        self, n_rows: int = 1, counts: Counts = None, random_state: Any = None
    ) -> FloatArray:
        """Return new data from the posterior predictive, shape (rows, dims)."""
        check_is_fitted(self)
        rng = np.random.default_rng(entropy(random_state))
        return self.result_.sample(rng, checks.integer("n_rows", n_rows), counts)[1]

    def _check_counts(
        self, counts: Counts, shape: tuple[int, ...], row_names: Sequence[str] | None
    ) -> None:
        counts = self.counts if counts is None else counts
        if counts is not None and isinstance(self.max_features, str):
            capacity.check_counts(as_row_counts(counts, shape[0]), shape[1], row_names)

    def _model(self, n_rows: int, seen: Moments, counts: Counts) -> tuple[Model, bool]:
        counts = self.counts if counts is None else counts
        auto = isinstance(self.max_features, str) and self.max_features == "auto"
        size = (
            0
            if auto
            else checks.integer("max_features", self.max_features, least=1, most=MOST_FEATURES)
        )
        if counts is None:
            counts = capacity.free_law(size or None)
        laws, likelihood = as_row_counts(counts, n_rows), self._likelihood(seen)
        mass = fixed("mass", self.mass)
        size = size or capacity.first_guess(laws, mass) + len(likelihood.known)
        model = Model(
            laws,
            size,
            likelihood,
            mass,
            fixed("concentration", self.concentration),
        )
        return model, auto and self.method != "augmented"

    def _describe(self) -> None:
        super()._describe()
        self.counts_ = count_laws(self.result_)
