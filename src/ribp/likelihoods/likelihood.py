"""What a likelihood is: the law of data given rows, and of its own parameters. One file each.

A likelihood can simulate data and parameters, weigh them, and draw both rows and parameters given
everything else. Rows may be anywhere: parameters are drawn from sums over rows (`draw`), which a
sweep over blocks of rows makes (`row_work`). And it reads a posterior: predictions, held-out
scores, residuals and the densities of new rows ask for the law of an entry given what the features
of its row make of it, M = E[x | z].

A new one inherits from `Likelihood`, a frozen dataclass with fields `background` and `known`, and
writes what raises `NotImplementedError` here; the rest follows, and may be written anew where there
is a quicker way. Unless it says otherwise its data have no units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from scipy.special import ndtri

from ribp.blocks import sum_blocks
from ribp.checks import FloatArray, IntArray
from ribp.entries import BINARY, EntryLaw
from ribp.errors import InputError
from ribp.likelihoods import any_rows
from ribp.likelihoods.data import BoolArray, Data, Parameters, Rows, shown
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.row_sweeps import RowPrior, Work

P = TypeVar("P", bound=Parameters)
_LEAST = 1e-300  # of a probability
_SWEEPS = 4  # over rows that are drawn again


Question = Callable[[Data, Rows], Any]
"""Makes something that can be added up of a block of data and rows: a frozen dataclass, if it has
to reach other machines."""
Ask = Callable[[Question], Any]
"""Returns the sum over all rows of what a question makes of blocks of them, wherever they are."""


class Asked(NamedTuple):
    """What users can ask of any likelihood; what it has no use for it refuses."""

    background: bool = False
    known: tuple[tuple[float, ...], ...] = ()
    noise: str = "per-dim"
    noise_scale: float | None = None
    feature_scale: float | None = None
    strength_law: str = "around-one"
    restrict: str = "nonzeros"
    failures: float = 1.0
    exposure: str = "one"


class RowKernels(NamedTuple):
    """What sums the features of rows out, for `ribp.posterior.row_posterior`."""

    values: FloatArray
    """Shape (rows, dims); zero where missing."""
    observed: BoolArray
    """Shape (rows, dims), also if nothing is missing."""
    constants: FloatArray
    """What the kernels leave out of log p(x), shape (rows,)."""
    features: tuple[Any, ...]
    """What the kernels take of the parameters."""
    enumerate: Callable[..., None] | None
    """None if even one z costs an integral that has no closed form: rows are annealed, always."""
    anneal: Callable[..., None]
    sized: bool = False
    """Whether entries have sizes, whose means they fill as well."""
    own: tuple[FloatArray, ...] = ()
    """What they take of each row beside its data, before the features: shape (rows,)."""


class Likelihood(ABC, Generic[P]):
    """The law of data given rows, with parameters P."""

    background: bool
    """Whether there is a feature that every row has and no count law counts."""
    known: tuple[tuple[float, ...], ...]
    """The first features, if they are known, in the units of the user."""

    parameters_type: ClassVar[type]
    """The NamedTuple of its parameters."""
    description: str = "entries of a kind of their own"
    """What users are told of the data."""
    scales: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Parameters beside features and background that a result stores, and their dimensions."""
    entries: ClassVar[str] = "binary"
    """What a row has: 0 and 1, or entries with a size (rows are then doubles)."""
    entry_law: EntryLaw = BINARY
    """The law of rows given weights, and what count laws restrict."""
    integrates_features: ClassVar[bool] = False
    """Whether it is linear and Gaussian, so that features can be integrated out."""
    empty_rows_are_zero: ClassVar[bool] = False
    """Whether a row without features and background can only be zero."""
    always_background: ClassVar[bool] = False
    """Whether there is no model without a background."""
    summable: ClassVar[bool] = False
    """Whether sums that were made before parameters were drawn tell all of the log joint."""
    integrates_sizes: ClassVar[bool] = False
    """Whether it knows `sizes_log_density`, by which starts with sizes are compared."""
    takes_exposure: ClassVar[bool] = False
    """Whether rows may have exposures (`ribp.likelihoods.exposures`)."""
    exposure: str = "one"
    """What is known of them: there are none, they are "given", or one has to "learn" them."""

    @classmethod
    def make(cls, asked: Asked, seen: Moments) -> Self:
        """Return the likelihood that users ask for, of columns with these moments."""
        fields = cls.__dataclass_fields__  # type: ignore[attr-defined]
        made = cls(**{name: v for name, v in asked._asdict().items() if name in fields})
        made._check_unused(asked)
        return made

    def _check_unused(self, asked: Asked) -> None:
        """Raise an `InputError` if users ask for something that this likelihood has no use for."""
        fields = self.__dataclass_fields__  # type: ignore[attr-defined]
        for name, value in asked._asdict().items():
            if name not in fields and value != Asked._field_defaults[name]:
                rule = f"must be left alone where data are {self.description}"
                raise InputError(name, rule, value, f"Leave out {name}.")

    # Units

    @property
    def known_features(self) -> FloatArray:
        """The features that are known, in standard units, shape (known features, dims)."""
        return np.array(self.known)

    @property
    def log_volume(self) -> float:
        """What log densities of data in standard units lose in the units of the user."""
        return 0.0

    def standard(self, data: Data) -> Data:
        """Return data in standard units, in which all other methods want them."""
        return data

    def reported(self, parameters: P) -> P:
        """Return parameters in the units of the user."""
        return parameters

    def standardised(self, parameters: P) -> P:
        """Return parameters, given in the units of the user, in standard units."""
        return parameters

    def row_log_volume(self, data: Data) -> FloatArray:
        """Return what log densities of rows lose in the units of the user, shape (rows,)."""
        return np.zeros(len(data.values))

    # What can be, and where to begin

    @abstractmethod
    def check(self, n_dims: int, not_a_count: tuple[int, int, float] | None) -> None:
        """Raise an `InputError` if no parameters could give data with so many columns.

        `not_a_count`: row, column and value of an entry that is no count, if there is one.
        """

    def check_range(self, low: FloatArray, high: FloatArray) -> None:
        """Raise an `InputError` if the smallest or largest entry of a column cannot be."""

    def check_values(self, data: Data, names: Sequence[Any] | None = None) -> None:
        """Raise an `InputError` if some entry cannot be; `names` are those of the columns."""

    @abstractmethod
    def first_guess(self, data: Data, n_features: int) -> P:
        """Return parameters of the size of the data, to start from."""

    @abstractmethod
    def linearised(self, data: Data) -> tuple[Any, Data]:
        """Return a `LinearGaussian` and data for which a search for rows may stand in for ours."""

    # Simulation

    @abstractmethod
    def draw_prior(self, rng: np.random.Generator, n_features: int, dims: int) -> P:
        """Draw parameters from their prior."""

    def draw_sizes(self, rng: np.random.Generator, rows: Rows, parameters: P) -> Any:
        """Return rows whose entries have sizes, drawn from their law; binary ones as they are."""
        return rows

    @abstractmethod
    def draw_data(self, rng: np.random.Generator, rows: Rows, parameters: P) -> FloatArray:
        """Draw complete data given rows and parameters."""

    # Rows and parameters given data

    def signs(self, parameters: P) -> FloatArray:
        """Return 1 or -1 for each feature: by what it, and its sizes, are multiplied in results."""
        return np.ones(len(parameters.features))

    def of_rows(self, rows: Rows, parameters: P) -> P:
        """Return parameters that know what they must of the sizes of entries."""
        return parameters

    def rescaled(self, rng: np.random.Generator, parameters: P) -> P:
        """Return parameters after a move that rows follow in the next sweep."""
        return parameters

    @abstractmethod
    def row_work(self, seed: np.uint64, number: int, parameters: P, prior: RowPrior) -> Work[Any]:
        """Return what a sweep does to a block of rows."""

    @abstractmethod
    def swept_sums(self, swept: Any, used: BoolArray, ask: Ask) -> Any:
        """Return what `draw` and `log_weight` need of rows.

        From what a sweep has added up, and which features are in use. `ask` is for what must be
        known of all rows while parameters change.
        """

    @abstractmethod
    def sums(self, rng: np.random.Generator, data: Data, rows: Rows, parameters: P) -> Any:
        """Return the same of data in memory; part of it may be drawn."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, parameters: P, sums: Any) -> P:
        """Draw new parameters given the sums over data and rows."""

    def update(self, rng: np.random.Generator, data: Data, rows: Rows, parameters: P) -> P:
        """Draw new parameters given data and rows in memory."""
        return self.draw(rng, parameters, self.sums(rng, data, rows, parameters))

    # Weighing

    @abstractmethod
    def log_weight(self, parameters: P, sums: Any) -> float:
        """Return log p(X, parameters | Z), but for what `log_terms` adds."""

    def log_terms(self, data: Data, rows: Rows, parameters: P) -> float:
        """Return the part of log p(X, parameters | Z) that no sums can tell, for a block of rows.

        Zero where `summable`.
        """
        means = self.exposed(self.means(rows, parameters), data.exposures)
        terms = self.log_density(data.values, means, parameters)
        return float(terms.sum() if data.complete else terms[data.observed].sum())

    def summed_log_terms(self, data: Data, rows: Rows, parameters: P) -> float:
        """Return the same of all rows of data in memory."""
        return float(asked_in_memory(data, rows)(LogTerms(self, parameters)) or 0.0)

    @abstractmethod
    def log_joint(self, data: Data, rows: Rows, parameters: P) -> float:
        """Return log p(X, parameters | Z), features integrated out where that is possible."""

    # Parameters

    def recorded(self, parameters: Any) -> dict[str, Any]:
        """Return the scales of a draw, as a result stores them."""
        return {name: np.array(getattr(parameters, name)) for name in self.stored_scales()}

    def stored_scales(self) -> Mapping[str, tuple[str, ...]]:
        """Return which scales a result stores, and their dimensions."""
        return self.scales

    def latent_names(self, names: Sequence[Any]) -> list[str] | None:
        """Return the names of what features act on; None if that is the columns themselves.

        `names` are those of the columns, or their numbers.
        """
        return None

    def event_names(self, names: Sequence[Any]) -> list[str] | None:
        """Return the names of events whose probabilities features change; None if they add."""
        return None

    def columns_of_events(self) -> IntArray:
        """Return the column of each event."""
        raise NotImplementedError

    def event_probs(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the probabilities of these events, shape (rows, events)."""
        raise NotImplementedError

    def own_names(self, names: Sequence[Any]) -> list[str]:
        """Return the names of numbers, beside scales, that columns have of their own."""
        return []

    def read(self, features: FloatArray, background: FloatArray, scales: dict[str, Any]) -> Any:
        """Return the parameters of a draw that was stored."""
        return self.parameters_type(features=features, background=background, **scales)

    def on_columns(self, parameters: Any, columns: BoolArray) -> tuple[Likelihood[Any], Any]:
        """Return the likelihood and the parameters of some of the columns."""
        return self, parameters._replace(
            features=parameters.features[:, columns], background=parameters.background[columns]
        )

    def loadings(self, parameters: Any) -> FloatArray:
        """Return features in units of the noise, shape (features, dims)."""
        loadings: FloatArray = parameters.features
        return loadings

    # Entries

    def means(self, rows: Rows, parameters: Any) -> FloatArray:
        """Return M, what features make of all entries: E[x | z], unless it is written anew."""
        return np.asarray(rows.astype(np.float64) @ parameters.features + parameters.background)

    def exposed(self, means: FloatArray, own: FloatArray | None) -> FloatArray:
        """Return M of rows with these exposures: times them; None or (0,) without any."""
        return means if own is None or not own.size else means * own[:, None]

    def n_dims(self, parameters: Any) -> int:
        """Return how many columns data have."""
        return int(parameters.features.shape[1])

    def expectations(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return E[x | z] of all entries, shape (rows, dims)."""
        return means

    def typical(self, means: FloatArray, own: FloatArray) -> FloatArray:
        """Return the value that stands for each entry, given M and what columns have."""
        return means

    def summarised(
        self, pairs: Iterable[tuple[FloatArray, Any]], shape: tuple[int, int]
    ) -> tuple[FloatArray, FloatArray]:
        """Return a centre and a spread of each entry over draws of M and parameters.

        Mean and standard deviation: Var[x] = mean_s V_s + var_s E_s.
        """
        mean, squares, variance = (np.zeros(shape) for _ in range(3))
        number = 0
        for means, parameters in pairs:
            number += 1
            expected = self.expectations(means, parameters)
            step = expected - mean
            mean += step / number
            squares += step * (expected - mean)
            variance += (self.variances(means, parameters) - variance) / number
        return mean, np.sqrt(variance + squares / max(number, 1))

    def variances(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return Var[x | z], of a shape that goes with (rows, dims)."""
        raise NotImplementedError

    def log_density(self, values: FloatArray, means: FloatArray, parameters: Any) -> FloatArray:
        """Return log p(x | z) of each entry, shape (rows, dims)."""
        raise NotImplementedError

    def tails(
        self, values: FloatArray, means: FloatArray, parameters: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(X < x | z) and P(X > x | z) of each entry."""
        raise NotImplementedError

    def residuals(
        self, rng: np.random.Generator, values: FloatArray, means: FloatArray, parameters: Any
    ) -> FloatArray:
        """Return entries as standard normal numbers, if the model is right.

        Phi^{-1}(u), u uniform between P(X < x) and P(X <= x) (randomised quantile residuals),
        precise in both tails.
        """
        share = rng.random(values.shape)
        below, above = self.tails(values, means, parameters)
        at = np.maximum(1.0 - below - above, 0.0)
        low = np.maximum(below + share * at, _LEAST)
        high = np.maximum(above + (1.0 - share) * at, _LEAST)
        return np.asarray(np.where(low < high, ndtri(low), -ndtri(high)))

    def column_log_density(self, seen: Data, values: FloatArray) -> FloatArray:
        """Return what a model without features says of entries, given what was seen of columns."""
        raise NotImplementedError

    def left_out_log_density(self, data: Data) -> FloatArray:
        """Return the same of each entry given the others of its column; NaN if they do not tell."""
        raise NotImplementedError

    def sizes_log_density(self, data: Data, rows: Rows, parameters: Any) -> float:
        """Return log p(sizes | data, which entries are on, parameters)."""
        raise NotImplementedError

    @property
    def kinds(self) -> tuple[Any, ...] | None:
        """The kind of each column, where columns have kinds of their own."""
        return None

    # Rows

    def working(self, data: Data, parameters: Any) -> tuple[Data, FloatArray]:
        """Return data for which rows are about linear and Gaussian, and variances of columns."""
        usual = parameters.background + parameters.features.mean(axis=0)
        return data, np.maximum(usual, 1e-3)

    def beside_features(self, data: Data) -> FloatArray:
        """Return numbers that features add up to, about, to look for known ones among rows."""
        return data.values

    def redrawn(
        self,
        rng: np.random.Generator,
        data: Data,
        rows: Rows,
        parameters: Any,
        prior: RowPrior,
        law_of_row: IntArray,
    ) -> Rows:
        """Return rows after a few sweeps given the features."""
        seed, rows = rng.integers(2**63, dtype=np.uint64), rows.copy()
        for number in range(_SWEEPS):
            work = self.row_work(seed, number, parameters, prior)
            work(0, data, law_of_row, rows)
        return rows

    def row_log_density(
        self, values: FloatArray, observed: BoolArray, rows: Rows, parameters: Any
    ) -> FloatArray:
        """Return log p(x_n | z_n) of rows, shape (rows,)."""
        terms = self.log_density(values, self.means(rows, parameters), parameters)
        return np.asarray(np.where(observed, terms, 0.0).sum(axis=1))

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for kernels that sum z out; these ask `row_log_density`."""

        def log_likelihood(values: FloatArray, observed: BoolArray, rows: Rows) -> FloatArray:
            return self.row_log_density(values, observed, rows, parameters)

        nothing = np.zeros(len(data.values))
        return RowKernels(
            data.values,
            shown(data),
            nothing,
            (log_likelihood,),
            any_rows.enumerate_all,
            any_rows.anneal,
        )


@dataclass(frozen=True, eq=False)
class LogTerms:
    """The question of `Likelihood.log_terms`."""

    likelihood: Likelihood[Any]
    parameters: Any

    def __call__(self, data: Data, rows: Rows) -> float:
        """Return the sum over a block of rows."""
        return self.likelihood.log_terms(data, rows, self.parameters)


def asked_in_memory(data: Data, rows: Rows) -> Ask:
    """Return who asks all rows of data in memory."""

    def ask(question: Question) -> Any:
        return sum_blocks(lambda at: question(data.rows(at), rows[at]), len(rows), 1, None)

    return ask
