"""The normal law above zero: its mass, and draws from it by rejection.

log Phi(t) is that of erfc, precise in the left tail to t = -30, and an asymptotic series beyond.
Draws of N(t, 1) above zero: normal proposals where t >= 0 (at least half of them are above), and
otherwise exponential ones of the best rate (Robert 1995, "Simulation of truncated normal
variables"): x = E/r, r = (a + sqrt(a^2 + 4))/2, a = -t, is kept with probability
exp(-(x + a - r)^2/2); at least three of four are.
"""

from __future__ import annotations

import math

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

_FAR = -30.0
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@jit
def log_ndtr(t):
    """Return log Phi(t): ``scipy.special.log_ndtr(t)``."""
    if t > _FAR:
        return math.log(0.5 * math.erfc(-t * math.sqrt(0.5)))
    s = 1.0 / (t * t)
    series = 1.0 - s * (1.0 - 3.0 * s * (1.0 - 5.0 * s * (1.0 - 7.0 * s)))
    return -0.5 * t * t - math.log(-t) - _HALF_LOG_2PI + math.log(series)


@jit
def draw_positive(seed, sweep, row, block, t):
    """Return a draw of N(t, 1) given that it is above zero; uses blocks from `block` on."""
    if t >= 0.0:
        while True:
            u, v = uniform_pair(seed, sweep, row, block)
            radius, angle = math.sqrt(-2.0 * math.log(u)), 2.0 * math.pi * v
            block += 1
            if t + radius * math.cos(angle) > 0.0:
                return t + radius * math.cos(angle)
            if t + radius * math.sin(angle) > 0.0:
                return t + radius * math.sin(angle)
    rate = 0.5 * (math.sqrt(t * t + 4.0) - t)
    while True:
        u, v = uniform_pair(seed, sweep, row, block)
        x = -math.log(u) / rate
        block += 1
        if 2.0 * math.log(v) <= -((x - t - rate) ** 2):
            return x
