"""The law of the number of ones among independent coins, by adding one coin at a time."""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit

_TINY = 1e-290  # below this a probability is dropped, before it slows the loop as a subnormal


@jit
def poisson_binomial(p, q):
    """Return P(number of ones = k), k = 0 .. I, for coins with P(1) = p and P(0) = q.

    F_i[k] = p_i F_{i-1}[k-1] + q_i F_{i-1}[k], on the window of counts that still matter: about
    37 standard deviations to each side. All terms are positive, so every probability above 1e-280
    has a relative error of a few I * eps.
    Equals ``functools.reduce(np.convolve, np.stack([q, p], axis=1))``.
    """
    probs = np.zeros(p.shape[0] + 1)
    probs[0] = 1.0
    low = high = 0
    for i in range(p.shape[0]):
        on, off = p[i], q[i]
        high += 1
        below = 0.0
        for k in range(low, high + 1):
            old = probs[k]
            probs[k] = on * below + off * old
            below = old
        while probs[low] < _TINY:
            probs[low] = 0.0
            low += 1
        while probs[high] < _TINY:
            probs[high] = 0.0
            high -= 1
    return probs
