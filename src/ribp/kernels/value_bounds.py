"""Bounds of the weights of values: what an entry that counts is certain to be.

With the weights of `value_weights`, s = square and f(v) = gain v - s v^2/2: a factor (1+g u)/(1+u)
is at most one, since g is, and at least 1/(1+u), so that

    f(v) - v (v-1) <= log weight(v) <= f(v),
    sum_{v>0} weight(v) <= (1 + (2 pi/s)^{1/2}) exp(max_{v>=1} f(v)),     v real,

the latter because a sum over the whole numbers of a function with one peak is at most its peak and
its integral; log(1 + t) <= t. An entry keeps its value v if weight(v-1), weight(v+1) and zero have
each less than e^-39 of weight(v): what is beyond falls faster still, and no uniform is so small.
Nothing here is added up, and no logarithm is taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels.choose import CERTAIN
from ribp.kernels.jit import jit

_BEYOND = CERTAIN + 2.0  # three such weights together are still certain to be passed over


class Terms(NamedTuple):
    """What the data say of an entry, whatever is left for it; each over features."""

    squares: NDArray[np.float64]
    """G_ii; zero where nothing is seen of a feature."""
    inverse: NDArray[np.float64]
    """1/(2 G_ii)."""
    reserve: NDArray[np.float64]
    """(2 pi/G_ii)^{1/2} - G_ii/2, infinite where nothing is seen."""


@jit
def fill_terms(terms):
    """Fill all that follows from G_ii."""
    for i in range(terms.squares.shape[0]):
        square = terms.squares[i]
        terms.inverse[i], terms.reserve[i] = 0.0, math.inf
        if square > 0.0:
            terms.inverse[i] = 0.5 / square
            terms.reserve[i] = math.sqrt(2.0 * math.pi / square) - 0.5 * square


@jit
def most_log_total(gain, square, inverse, reserve):
    """Return a number that the log of the sum of weights is not above."""
    over = max(gain - square, 0.0)
    return gain + over * over * inverse + reserve


@jit
def least_log_weight(value, gain, square):
    """Return a number that the log of weight(value) is not below: log v! <= v (v - 1)."""
    return value * (gain - 0.5 * square * value - (value - 1.0))


@jit
def surely_keeps(value, gain, square):
    """Return whether all other positive values are certain to be passed over."""
    if gain - square * (value + 0.5) > -_BEYOND:
        return False
    return value == 1.0 or square * (value - 0.5) - gain + value - 1.0 < -_BEYOND


@jit
def surely_stays(value, gain, square, inverse, reserve, step):
    """Return whether an entry is certain to remain what it is, zero or not."""
    if value == 0.0:
        return most_log_total(gain, square, inverse, reserve) + step < -CERTAIN
    own = least_log_weight(value, gain, square) + step
    return own > _BEYOND and surely_keeps(value, gain, square)
