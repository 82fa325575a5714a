"""Counter-based random numbers: Philox-4x32 with ten rounds.

The k-th number of a row is a fixed function of (seed, sweep, row, k): no state is carried, so the
answer does not depend on threads, shards or the order of work, and a resumed run continues the
same stream. Layout of the counter: (block, low half of row, high half of row, sweep); the key is
the 64-bit seed. One block gives two uniforms.
"""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit

_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SPARE = np.uint64(12)  # 52 bits are kept: a half can be added to them without rounding
_STEP = 2.0**-52


@jit
def philox(c0, c1, c2, c3, k0, k1):
    """Return the four 32-bit words that Philox-4x32-10 makes of a counter and a key (as uint64)."""
    for _ in range(10):
        a = _MULTIPLIER_0 * c0
        b = _MULTIPLIER_1 * c2
        c0, c2 = (b >> _HALF) ^ c1 ^ k0, (a >> _HALF) ^ c3 ^ k1
        c1, c3 = b & _LOW, a & _LOW
        k0 = (k0 + _WEYL_0) & _LOW
        k1 = (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


@jit
def uniform_pair(seed, sweep, row, block):
    """Return two uniforms in the open interval (0, 1) for (seed, sweep, row, block)."""
    row = np.uint64(row)
    seed = np.uint64(seed)
    a, b, c, d = philox(
        np.uint64(block) & _LOW,
        row & _LOW,
        row >> _HALF,
        np.uint64(sweep) & _LOW,
        seed & _LOW,
        seed >> _HALF,
    )
    first = ((a << _HALF) | b) >> _SPARE
    second = ((c << _HALF) | d) >> _SPARE
    return (np.float64(first) + 0.5) * _STEP, (np.float64(second) + 0.5) * _STEP
