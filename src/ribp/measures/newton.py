"""Inverting a monotone function given in logarithms: Newton's method where it cannot fail.

Solve v(theta) = y, where e^v is an integral of a positive density e^g in theta, taken from the left
(sign +1: a distribution function) or to the right (sign -1: a Levy tail). Then
v'(theta) = sign * e^{g - v}, and Newton's step is

    theta <- theta - sign (v - y) e^{v - g}.

All densities in this package are log-concave or log-convex in theta. Integration keeps that
property, so v is concave or convex and Newton converges from any start: after at most one step it
stays on one side of the root and moves monotonically towards it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ribp.checks import FloatArray

_MAX_STEPS = 200
_TOLERANCE = 1e-14

Curve = Callable[[FloatArray], FloatArray]


def invert_log_integral(
    log_integral: Curve, log_density: Curve, target: FloatArray, start: FloatArray, sign: int
) -> FloatArray:
    """Return theta with ``log_integral(theta) = target``, elementwise.

    Parameters
    ----------
    log_integral, log_density : callable
        v and g above: elementwise functions of theta.
    target : array
        The values y.
    start : array of the same shape
        Where to start; near is fast, anywhere is right.
    sign : int
        +1 when `log_integral` increases, -1 when it decreases.
    """
    theta = np.array(start, dtype=np.float64).ravel()
    goal = np.broadcast_to(target, start.shape).ravel()
    active = np.arange(theta.size)
    for _ in range(_MAX_STEPS):  # pragma: no branch
        value = log_integral(theta[active])
        gap = value - goal[active]
        step = gap * np.exp(value - log_density(theta[active]))
        theta[active] -= sign * step
        far = np.abs(gap) > _TOLERANCE * np.maximum(1.0, np.abs(goal[active]))
        moving = np.abs(step) > _TOLERANCE * np.maximum(1.0, np.abs(theta[active]))
        active = active[far & moving]
        if active.size == 0:
            break
    return theta.reshape(start.shape)
