"""The scikit-learn face: `RestrictedIBP` and `IndianBuffet`.

Arguments become a model, `ribp.fitting.fit` runs it, and what users ask afterwards is asked of the
`Result`. Attributes describe one mode, that of the highest log joint, and of it the features that
are in use in at least half of the draws.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ribp import checks
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.checks import FloatArray
from ribp.counts import CountLaw, RowCounts, as_row_counts, learned, table
from ribp.errors import FitWarning, InputError, StorageError
from ribp.fitting import fit
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.base import Data, Rows
from ribp.likelihoods.door import as_data
from ribp.likelihoods.moments import MANY, Moments, moments
from ribp.mcmc import capacity, sampled_start
from ribp.model import Model
from ribp.posterior.draws import aligned_draws, aligned_row_probs, features_in_use
from ribp.posterior.laws import Counts
from ribp.results import Result
from ribp.results.settings import AnyModel
from ribp.running.progress import ProgressOption
from ribp.running.samplers import sampler
from ribp.scale import elsewhere
from ribp.scale import fit as scale_fit
from ribp.scale.in_process import Keeper, Survey

__all__ = ["IndianBuffet", "RestrictedIBP"]

Learned = Literal["learn"]
_IN_USE = 0.5
_USUAL_FEATURES = 30  # of a buffet that must have a limit
_USUAL_COUNTS = 20  # that a law may have which is learned, if nobody says how many features


class _Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators have in common."""

    _METHODS: ClassVar[dict[str, str]]

    method: str
    likelihood: str
    mass: float | Learned
    noise: str
    noise_scale: float | Learned
    feature_scale: float | Learned
    background: bool
    n_chains: int
    n_warmup: int
    n_draws: int
    n_jobs: int | None
    progress: ProgressOption
    checkpoint: str | Path | None
    random_state: Any

    # Fitting

    def _fit(self, X: Any, counts: Counts) -> Self:
        if elsewhere.is_elsewhere(X):
            method = self._METHODS[checks.one_of("method", self.method, self._METHODS)]
            if method in elsewhere.METHODS:
                with elsewhere.keeper(X) as keeper:
                    return self.fit_elsewhere(keeper, keeper.survey(), counts)
            with elsewhere.mapped(X, method) as values:
                self._set_columns(values.shape[1], None)
                return self._run(as_data(values), counts, None)
        data, names = self._data(X, reset=True)
        return self._run(data, counts, names)

    def fit_elsewhere(
        self,
        keeper: Keeper,
        survey: Survey,
        counts: Counts = None,
        dim_names: Sequence[str] | None = None,
    ) -> Self:
        """Fit data that are with a `ribp.scale.in_process.Keeper`: "gibbs-rows", "structured"."""
        self._set_columns(survey.shape[1], dim_names)
        n_rows, seen = survey.shape[0], survey.moments
        if n_rows <= sampled_start.SAMPLE:  # as with so few rows in memory
            seen = self._moments(keeper.take(np.arange(n_rows)))
        model, grow = self._model(n_rows, seen, counts)
        assert isinstance(model, Model)
        self.result_ = scale_fit.fit(
            model,
            keeper,
            survey,
            self.method,
            grow=grow,
            n_chains=self.n_chains,
            n_warmup=self.n_warmup,
            n_draws=self.n_draws,
            progress=self.progress,
            checkpoint=self.checkpoint,
            seed=_entropy(self.random_state),
            dim_names=dim_names,
        )
        return self._told()

    def check(self, data: Data, counts: Counts = None) -> None:
        """Raise an error if such data cannot be fitted so, before anything is done."""
        chosen = checks.one_of("method", self.method, self._METHODS)
        model, _ = self._model(len(data.values), self._moments(data), counts)
        sampler(self._METHODS[chosen], model).check(data)

    def fit_data(
        self,
        data: Data,
        counts: Counts = None,
        row_names: Sequence[str] | None = None,
        dim_names: Sequence[str] | None = None,
    ) -> Self:
        """Fit data that have passed the door (`ribp.likelihoods.door.as_data`)."""
        self._set_columns(data.values.shape[1], dim_names)
        return self._run(data, counts, row_names)

    def adopt(self, result: Result, dim_names: Sequence[str] | None = None) -> Self:
        """Take over a result, as if it had just been fitted."""
        self.result_ = result
        self._set_columns(result.settings["n_dims"], dim_names)
        self._describe()
        return self

    def _set_columns(self, n_dims: int, names: Sequence[str] | None) -> None:
        self.n_features_in_ = n_dims
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _run(self, data: Data, counts: Counts, row_names: Sequence[str] | None) -> Self:
        chosen = checks.one_of("method", self.method, self._METHODS)
        model, grow = self._model(len(data.values), self._moments(data), counts)
        self.result_ = fit(
            model,
            data,
            self._METHODS[chosen],
            grow=grow,
            n_chains=self.n_chains,
            n_warmup=self.n_warmup,
            n_draws=self.n_draws,
            n_jobs=self.n_jobs,
            progress=self.progress,
            checkpoint=self.checkpoint,
            seed=_entropy(self.random_state),
            row_names=row_names,
            dim_names=getattr(self, "feature_names_in_", None),
        )
        return self._told()

    def _told(self) -> Self:
        """Describe what was found, and say what is wrong with it."""
        self._describe()
        for text in self.result_.summary().warnings:
            warnings.warn(text, FitWarning, stacklevel=4)
        return self

    @abstractmethod
    def _model(self, n_rows: int, seen: Moments, counts: Counts) -> tuple[AnyModel, bool]:
        """Return the model, and whether it may grow."""

    def _moments(self, data: Data) -> Moments:
        """Return mean and variance of what was seen, block by block where there is much."""
        n_rows = len(data.values)
        by_blocks = self.method in elsewhere.METHODS and n_rows > sampled_start.SAMPLE
        if by_blocks or n_rows > MANY:
            return moments(data)
        seen = data.values if data.complete else data.values[data.observed]
        return Moments(float(seen.mean()), float(seen.var())) if seen.size else Moments(0.0, 0.0)

    def _describe(self) -> None:
        """Set the attributes that describe the main mode."""
        tree, alignment = self.result_.tree, self.result_.alignment
        likelihood: Any = self.result_.model.likelihood
        draws = aligned_draws(tree, likelihood, None, alignment, with_rows=False)
        each_used = features_in_use(tree, alignment)
        known = np.array(likelihood.known)
        in_use = alignment.in_use.mean(axis=0)
        in_use[: len(known)] = 1.0
        self._kept = np.flatnonzero(in_use >= _IN_USE)
        weights, uses = np.zeros(self._kept.size), np.zeros(self._kept.size)
        components = np.zeros((self._kept.size, self.n_features_in_))
        background = np.zeros(self.n_features_in_)
        for at, given in enumerate(draws.parameters):
            used = each_used[at, self._kept]
            uses += used
            weights += used * expit(draws.log_odds[at, self._kept])
            components += used[:, None] * given.features[self._kept]
            background += given.background
        uses = np.maximum(uses, 1.0)
        many = self.result_.settings["n_rows"] > MANY
        self.row_probs_ = aligned_row_probs(
            tree, alignment, self._kept, np.float32 if many else np.float64
        )
        self.weights_ = weights / uses
        self.components_ = components / uses[:, None]
        self.components_[: len(known)] = known.reshape(-1, self.n_features_in_)
        self.background_ = background / len(draws.parameters)
        self._n_features_out = int(self._kept.size)

    def _data(self, X: Any, *, reset: bool) -> tuple[Data, Sequence[str] | None]:
        """Return data at the door, and names of rows if there are any."""
        index = getattr(X, "index", None)
        names = None
        if (
            index is not None
            and getattr(index, "dtype", None) is not None
            and index.dtype.kind in "OUT"
        ):
            names = [str(name) for name in index]
        values = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=True,
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan",
        )
        return as_data(values), names

    def _likelihood(self, seen: Moments) -> LinearGaussian | PoissonCounts:
        scale = {
            name: None if value == "learn" else checks.positive(name, value)
            for name, value in (
                ("noise_scale", self.noise_scale),
                ("feature_scale", self.feature_scale),
            )
        }
        kind = checks.one_of("likelihood", self.likelihood, ("gaussian", "poisson"))
        background = bool(self.background)
        known = self._known()
        if kind == "poisson":
            mean = seen.mean if seen.mean > 0 else 1.0
            return PoissonCounts(
                background=background,
                feature_scale=scale["feature_scale"],
                prior_mean=mean,
                known=known,
            )
        shared = checks.one_of("noise", self.noise, ("per-dim", "shared")) == "shared"
        variance = seen.variance if seen.variance > 0 else 1.0
        return LinearGaussian(
            shared=shared,
            background=background,
            **scale,
            noise_variance=variance,
            feature_variance=variance if shared else 1.0,
            known=known,
        )

    def _known(self) -> tuple[tuple[float, ...], ...]:
        """Return features that are known, as a likelihood takes them."""
        given = getattr(self, "fixed_components", None)
        if given is None:
            return ()
        array = np.array(given, dtype=np.float64)
        if array.ndim != 2 or not np.isfinite(array).all():
            raise InputError(
                "fixed_components",
                "must be finite numbers of shape (features, dims)",
                f"shape {array.shape}",
                "Pass one row a feature.",
            )
        return tuple(map(tuple, array.tolist()))

    def _learned(self, name: str) -> float | None:
        value = getattr(self, name)
        return None if value == "learn" else checks.positive(name, value)

    # Reading

    def _transform(self, X: Any, counts: Counts) -> FloatArray:
        check_is_fitted(self)
        data, _ = self._data(X, reset=False)
        return np.asarray(self.result_.rows_given(data, counts).probs[:, self._kept])

    def _decode(self, X: Any, counts: Counts) -> Rows:
        check_is_fitted(self)
        data, _ = self._data(X, reset=False)
        return np.asarray(self.result_.decode(data, counts, features=self._kept))

    def _score(self, X: Any, counts: Counts, sample_weight: ArrayLike | None) -> float:
        check_is_fitted(self)
        data, _ = self._data(X, reset=False)
        n_rows, dims = data.values.shape
        entries = np.full(n_rows, dims) if data.complete else data.observed.sum(axis=1)
        weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, float)
        if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise InputError(
                "sample_weight", "must be a number >= 0 for each row", sample_weight, "Correct it."
            )
        total = weights @ self.result_.rows_given(data, counts).log_density
        seen = float(weights @ entries)
        return float(total / seen) if seen > 0 else 0.0

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return the data that rows of features, or of their probabilities, make on average.

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
        return np.asarray(given @ self.components_ + self.background_)

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


def load(path: str | Path) -> RestrictedIBP | IndianBuffet | Result:
    """Return what was saved: an estimator that is fitted, or a `Result`.

    Parameters
    ----------
    path
        A file that `save` has written. Nothing in it can run code.
    """
    result = Result.load(path)
    known = result.estimator
    if known is None:
        return result
    kinds = {"RestrictedIBP": RestrictedIBP, "IndianBuffet": IndianBuffet}
    try:
        made = kinds[known["name"]](**known["parameters"])
        names = known["feature_names_in"]
    except (KeyError, TypeError):
        raise StorageError(
            path, "names an estimator that this ribp does not have", "Upgrade ribp."
        ) from None
    return made.adopt(result, names)


def _entropy(random_state: Any) -> list[int] | int | None:
    """Return whole numbers from which all randomness comes."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    if isinstance(random_state, np.random.Generator):
        return [int(word) for word in random_state.integers(2**32, size=4)]
    if isinstance(random_state, np.random.RandomState):
        return [int(word) for word in random_state.randint(2**31, size=4)]
    raise InputError(
        "random_state",
        "must be None, a whole number, a Generator or a RandomState",
        repr(random_state),
        "Pass for example 0.",
    )


class RestrictedIBP(_Features):
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
        "per-dim": every column has its own noise. "shared": one for all, as in the paper.
    noise_scale, feature_scale
        A number, or "learn". The feature scale is in units of the noise where noise is "per-dim".
    background
        Whether there is something that every row has and nobody counts.
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
    weights_
        The mean probability of each feature, shape (features,).
    row_probs_
        P(row has feature) for the rows that were fitted, shape (rows, features); single precision
        above 50 000 rows.
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
        background: bool = False,
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
        rng = np.random.default_rng(_entropy(random_state))
        return self.result_.sample(rng, checks.integer("n_rows", n_rows), counts)[1]

    def _model(self, n_rows: int, seen: Moments, counts: Counts) -> tuple[Model, bool]:
        counts = self.counts if counts is None else counts
        auto = isinstance(self.max_features, str) and self.max_features == "auto"
        size = 0 if auto else checks.integer("max_features", self.max_features, least=1)
        if counts is None:
            base = [1.0 / (k + 1) for k in range((size or _USUAL_COUNTS) + 1)]
            counts = learned(base)
        laws = as_row_counts(counts, n_rows)
        size = size or capacity.first_guess(laws) + len(self._known())
        model = Model(
            laws,
            size,
            self._likelihood(seen),
            self._learned("mass"),
            self._learned("concentration"),
        )
        return model, auto and self.method != "augmented"

    def _describe(self) -> None:
        super()._describe()
        self.counts_ = _found(self.result_)


class IndianBuffet(_Features):
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

    def __init__(
        self,
        method: str = "gibbs",
        *,
        max_features: int | Literal["auto"] = "auto",
        likelihood: str = "gaussian",
        mass: float | Learned = "learn",
        concentration: float = 1.0,
        noise: str = "per-dim",
        noise_scale: float | Learned = "learn",
        feature_scale: float | Learned = "learn",
        background: bool = False,
        n_chains: int = 4,
        n_warmup: int = 500,
        n_draws: int = 500,
        n_jobs: int | None = None,
        progress: ProgressOption = "auto",
        checkpoint: str | Path | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.max_features = max_features
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

    def fit(self, X: Any, y: object = None) -> Self:
        """Find the features of data; X as in `RestrictedIBP.fit`."""
        return self._fit(X, None)

    def transform(self, X: Any) -> FloatArray:
        """Return P(feature is active | row), shape (rows, features)."""
        return self._transform(X, None)

    def decode(self, X: Any) -> Rows:
        """Return 0/1 rows: features that are more likely than not, shape (rows, features)."""
        return self._decode(X, None)

    def score(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log density of an observed entry, features of the row summed out."""
        return self._score(X, None, sample_weight)

    def sample(self, n_rows: int = 1, random_state: Any = None) -> FloatArray:
        """Return new data from the posterior predictive, shape (rows, dims)."""
        check_is_fitted(self)
        rng = np.random.default_rng(_entropy(random_state))
        return self.result_.sample(rng, checks.integer("n_rows", n_rows))[1]

    def _model(self, n_rows: int, seen: Moments, counts: Counts) -> tuple[AnyModel, bool]:
        likelihood = self._likelihood(seen)
        if isinstance(likelihood, PoissonCounts):
            raise InputError(
                "likelihood", 'must be "gaussian" for IndianBuffet', "poisson", "Use RestrictedIBP."
            )
        mass = self._learned("mass")
        concentration = checks.positive("concentration", self.concentration)
        if self.method == "gibbs":
            return BuffetModel(n_rows, likelihood, mass, concentration), False
        size = min(_USUAL_FEATURES, n_rows)
        if self.max_features != "auto":
            size = checks.integer("max_features", self.max_features, least=1)
        return FiniteBuffetModel(n_rows, size, likelihood, mass, concentration), False


def _found(result: Result) -> CountLaw | RowCounts:
    """Return the count laws of a fit, those that were learned at their posterior mean."""
    assert isinstance(result.model, Model)
    counts = result.model.counts
    if not any(hasattr(law, "draw_table") for law in counts.laws):
        return counts.laws[0] if len(counts.laws) == 1 else counts
    probs = result.count_probs()
    laws = [
        table(probs[at]) if hasattr(law, "draw_table") else law
        for at, law in enumerate(counts.laws)
    ]
    return laws[0] if len(laws) == 1 else RowCounts(tuple(laws), counts.index)
