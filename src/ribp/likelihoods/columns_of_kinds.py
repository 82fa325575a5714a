"""A table whose columns are of different kinds: features add to latent numbers.

    eta_nl = b_l + sum_i z_ni A_il,         x_nd ~ the kind of column d, given its eta,

    A_il ~ N(0, a^2 v_l),  b_l ~ N(m_l, 3^2 v_l),  a^2 ~ InvGamma(2, 1/2),  own ~ N(start, 1/2^2),

v_l = 1, and 1/2 for unordered levels (`ribp.kinds`). Rows may have exposures, given with the data:
the logarithm of that of row n is added to eta_nl of columns that count events. Nothing is
augmented: rows are weighed directly, and a missing entry drops out of every sum. Numbers are in
units of their own noise, so that one feature scale a serves all kinds. Features are updated by
Newton-Metropolis steps, which ask all rows for sums (`ribp.likelihoods.kind_steps`). What the
levels of a feature in a column with unordered levels have in common is not seen by the data: it is
drawn from its prior in every sweep and never reported, components are contrasts. The first features
may be known: they are part of eta, and no prior weighs them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.kinds.kind import Kind
from ribp.likelihoods import exposures
from ribp.likelihoods.data import BoolArray, Data, Rows, exact_sums, in_use, put_known, shown
from ribp.likelihoods.kind_columns import Column
from ribp.likelihoods.kind_rows import RowsOfKinds
from ribp.likelihoods.kind_steps import OWN_DEVIATION, Steps
from ribp.likelihoods.likelihood import Ask, Asked, asked_in_memory
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.likelihoods.moments import Moments

BACKGROUND_WIDTH = 3.0
"""Prior standard deviation of the background."""
_SHAPE = 2.0  # of the inverse gamma law
_VARIANCE = 1.0


class KindsParameters(NamedTuple):
    """Features and own numbers of a table of kinds."""

    features: FloatArray
    """A, shape (features, latent columns)."""
    background: FloatArray
    """b, shape (latent columns,)."""
    feature_scale: float
    """a, the prior standard deviation of an entry of A."""
    own: FloatArray
    """What columns have of their own, one after another."""


class KindSums(NamedTuple):
    """What features need: which are in use, and somebody who asks all rows."""

    used: BoolArray
    ask: Ask


@dataclass(frozen=True)
class ColumnsOfKinds(RowsOfKinds):
    """The likelihood of a table of kinds.

    Parameters
    ----------
    columns
        Kind and prior of each column.
    background
        There is always one.
    feature_scale
        a: a number to keep it fixed; None to learn it.
    known
        The first rows of A, if they are known: on the scale of eta, one number a latent column.
    exposure, exposure_unit
        "given" if rows come with exposures, which act on columns of counts; and their mean.
    """

    columns: tuple[Column, ...] = ()
    background: bool = True
    feature_scale: float | None = None
    known: tuple[tuple[float, ...], ...] = ()
    exposure: str = "one"
    exposure_unit: float = 1.0

    parameters_type: ClassVar[type] = KindsParameters
    always_background: ClassVar[bool] = True
    takes_exposure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.one_of("exposure", self.exposure, exposures.MODES[:2])

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of each column."""
        return tuple(column.kind for column in self.columns)

    @classmethod
    def of(cls, asked: Asked, columns: tuple[Column, ...]) -> Self:
        """Return the likelihood that users ask for, of these columns."""
        cls._check_exposure(asked.exposure, columns)
        nothing = Moments(*np.zeros((3, len(columns))))
        made = replace(cls.make(asked._replace(background=True), nothing), columns=columns)
        made._check_known()
        known = made._contrasts(made.known_features).tolist() if asked.known else []
        return replace(made, known=tuple(map(tuple, known)))

    def _check_known(self) -> None:
        """Raise an `InputError` unless known features have a number for each latent column."""
        width, number = {len(row) for row in self.known}, self.places.n_latent
        if width - {number}:
            raise InputError(
                "fixed_components",
                f"must have {number} columns: one for each column of X, and one for each level of "
                "those whose levels have no order",
                f"{max(width - {number})} columns",
                "Pass features as `components_` has them.",
            )

    @staticmethod
    def _check_exposure(mode: str, columns: tuple[Column, ...]) -> None:
        if mode != "one" and not any(column.kind.has_rate for column in columns):
            raise InputError(
                "exposure",
                "must be left out where no column counts events",
                ", ".join(sorted({column.kind.name for column in columns})),
                'Make columns of counts "log-poisson" or "negbin", or leave it out.',
            )
        if mode == "learn":
            raise InputError(
                "exposure",
                "must be a number a row where columns have kinds",
                mode,
                'Pass numbers, leave it out, or fit counts with likelihood="poisson".',
            )

    def check(self, n_dims: int, not_a_count: object = None) -> None:
        """Raise an `InputError` unless data have the columns of the fit."""
        if n_dims != len(self.columns):
            raise InputError(
                "X",
                f"must have the {len(self.columns)} columns whose kinds are known",
                f"{n_dims} columns",
                "Pass the same columns in the same order.",
            )

    def check_values(self, data: Data, names: Any = None) -> None:
        """Raise an `InputError` if some entry cannot be of its kind."""
        seen = shown(data)
        for d, column in enumerate(self.columns):
            values = data.values[seen[:, d], d]
            wrong = values[~column.kind.possible(values)]
            if wrong.size:
                name = d if names is None else repr(str(names[d]))
                raise InputError(
                    "X",
                    f"must hold {column.kind.rule} in column {name}, which is {column.kind.name}",
                    f"{wrong[0]:g}",
                    "Correct the entry, leave it empty, or choose another kind.",
                )

    # Units

    def standard(self, data: Data) -> Data:
        """Return data in standard units."""
        at = [d for d, column in enumerate(self.columns) if column.kind.has_units]
        values = data.values.copy() if at else data.values
        for d in at:
            values[:, d] = self.columns[d].standard(values[:, d])
        if at and not data.complete:
            values[~data.observed] = 0.0
        return data._replace(values=values)

    @property
    def log_volume(self) -> float:
        """What log densities of data in standard units lose in the units of the user."""
        return math.fsum(column.log_volume for column in self.columns)

    def row_log_volume(self, data: Data) -> FloatArray:
        """Return the same of some rows, shape (rows,)."""
        terms = np.zeros(data.shape)
        for d, column in enumerate(self.columns):
            if column.kind.has_units:
                terms[:, d] = column.log_volumes(data.values[:, d])
        return exact_sums(terms, shown(data))

    def reported(self, parameters: KindsParameters) -> KindsParameters:
        """Return parameters in the units of the user, levels as contrasts."""
        given = self._in_units(parameters, 1.0)
        return given._replace(
            features=self._contrasts(given.features), background=self._contrasts(given.background)
        )

    def _contrasts(self, numbers: FloatArray) -> FloatArray:
        """Return latent numbers, those of unordered levels less their mean."""
        numbers = numbers.copy()
        for d in self.places.levels.tolist():
            at = self.places.latent(d)
            numbers[..., at] -= numbers[..., at].mean(axis=-1, keepdims=True)
        return numbers

    def standardised(self, parameters: KindsParameters) -> KindsParameters:
        """Return parameters, given in the units of the user, in standard units."""
        return self._in_units(parameters, -1.0)

    def _in_units(self, parameters: KindsParameters, sign: float) -> KindsParameters:
        """Return parameters with noise and background of numbers in other units."""
        own, background = parameters.own.copy(), parameters.background.copy()
        for d, column in enumerate(self.columns):
            if column.kind.has_units:
                at, here = int(self.places.own_at[d]), int(self.places.at[d])
                noise = own[at] if sign < 0 else own[at] + math.log(column.spread)
                background[here] += sign * column.mean / math.exp(noise)
                own[at] += sign * math.log(column.spread)
        return parameters._replace(own=own, background=background)

    # To begin with

    def first_guess(self, data: Data, n_features: int) -> KindsParameters:
        """Return parameters of the size of the data."""
        places = self.places
        features = np.zeros((n_features, places.n_latent))
        put_known(self.known_features, features)
        return KindsParameters(
            features, places.centre.copy(), self.feature_scale or 1.0, places.start.copy()
        )

    def linearised(self, data: Data) -> tuple[LinearGaussian, Data]:
        """Return a Gaussian model that looks for the same rows: columns of equal variance."""
        places, seen = self.places, shown(data)
        values, observed = np.zeros((len(seen), places.n_latent)), seen[:, places.column]
        for d, column in enumerate(self.columns):
            own = data.each_exposure if column.kind.has_rate else 1.0
            values[:, places.latent(d)] = column.kind.linear(data.values[:, d] / own)
        number = np.maximum(observed.sum(axis=0), 1)
        values = np.where(observed, values, 0.0)
        values = np.where(observed, values - values.sum(axis=0) / number, 0.0)
        spread = np.sqrt((values**2).sum(axis=0) / number)
        values /= np.where(spread > 0, spread, 1.0)
        hidden = data.observed if data.complete else observed
        return LinearGaussian(background=True), Data(values, hidden)

    # Simulation

    def draw_prior(self, rng: np.random.Generator, n_features: int, dims: int) -> KindsParameters:
        """Draw the feature scale, then everything else."""
        places = self.places
        scale = self.feature_scale or math.sqrt(0.5 * _VARIANCE / rng.standard_gamma(_SHAPE))
        sizes = np.sqrt(places.variance)
        features = scale * sizes * rng.standard_normal((n_features, places.n_latent))
        background = places.centre + BACKGROUND_WIDTH * sizes * rng.standard_normal(places.n_latent)
        own = places.start + OWN_DEVIATION * rng.standard_normal(places.start.size)
        put_known(self.known_features, features)
        return KindsParameters(features, background, scale, own)

    def draw_data(
        self,
        rng: np.random.Generator,
        rows: Rows,
        parameters: KindsParameters,
        own: FloatArray | None = None,
    ) -> FloatArray:
        """Draw X, given exposures `own` if rows have any."""
        eta = self.exposed(self.means(rows, parameters), own)
        return self._by_column(
            len(eta),
            lambda d, at, own: self.columns[d].kind.draw(rng, eta[:, at], parameters.own[own]),
        )

    # Parameters given rows and data

    def swept_sums(self, swept: int, used: BoolArray, ask: Ask) -> KindSums:
        """Return who asks all rows: a sweep has added up nothing."""
        return KindSums(used, ask)

    def sums(
        self, rng: np.random.Generator, data: Data, rows: Rows, parameters: KindsParameters
    ) -> KindSums:
        """Return the same of data in memory."""
        return KindSums(in_use(rows), asked_in_memory(data, rows))

    def draw(
        self, rng: np.random.Generator, parameters: KindsParameters, sums: KindSums
    ) -> KindsParameters:
        """Take a step of all features and own numbers, and draw their scale."""
        features, background, scale, own = parameters
        places, free = self.places, np.arange(len(features)) >= len(self.known)
        used, unused = np.flatnonzero(sums.used & free), np.flatnonzero(~sums.used & free)
        steps = Steps(
            rng, sums.ask, places, features, background, own, scale, BACKGROUND_WIDTH,
            len(self.known),
        )  # fmt: skip
        steps.take(used)
        features, background = steps.features, steps.background
        if self.feature_scale is None:
            squares = features[used] ** 2 / places.variance
            rate = 0.5 * (_VARIANCE + float(squares.sum()))
            scale = math.sqrt(rate / rng.standard_gamma(_SHAPE + 0.5 * squares.size))
        sizes = np.sqrt(places.variance)
        features[unused] = scale * sizes * rng.standard_normal((unused.size, places.n_latent))
        self._draw_common(rng, features[len(self.known) :], background, scale)
        return KindsParameters(features, background, scale, steps.own)

    def _draw_common(
        self, rng: np.random.Generator, features: FloatArray, background: FloatArray, scale: float
    ) -> None:
        """Draw what unordered levels have in common, which the data do not see, in place."""
        for d in self.places.levels.tolist():
            at, number = self.places.latent(d), int(self.places.width[d])
            size = math.sqrt(self.columns[d].kind.variance / number)
            common = scale * size * rng.standard_normal(len(features))
            features[:, at] += (common - features[:, at].mean(axis=1))[:, None]
            centre = float(self.places.centre[at].mean())
            common_b = centre + BACKGROUND_WIDTH * size * float(rng.standard_normal())
            background[at] += common_b - background[at].mean()

    # Weighing

    def log_joint(self, data: Data, rows: Rows, parameters: KindsParameters) -> float:
        """Return log p(X, parameters | Z), features that no row has integrated out."""
        terms = self.summed_log_terms(data, rows, parameters)
        return terms + self._log_prior(parameters, in_use(rows))

    def log_weight(self, parameters: KindsParameters, sums: KindSums) -> float:
        """Return log p(parameters | Z): the rest is `log_terms`."""
        return self._log_prior(parameters, sums.used)

    def _log_prior(self, parameters: KindsParameters, used: BoolArray) -> float:
        """Return the log density of parameters, the feature scale as log a^2."""
        places, scale = self.places, parameters.feature_scale
        size = np.sqrt(places.variance)
        free = used & (np.arange(used.size) >= len(self.known))
        value = _normal(parameters.features[free], scale * size)
        value += _normal(parameters.background - places.centre, BACKGROUND_WIDTH * size)
        value += _normal(parameters.own - places.start, np.float64(OWN_DEVIATION))
        if self.feature_scale is None:
            rate = 0.5 * _VARIANCE / scale**2
            value += _SHAPE * math.log(rate) - rate - float(gammaln(_SHAPE))
        return value


def _normal(values: FloatArray, deviation: FloatArray | np.float64) -> float:
    """Return the sum of log densities of normal numbers around zero."""
    size = np.broadcast_to(deviation, values.shape)
    return float((-0.5 * (values / size) ** 2 - np.log(size * math.sqrt(2.0 * math.pi))).sum())
