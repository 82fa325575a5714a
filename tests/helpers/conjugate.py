"""A conjugate model to test the tools on: x ~ N(1, 1) and y ~ N(x, 4).

So x given y is N((4 + y)/5, 4/5). The state is (x, e), with e an exponential variate that no data
see.
"""

import numpy as np


def simulate(rng):
    x = 1.0 + rng.standard_normal()
    return (x, rng.standard_exponential()), redraw(rng, (x, 0.0))


def redraw(rng, state):
    return state[0] + 2.0 * rng.standard_normal()


def mover(*, mean=1.0, spread=1.0, sign=1.0, memory=0.5):
    """Return an update that keeps some of x, right for the arguments' defaults."""

    def update(rng, state, y):
        centre = mean * (4.0 + sign * y) / 5.0
        noise = spread * np.sqrt(0.8 * (1.0 - memory**2)) * rng.standard_normal()
        e = state[1] if rng.random() < 0.5 else rng.standard_exponential()
        return centre + memory * (state[0] - centre) + noise, e

    return update
