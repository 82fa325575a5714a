"""Standard units: nothing may depend on the unit or the offset of a column.

    U_nd = (x_nd - m_d)/u_d,       u_d the standard deviation of what was seen of column d,

m_d its mean if there is a background, otherwise zero. Samplers, searches and priors see U only.
Multiplying a column by c multiplies its features, background and noise by c and changes nothing
else, bit for bit if c is a power of two; shifting it shifts its background. Log densities of X are
those of U less sum_d N_d log u_d over what was seen.

Where all columns have one noise (the paper's model) they have one unit too, the root of their mean
variance: then only one factor for all columns changes nothing.

A column that does not vary has its root mean square for a unit, or one if that is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ribp.checks import FloatArray
from ribp.likelihoods.data import Data
from ribp.likelihoods.moments import Moments

LEAST_SPREAD = 1e-150
"""A column that varies less is constant: squares of such numbers are lost."""
NEARLY_CONSTANT = 1e-12
"""So is one that varies less than this share of its size, which may be rounding."""

MOST_RATIO = 1e6
"""Of features to noise, or of offsets to spreads: beyond it matrices are singular in doubles."""
ROUNDING = 1e-8
"""A spread below this, in standard units, is what rounding leaves of a column that is constant."""


@dataclass(frozen=True)
class Units:
    """What the first look at data says of each column.

    Parameters
    ----------
    mean
        Of what was seen.
    spread
        u, the unit.
    number
        How many entries were seen.
    """

    mean: tuple[float, ...]
    spread: tuple[float, ...]
    number: tuple[int, ...]

    @classmethod
    def of(cls, seen: Moments, *, shared: bool = False) -> Units:
        """Return the units of columns with these moments: one each, or one for all."""
        number, mean, variance = seen
        if shared:
            weights = number / max(float(number.sum()), 1.0)
            size = _unit(float(weights @ variance), float(weights @ mean**2))
            spread = [size] * mean.size
        else:
            spread = [_unit(v, m**2) for v, m in zip(variance.tolist(), mean.tolist(), strict=True)]
        return cls(tuple(mean.tolist()), tuple(spread), tuple(number.astype(int).tolist()))

    def farthest(self) -> tuple[int, float]:
        """Return the column whose mean is the most units from zero, and how many."""
        away = np.abs(self.means) / self.spreads
        at = int(away.argmax())
        return at, float(away[at])

    @cached_property
    def means(self) -> FloatArray:
        """Of the columns, shape (dims,)."""
        return np.array(self.mean)

    @cached_property
    def spreads(self) -> FloatArray:
        """u, shape (dims,)."""
        return np.array(self.spread)

    @cached_property
    def log_volume(self) -> float:
        """The sum over all that was seen of log u_d."""
        return float(np.array(self.number) @ np.log(self.spreads))


def _unit(variance: float, squared_mean: float) -> float:
    """Return the standard deviation, or the root mean square of what does not vary."""
    size = math.sqrt(variance + squared_mean)
    spread = math.sqrt(variance)
    if spread > max(LEAST_SPREAD, NEARLY_CONSTANT * size):
        return spread
    return size if size > LEAST_SPREAD else 1.0


def scaled(data: Data, centre: FloatArray | float, spread: FloatArray) -> Data:
    """Return data in standard units; missing entries stay zero.

    So do entries of a column that are so small that their squares are lost: it has no unit.
    """
    values = data.values - centre
    values /= spread
    without = np.flatnonzero(spread == 1.0)
    if without.size:
        some = values[:, without]
        values[:, without] = np.where(np.abs(some) < LEAST_SPREAD, 0.0, some)
    if not data.complete:
        values[~data.observed] = 0.0
    return Data(values, data.observed)
