"""The ones of a row as a list, and one of them at random without replacement."""

from __future__ import annotations

from ribp.kernels.jit import jit


@jit
def list_ones(z, ones):
    """Fill `ones` with the places where z is not zero; return how many: ``np.flatnonzero(z)``."""
    number = 0
    for i in range(ones.shape[0]):
        if z[i]:
            ones[number] = i
            number += 1
    return number


@jit
def take_out_one(u, ones, last):
    """Return one of ones[: last + 1], chosen by the uniform u; the last one takes its place."""
    chosen = min(int(u * (last + 1)), last)
    i = ones[chosen]
    ones[chosen] = ones[last]
    return i
