"""Rows of counts whose entries have gamma strengths, z and s summed out by annealing.

As in `anneal_rows`: particles (z, s) begin at the guide of z and the law of s, and move at rising
beta by the moves of `sweep_poisson_strengths` along

    r_beta(z, s) = p(s) exp(table[|z|] + (theta + (1 - beta) shift).z) L(z, s)^beta.

L to the power beta has beta times the counts and rates. Where the exposure r of the row is learned
it belongs to the particle: drawn from its law Gamma(c, rate c), and then, at each beta, from

    Gamma(c + beta sum_d x_d, rate c + beta sum_d rate_d).

The mean weight is p(x), exactly. There is no other way to it where strengths are integrated out, so
rows that could be enumerated are annealed as well. A particle draws its random numbers one after
another, from the stream of its number and the step.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels import sweep_poisson, sweep_poisson_strengths, whole_rows
from ribp.kernels.anneal_rows import (
    count_log_weights,
    fill_grid,
    fill_moments,
    fill_shift,
    law_of,
    log_sum,
    mean_share,
    summarise,
)
from ribp.kernels.jit import jit
from ribp.kernels.variates import begin_row, log_gamma_variate, next_uniform

_GUIDE = 1 << 20  # blocks of random numbers of the guide, apart from those of moves


@jit
def draw_particle(seed, place, law, shift, a, support, y):
    """Fill y by a draw from the guide with strengths of their law."""
    whole_rows.draw(
        seed, place[1], place[2], _GUIDE, law.theta + shift, law.table, support
    )  # fmt: skip
    for i in range(y.shape[0]):
        y[i] = math.exp(log_gamma_variate(seed, place, a)) / a if support[i] else 0.0


@jit
def log_excess(y, exposure, shift, data, background, n_counts, learned, rates):
    """Return log L(z, s) - shift.z up to a constant; `data` has totals at exposure one."""
    sweep_poisson_strengths.fill_rates(y, -1, data, rates)
    made, total = 0.0, 0.0
    for i in range(y.shape[0]):
        if y[i] > 0.0:
            made += y[i] * data.totals[i]
            total -= shift[i]
    for t in range(data.at.shape[0]):
        total += data.x[t] * (math.log(rates[t]) if rates[t] > 0.0 else -math.inf)
    total -= exposure * made
    return total + n_counts * math.log(exposure) - exposure * background if learned else total


@jit
def draw_exposure(seed, place, beta, y, data, background, n_counts, own_shape):
    """Return the exposure of a particle, given what it makes."""
    rate = own_shape + beta * background
    for i in range(y.shape[0]):
        rate += beta * y[i] * data.totals[i]
    return math.exp(log_gamma_variate(seed, place, own_shape + beta * n_counts)) / rate


@jit
def move(seed, place, y, tilted, law, hot, a, rates, active, work):
    """Make the moves of a sweep at one beta."""
    if law.flips:
        sweep_poisson_strengths._flip_each(seed, place, y, tilted, law.steps, hot, a, rates, work)
    sweep_poisson_strengths._relocate_each(seed, place, y, tilted, hot, a, rates, active, work)
    sweep_poisson_strengths._slice_each(seed, place, y, hot, a, rates)


@jit
def begin(seed, step, law, shift, a, own_shape, exposure, support, particles, exposures):
    """Fill particles and their exposures by draws from where annealing begins."""
    place = np.empty(3, np.int64)
    for r in range(particles.shape[0]):
        begin_row(place, step, r)
        draw_particle(seed, place, law, shift, a, support, particles[r])
        exposures[r] = exposure
        if own_shape > 0.0:
            exposures[r] = math.exp(log_gamma_variate(seed, place, own_shape)) / own_shape


@jit
def anneal(
    seed, grid, data, background, n_counts, shift, law, a, own_shape, particles, exposures,
    log_weights,
):  # fmt: skip
    """Move the particles from the guide to the posterior, and fill their log-weights."""
    features, learned = shift.shape[0], own_shape > 0.0
    rates, proposal = np.empty(data.at.shape[0]), np.empty(features)
    work, active = np.empty((11, features)), np.empty(features, np.int64)
    support, place = np.empty(features, np.int8), np.empty(3, np.int64)
    log_weights[:] = 0.0
    for t in range(1, grid.shape[0]):
        beta = grid[t]
        tilted = law.theta + (1.0 - beta) * shift
        for r in range(particles.shape[0]):
            y = particles[r]
            now = log_excess(y, exposures[r], shift, data, background, n_counts, learned, rates)
            log_weights[r] += (beta - grid[t - 1]) * now
            if log_weights[r] == -math.inf:
                continue
            begin_row(place, t, r)
            hot = sweep_poisson.PositiveCounts(
                data.at, beta * data.x, data.offset, data.loadings,
                beta * exposures[r] * data.totals,
            )  # fmt: skip
            move(seed, place, y, tilted, law, hot, a, rates, active, work)
            if law.gaps:
                draw_particle(seed, place, law, shift, a, support, proposal)
                gained = log_excess(
                    proposal, exposures[r], shift, data, background, n_counts, learned, rates
                ) - log_excess(y, exposures[r], shift, data, background, n_counts, learned, rates)
                if math.log(next_uniform(seed, place)) < beta * gained:
                    y[:] = proposal
            if learned:
                exposures[r] = draw_exposure(
                    seed, place, beta, y, data, background, n_counts, own_shape
                )


@jit
def fill_sizes(log_weights, particles, sizes):
    """Fill the weighted means of the particles: NaN if all weights are zero."""
    log_total = log_sum(log_weights)
    sizes[:] = math.nan if log_total == -math.inf else 0.0
    for r in range(particles.shape[0] if log_total > -math.inf else 0):
        share = math.exp(log_weights[r] - log_total)
        for i in range(sizes.shape[0]):
            sizes[i] += share * particles[r, i]


@jit
def poisson_strengths(
    seeds, n_particles, n_steps, data, observed, exposures, loadings, offset, a, own_shape, theta,
    table, log_sums, errors, probs, sample, sizes,
):  # fmt: skip
    """Fill log p(x) up to a constant, its error, P(z_i = 1 | x), a z, and E[z_i s_i | x].

    Arguments as in `enumerate_rows.poisson`; `a` is the shape of strengths, and `own_shape` that of
    exposures, zero if they are given. If they are learned the constant is -sum_d log x_d!.
    """
    dims, features = loadings.shape
    law, matrix = law_of(theta, table), np.empty((features, features))
    mean, grid = mean_share(law), np.empty(n_steps + 1)
    typical = offset + mean * loadings.sum(axis=1)
    b, squares, shift = np.empty(features), np.empty(features), np.empty(features)
    totals, counts, at = np.empty(features), np.empty(dims), np.empty(dims, np.int64)
    particles, log_weights = np.empty((n_particles, features)), np.empty(n_particles)
    own, support = np.empty(n_particles), np.empty(features, np.int8)
    for n in range(data.shape[0]):
        m = sweep_poisson.list_counts(data[n], observed[n], at, counts)
        sweep_poisson.fill_totals(observed[n], loadings, totals)
        n_counts, background, usual = counts[:m].sum(), 0.0, 0.0
        for d in range(dims):
            if observed[n, d]:
                background += offset[d]
                usual += typical[d]
        learned = own_shape > 0.0
        exposure = (own_shape + n_counts) / (own_shape + usual) if learned else exposures[n]
        fill_moments(data[n], observed[n], exposure, loadings, offset, typical, b, squares, matrix)
        fill_shift(b, squares, matrix, mean, shift)
        row = sweep_poisson.PositiveCounts(at[:m], counts[:m], offset, loadings, totals)
        begin(seeds[n], n_steps + 1, law, shift, a, own_shape, exposure, support, particles, own)
        for r in range(n_particles):
            log_weights[r] = log_excess(
                particles[r], own[r], shift, row, background, n_counts, learned, np.empty(m)
            )
        betas = fill_grid(log_weights, grid)
        begin(seeds[n], 0, law, shift, a, own_shape, exposure, support, particles, own)
        anneal(
            seeds[n], betas, row, background, n_counts, shift, law, a, own_shape, particles, own,
            log_weights,
        )  # fmt: skip
        fill_sizes(log_weights, particles, sizes[n])
        on = (particles > 0.0).astype(np.int8)
        log_mean, errors[n] = summarise(seeds[n], log_weights, on, probs[n], sample[n])
        log_sums[n] = log_mean + log_sum(count_log_weights(theta + shift, table))
