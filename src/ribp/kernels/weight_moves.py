"""The weights given the rows, in one call: `ribp.mcmc.weight_moves` for priors that kernels know.

The same three parts as there: Hamiltonian trajectories with the metric M = D^{1/2} (1 - v v')
D^{1/2}, rare features from beta-prime laws in random blocks, a shift by a slice step. `sums` are
the column sums m, `histogram` the numbers N_k of rows with k ones, cut behind the largest; a prior
is `kind`, mass and concentration (`ribp.kernels.weight_density`).
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.elementary_symmetric import log_esp
from ribp.kernels.jit import jit
from ribp.kernels.variates import log_gamma_variate, next_uniform, normal_pair, shuffle
from ribp.kernels.weight_density import (
    WEAK_LIMIT,
    gradient,
    last_count,
    log_density,
    softplus,
    sort_falling,
)
from ribp.kernels.weight_slices import SHIFT, slice_step

STEPS = 8
STEP_SIZE = 0.25
TRAJECTORIES = 1
MOST_BLOCKS = 4
LARGEST_POWER = 1e8  # already a gamma law, for all purposes


@jit
def rare_features(sums, most_ones):
    """Return which features are rare: (sum of their m)^2 <= sum(m), lowest m first.

    As many others are left as a row may have ones. ``order = np.argsort(sums, kind="stable");
    rare[order] = np.cumsum(sums[order])**2 <= sums.sum()``, False for the last `most_ones`.
    """
    order = np.argsort(sums, kind="mergesort")
    rare = np.zeros(sums.shape[0], np.bool_)
    total, few = sums.sum(), 0.0
    for at in range(sums.shape[0] - most_ones):
        few += sums[order[at]]
        rare[order[at]] = few * few <= total
    return rare


@jit
def metric(sums, n_rows, rare, kind, mass, concentration):
    """Return D^{1/2}, v and 1 - v.v of the metric, D = u + g, u = m (1 - m/N), g the prior's.

    ``g = WeightPrior.precision(rare)``; ``v = u / np.sqrt(u + g) / np.sqrt(u.sum())``.
    """
    size = sums.shape[0]
    at_mode = concentration * mass / size * (1.0 - mass / size if kind == WEAK_LIMIT else 1.0)
    root, v = np.empty(size), np.empty(size)
    total = left = 0.0
    for i in range(size):
        u = sums[i] * (1.0 - sums[i] / max(n_rows, 1.0))
        g = at_mode + (1.0 if rare[i] else 0.0)
        total += u
        left += u * g / (u + g)
        root[i] = math.sqrt(u + g)
        v[i] = u / root[i]
    scale = math.sqrt(max(total, 1e-300))
    for i in range(size):
        v[i] /= scale
    return root, v, left / total if total > 0.0 else 1.0


@jit
def draw_momentum(seed, place, root, v, left, out):
    """Fill `out` with a draw of N(0, M): ``root * (xi - shrink * (v @ xi) * v)``."""
    size = root.shape[0]
    for i in range(0, size, 2):
        out[i], other = normal_pair(seed, place)
        if i + 1 < size:
            out[i + 1] = other
    shrink = (1.0 - math.sqrt(left)) / (1.0 - left) if left < 1.0 else 0.0
    along = 0.0
    for i in range(size):
        along += v[i] * out[i]
    for i in range(size):
        out[i] = root[i] * (out[i] - shrink * along * v[i])


@jit
def fill_velocity(momentum, root, v, left, out):
    """Fill `out` with M^{-1} p; return p' M^{-1} p / 2.

    ``x = momentum / root; out = (x + (v @ x) / left * v) / root``
    """
    along = energy = 0.0
    for i in range(root.shape[0]):
        along += v[i] * momentum[i] / root[i]
    along /= left
    for i in range(root.shape[0]):
        out[i] = (momentum[i] / root[i] + along * v[i]) / root[i]
        energy += 0.5 * momentum[i] * out[i]
    return energy


@jit
def all_finite(x):
    """Return ``np.isfinite(x).all()``."""
    fine = True
    for i in range(x.shape[0]):
        fine = fine and math.isfinite(x[i])
    return fine


@jit
def trajectory(seed, place, theta, root, v, left, sums, histogram, kind, mass, concentration):
    """Make one leapfrog trajectory, theta in place; return the acceptance probability.

    A trajectory that flies off is rejected.
    """
    given = (sums, histogram, kind, mass, concentration)
    size = theta.shape[0]
    momentum, velocity, here = np.empty(size), np.empty(size), theta.copy()
    order = np.argsort(-here)
    step = STEP_SIZE * (0.7 + 0.6 * next_uniform(seed, place))
    draw_momentum(seed, place, root, v, left, momentum)
    before = log_density(here, *given) - fill_velocity(momentum, root, v, left, velocity)
    slope = gradient(here, order, *given)
    for at in range(STEPS):
        part = 0.5 * step if at == 0 else step
        for i in range(size):
            momentum[i] += part * slope[i]
        fill_velocity(momentum, root, v, left, velocity)
        for i in range(size):
            here[i] += step * velocity[i]
        if not all_finite(here):
            return 0.0
        sort_falling(here, order)
        slope = gradient(here, order, *given)
    for i in range(size):
        momentum[i] += 0.5 * step * slope[i]
    after = log_density(here, *given) - fill_velocity(momentum, root, v, left, velocity)
    probability = math.exp(min(0.0, after - before)) if math.isfinite(after) else 0.0
    if next_uniform(seed, place) < probability:
        theta[:] = here
    return probability


@jit
def log_pull(others, histogram):
    """Return log sum_k N_k r_k and log sum_k N_k r_k^2, r_k = e_{k-1}/e_k of the other features.

    They are in falling order; both are -inf without rows that have ones.
    """
    log_e = log_esp(others, histogram.shape[0] - 1)
    slope = curvature = -math.inf
    for k in range(1, histogram.shape[0]):
        if histogram[k] > 0.0:
            log_r = log_e[k - 1] - log_e[k]
            log_n = math.log(histogram[k])
            slope = log_add(slope, log_n + log_r)
            curvature = log_add(curvature, log_n + 2.0 * log_r)
    return slope, curvature


@jit
def log_add(x, y):
    """Return log(e^x + e^y) for finite y: ``np.logaddexp(x, y)``."""
    return y + softplus(x - y)


@jit
def beta_prime(log_slope, log_curvature, most_shape, kind, mass, concentration, size):
    """Return power and log scale of the proposal: those of ``WeightPrior.rare_law``.

    Here (log_slope, log_curvature) is the pull of the rows, and `most_shape` the largest shape.
    """
    log_c = math.log(concentration)
    log_slope = log_add(log_slope, log_c)
    least_power = 1.0
    if kind == WEAK_LIMIT:
        log_curvature = log_add(log_curvature, log_c)
        least_power = concentration - concentration * mass / size
    log_power = min(2.0 * log_slope - log_curvature, math.log(LARGEST_POWER))
    power = max(math.exp(log_power), most_shape + least_power)
    return power, math.log(power) - log_slope


@jit
def refresh(seed, place, theta, block, sums, histogram, kind, mass, concentration):
    """Propose the features of a block at once, theta in place; return the acceptance probability.

    The weight of a point is its density over that of the proposal.
    """
    given = (sums, histogram, kind, mass, concentration)
    size = theta.shape[0]
    others = np.sort(np.delete(theta, block))[::-1].copy()
    slope, curvature = log_pull(others, histogram)
    a = concentration * mass / size
    power, log_scale = beta_prime(
        slope, curvature, a + sums[block].max(), kind, mass, concentration, size
    )
    proposal = theta.copy()
    log_ratio = 0.0  # of the proposal's densities, here over there
    for i in block:
        shape = a + sums[i]
        proposal[i] = log_scale + log_gamma_variate(seed, place, shape)
        proposal[i] -= log_gamma_variate(seed, place, power - shape)
        log_ratio += shape * (theta[i] - proposal[i])
        log_ratio -= power * (softplus(theta[i] - log_scale) - softplus(proposal[i] - log_scale))
    log_ratio += log_density(proposal, *given) - log_density(theta, *given)
    probability = 0.0 if math.isnan(log_ratio) else math.exp(min(0.0, log_ratio))
    if next_uniform(seed, place) < probability:
        theta[:] = proposal
    return probability


@jit
def refresh_rare(seed, place, theta, rare, sums, histogram, kind, mass, concentration):
    """Propose rare features in random blocks, theta in place; return the mean acceptance."""
    members = np.flatnonzero(rare)
    number = members.shape[0]
    if number == 0:
        return 1.0
    shuffle(seed, place, members)
    crowding = 2.0 * concentration * mass / max(histogram.sum(), 1.0)
    n_blocks = min(1 + int(min(crowding, MOST_BLOCKS)), MOST_BLOCKS, number)
    accepted = 0.0
    for at in range(n_blocks):
        block = members[at * number // n_blocks : (at + 1) * number // n_blocks]
        accepted += refresh(seed, place, theta, block, sums, histogram, kind, mass, concentration)
    return accepted / n_blocks


@jit
def update_weights(seed, theta, sums, histogram, kind, mass, concentration):
    """Make all three parts, theta in place; return the mean acceptance of the first two.

    The law is that of ``weight_moves.update`` with a prior that kernels do not know.
    """
    place = np.zeros(3, np.int64)
    histogram = histogram[: last_count(histogram) + 1]
    rare = rare_features(sums, histogram.shape[0] - 1)
    root, v, left = metric(sums, histogram.sum(), rare, kind, mass, concentration)
    accepted = 0.0
    for _ in range(TRAJECTORIES):
        accepted += trajectory(
            seed, place, theta, root, v, left, sums, histogram, kind, mass, concentration
        )
    refreshed = refresh_rare(seed, place, theta, rare, sums, histogram, kind, mass, concentration)
    slice_step(seed, place, SHIFT, theta, sums, histogram, kind, mass, concentration)
    return accepted / TRAJECTORIES, refreshed
