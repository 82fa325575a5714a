"""Slice steps for mass, concentration and scale of the weights, in one call.

Every step moves log-odds theta, mass alpha and concentration c along a line, by a number t that has
a density of one dimension (`ribp.mcmc.hyper` says why these lines, `ribp.mcmc.weight_moves` the
first):

    SHIFT           theta + t
    MASS            alpha e^t
    CONCENTRATION   c e^t
    RATIO           alpha e^-t, c e^t
    SPARE           alpha e^t; theta e^-t for the features that no row has, theta + mean (e^-t - 1)
                    for the others: a Jacobian of e^-t for each of the former and for their mean.

Only SPARE is seen by rows.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.variates import next_pair, next_uniform
from ribp.kernels.weight_density import (
    log_concentration_density,
    log_mass_density,
    prior_log_density,
    prior_sums,
    row_log_density,
)

SHIFT, MASS, CONCENTRATION, RATIO, SPARE = range(5)


@jit
def move_theta(move, by, theta, sums, out):
    """Fill `out` with theta after a move; return how many factors e^-t the density has.

    ``np.where(sums > 0, theta + theta[sums > 0].mean() * shrink, theta * np.exp(-by))``,
    with shrink = exp(-by) - 1, for SPARE; ``theta + by`` for SHIFT.
    """
    size = theta.shape[0]
    if move == SHIFT:
        for i in range(size):
            out[i] = theta[i] + by
        return 0
    used, total = 0, 0.0
    for i in range(size):
        if sums[i] > 0.0:
            used += 1
            total += theta[i]
    shrink = math.exp(-by)
    lower = total / max(used, 1) * (shrink - 1.0)
    for i in range(size):
        out[i] = theta[i] + lower if sums[i] > 0.0 else theta[i] * shrink
    return size - used + min(used, 1)


@jit
def moved_hyper(move, by, mass, concentration):
    """Return mass and concentration after a move."""
    if move in (MASS, SPARE):
        mass *= math.exp(by)
    elif move == RATIO:
        mass *= math.exp(-by)
    if move in (CONCENTRATION, RATIO):
        concentration *= math.exp(by)
    return mass, concentration


@jit
def log_density_along(
    move, by, theta, sums, histogram, kind, mass, concentration, total, total_held, out
):
    """Return the log density of t, up to a constant; `out` is filled if theta moves.

    `total` and `total_held` are the sums of theta and phi(theta) where it does not move. Equals
    ``hyper._log_joint(prior, mass, c, theta)`` at the moved values, and for SPARE what rows say of
    them less t for each factor e^-t.
    """
    size, factors = theta.shape[0], 0
    mass, concentration = moved_hyper(move, by, mass, concentration)
    if mass >= size:
        return -math.inf
    if move in (SHIFT, SPARE):
        factors = move_theta(move, by, theta, sums, out)
        total, total_held = prior_sums(kind, out)
    value = log_mass_density(mass) + log_concentration_density(concentration)
    value += prior_log_density(kind, mass, concentration, size, total, total_held)
    if move == SPARE:
        value += row_log_density(out, sums, histogram) - factors * by
    return value


@jit
def slice_step(seed, place, move, theta, sums, histogram, kind, mass, concentration):
    """Make one slice step along a move, theta in place; return mass and concentration.

    Step out from t = 0, then shrink, as `ribp.mcmc.slice_sampling.slice_step` does.
    """
    size = theta.shape[0]
    total, total_held = prior_sums(kind, theta)
    out = theta.copy()
    given = (theta, sums, histogram, kind, mass, concentration, total, total_held, out)
    width = 1.0 + 1.0 / (concentration * mass) if move == SHIFT else 1.0
    low = math.log(mass / size) if move == RATIO else -math.inf
    high = math.log(size / mass) if move in (MASS, SPARE) else math.inf
    u, v = next_pair(seed, place)
    level = log_density_along(move, 0.0, *given) + math.log(u)
    left = -width * v
    right = left + width
    while left > low and log_density_along(move, left, *given) > level:
        left -= width
    while right < high and log_density_along(move, right, *given) > level:
        right += width
    left, right = max(left, low), min(right, high)
    while True:
        by = left + (right - left) * next_uniform(seed, place)
        if log_density_along(move, by, *given) > level or by == 0.0:
            break
        if by < 0.0:
            left = by
        else:
            right = by
    theta[:] = out
    return moved_hyper(move, by, mass, concentration)


@jit
def update_hyper(
    seed, theta, sums, histogram, kind, mass, concentration, learns_mass, learns_concentration
):
    """Make all steps for mass and concentration, theta in place; return the two.

    The law is that of ``hyper.update`` with a prior that kernels do not know.
    """
    place = np.zeros(3, np.int64)
    both = learns_mass and learns_concentration
    wanted = (False, learns_mass, learns_concentration, both, learns_mass)
    for move in range(SPARE + 1):
        if wanted[move]:
            mass, concentration = slice_step(
                seed, place, move, theta, sums, histogram, kind, mass, concentration
            )
    return mass, concentration
