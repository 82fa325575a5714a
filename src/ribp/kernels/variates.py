"""Uniform, normal and gamma variates, one after another from one counter-based stream.

A stream is a seed and an array `place` of three integers: the next block of `ribp.kernels.random`,
the sweep and the row. It belongs to one call of a kernel (sweep 0, row 0) or to one row of a sweep,
and each draw moves it on.
"""

from __future__ import annotations

import math

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair


@jit
def begin_row(place, sweep, row):
    """Set `place` to the first block of a row: ``place[:] = 0, sweep, row``."""
    place[0], place[1], place[2] = 0, sweep, row


@jit
def next_pair(seed, place):
    """Return the next two uniforms in (0, 1)."""
    place[0] += 1
    return uniform_pair(seed, place[1], place[2], place[0] - 1)


@jit
def next_uniform(seed, place):
    """Return one uniform in (0, 1)."""
    u, _ = next_pair(seed, place)
    return u


@jit
def exponential(seed, place):
    """Return a standard exponential variate."""
    return -math.log(next_uniform(seed, place))


@jit
def normal_pair(seed, place):
    """Return two standard normal variates (Box and Muller)."""
    u, v = next_pair(seed, place)
    radius, angle = math.sqrt(-2.0 * math.log(u)), 2.0 * math.pi * v
    return radius * math.cos(angle), radius * math.sin(angle)


@jit
def log_gamma_variate(seed, place, shape):
    """Return the logarithm of a Gamma(shape) variate, for any shape > 0.

    Marsaglia and Tsang's rejection for G ~ Gamma(shape + 1), then log G + log(U) / shape. The law
    is that of ``ribp.measures.variates.log_gamma_variates(rng, shape, 1)``.
    """
    d = shape + 2.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x, _ = normal_pair(seed, place)
        u, w = next_pair(seed, place)
        if 1.0 + c * x > 0.0:
            log_v = 3.0 * math.log1p(c * x)
            if math.log(u) < 0.5 * x * x + d * (1.0 - math.exp(log_v) + log_v):
                return math.log(d) + log_v + math.log(w) / shape


@jit
def shuffle(seed, place, values):
    """Put `values` into random order, in place."""
    for last in range(values.shape[0] - 1, 0, -1):
        at = int(next_uniform(seed, place) * (last + 1))
        values[at], values[last] = values[last], values[at]
