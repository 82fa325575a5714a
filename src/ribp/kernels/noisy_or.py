"""Noisy-OR data: how many events there were where one was seen.

x = 1 where a Poisson count y of rate r is not zero. Given that, y is drawn as the events of a
Poisson process on (0, 1) of which there is at least one: the first comes at

    t = -log(1 - u (1 - exp(-r)))/r,         u uniform,

and each next one an exponential time of mean 1/r later, until 1 is passed. Features and leak then
split y as counts are split (`sweep_poisson`).
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

FIRST_BLOCK = 1 << 24
"""Of the random numbers of a row that are used here, apart from those of sweeps and splits."""


@jit
def truncated_poisson(seed, number, row, block, rate):
    """Return a Poisson count that is not zero, and the first block that was not used."""
    u, v = uniform_pair(seed, number, row, block)
    time = -math.log1p(u * math.expm1(-rate)) / rate
    count = 0
    while time < 1.0:
        count += 1
        time -= math.log(v) / rate
        block += 1
        v, _ = uniform_pair(seed, number, row, block)
    return max(count, 1), block + 1


@jit
def fill_counts(seed, number, first, data, observed, rows, loadings, offset, counts):
    """Fill y for rows number first, first + 1, ...; zero where x is, or is missing.

    `loadings` are A', `offset` the leak; `observed` is empty if nothing is missing.
    """
    for n in range(rows.shape[0]):
        block = np.int64(FIRST_BLOCK)
        for d in range(data.shape[1]):
            counts[n, d] = 0.0
            if data[n, d] > 0.0 and (observed.shape[0] == 0 or observed[n, d]):
                rate = offset[d]
                for i in range(rows.shape[1]):
                    if rows[n, i]:
                        rate += loadings[d, i]
                drawn, block = truncated_poisson(seed, number, first + n, block, rate)
                counts[n, d] = drawn
