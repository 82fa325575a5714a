"""What is asked of the linear-Gaussian likelihood, and its standard units.

Settings are in the units of the user. Everything else happens in standard units
(`ribp.likelihoods.units`): `standard` brings data there, `reported` brings parameters back.
Without `units` data are taken as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.likelihoods.data import Data, check_known, put_known
from ribp.likelihoods.gaussian_entries import GaussianEntryLaw
from ribp.likelihoods.likelihood import Asked
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.units import MOST_RATIO, Units, scaled

BACKGROUND_WIDTH = 10.0
"""Prior standard deviation of the background, in units of that of a feature."""


class GaussianParameters(NamedTuple):
    """Features and scales of the linear-Gaussian model."""

    features: FloatArray
    """A, shape (features, dims)."""
    background: FloatArray
    """b, shape (dims,); zero without a background."""
    noise_scale: FloatArray
    """s, shape (dims,)."""
    feature_scale: float
    """t with noise per dimension, a = t s with shared noise."""


@dataclass(frozen=True)
class GaussianSettings(GaussianEntryLaw):
    """The settings of a linear-Gaussian likelihood.

    Parameters
    ----------
    shared
        Whether all columns have the same noise.
    background
        Whether there is a feature that every row has and no count law counts.
    noise_scale, feature_scale
        A number to keep it fixed, in the units of the user; None to learn it.
    noise_variance, feature_variance
        v and u of the inverse gamma priors, in standard units.
    known
        The first rows of A, if they are known, in the units of the user.
    units
        Standard units of the columns; None to take data as they are.
    """

    shared: bool = False
    background: bool = False
    noise_scale: float | None = None
    feature_scale: float | None = None
    noise_variance: float = 1.0
    feature_variance: float = 1.0
    known: tuple[tuple[float, ...], ...] = ()
    units: Units | None = None

    parameters_type: ClassVar[type] = GaussianParameters
    integrates_features: ClassVar[bool] = True
    summable: ClassVar[bool] = True

    @classmethod
    def make(cls, asked: Asked, seen: Moments) -> Self:
        """Return the likelihood that users ask for, in the units of these columns."""
        shared = checks.one_of("noise", asked.noise, ("per-dim", "shared")) == "shared"
        units = Units.of(seen, shared=shared)
        _check_ratios(asked.noise_scale, asked.feature_scale, shared, units)
        return cls(
            shared=shared,
            background=asked.background,
            noise_scale=asked.noise_scale,
            feature_scale=asked.feature_scale,
            known=asked.known,
            units=units,
        )

    def check(self, n_dims: int, not_a_count: object = None) -> None:
        """Any finite data will do that have as many columns as known features, and units."""
        check_known(self.known, n_dims)
        if self.units is not None and len(self.units.spread) != n_dims:
            raise InputError(
                "X",
                f"must have the {len(self.units.spread)} columns of the fit",
                f"{n_dims} columns",
                "Pass the same columns in the same order.",
            )

    # Settings in standard units

    @cached_property
    def known_features(self) -> FloatArray:
        """The features that are known, shape (known features, dims)."""
        known = np.array(self.known)
        return known if self.units is None or not self.known else known / self.units.spreads

    @cached_property
    def fixed_noise(self) -> FloatArray | float | None:
        """The noise that was asked for, if it is not learned."""
        if self.noise_scale is None or self.units is None:
            return self.noise_scale
        return np.asarray(self.noise_scale / self.units.spreads)

    @cached_property
    def fixed_size(self) -> float | None:
        """The feature scale that was asked for; with noise per dimension it has no unit."""
        if self.feature_scale is None:
            return None
        return self.feature_scale / self._size_unit

    @cached_property
    def _size_unit(self) -> float:
        return self.units.spread[0] if self.shared and self.units is not None else 1.0

    @cached_property
    def _centre(self) -> FloatArray | float:
        return self.units.means if self.background and self.units is not None else 0.0

    # From the units of the user to standard units, and back

    def standard(self, data: Data) -> Data:
        """Return data in standard units."""
        return data if self.units is None else scaled(data, self._centre, self.units.spreads)

    def reported(self, parameters: GaussianParameters) -> GaussianParameters:
        """Return parameters in the units of the user."""
        if self.units is None:
            return parameters
        features = parameters.features * self.units.spreads
        put_known(np.array(self.known), features)
        return parameters._replace(
            features=features,
            background=parameters.background * self.units.spreads + self._centre,
            noise_scale=parameters.noise_scale * self.units.spreads,
            feature_scale=parameters.feature_scale * self._size_unit,
        )

    def standardised(self, parameters: GaussianParameters) -> GaussianParameters:
        """Return parameters, given in the units of the user, in standard units."""
        if self.units is None:
            return parameters
        return parameters._replace(
            features=parameters.features / self.units.spreads,
            background=(parameters.background - self._centre) / self.units.spreads,
            noise_scale=parameters.noise_scale / self.units.spreads,
            feature_scale=parameters.feature_scale / self._size_unit,
        )

    @property
    def log_volume(self) -> float:
        """What log densities of the data in standard units lose in the units of the user."""
        return 0.0 if self.units is None else self.units.log_volume

    def row_log_volume(self, data: Data) -> FloatArray:
        """Return the same of some rows, shape (rows,)."""
        if self.units is None:
            return np.zeros(len(data.values))
        each = np.log(self.units.spreads)
        if data.complete:
            return np.full(len(data.values), math.fsum(each))
        return np.array([math.fsum(each[at]) for at in data.observed])

    # The prior of features

    def widths(self, n_features: int) -> FloatArray:
        """Return prior deviations in units of those of a feature: the background is last."""
        widths = np.ones(n_features)
        if self.background:
            widths[-1] = BACKGROUND_WIDTH
        return widths


def _check_ratios(
    noise_scale: float | None, feature_scale: float | None, shared: bool, units: Units
) -> None:
    """Raise an `InputError` if features would be so far above the noise that doubles fail."""
    spread = max(units.spread)
    if noise_scale is not None and noise_scale * MOST_RATIO < spread:
        raise InputError(
            "noise_scale",
            f"must be at least {1 / MOST_RATIO:g} of the largest standard deviation of a column, "
            f"{spread:g}",
            noise_scale,
            'Raise it, or set it to "learn".',
        )
    unit = (noise_scale or spread) if shared else 1.0
    if feature_scale is not None and feature_scale > MOST_RATIO * unit:
        raise InputError(
            "feature_scale",
            f"must be at most {MOST_RATIO:g} times the scale of the noise",
            feature_scale,
            'Lower it, or set it to "learn".',
        )
