"""The posterior of a row of a table of kinds, features known: every row visited, or annealing.

As `enumerate_rows` and `anneal_rows`, with the terms and gains of `sweep_kinds`. Both give

    log p(x) - log p(x | z = 0).

Sets are visited depth first. A set that can grow keeps its eta and the gains of all members that
may come next, so that a set of the largest size costs as much as one factor for each term.

Annealing multiplies gains by beta. Its guide is that of Gaussian data which are about alike: `data`
holds, after the values of a row, x~_l = (y_l - b_l) h_l^{1/2} for each latent column, y a working
value and h a bend, and `scaled` is A' h^{1/2}.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels import whole_rows
from ribp.kernels.anneal_rows import (
    count_log_weights,
    draw_guide,
    fill_grid,
    fill_shift,
    law_of,
    log_sum,
    mean_share,
    propose,
    summarise,
)
from ribp.kernels.enumerate_rows import finish, next_set, own_gram, start, weigh
from ribp.kernels.jit import jit
from ribp.kernels.kind_terms import ETA, ODDS, fill_terms, log_likelihood
from ribp.kernels.sweep_kinds import (
    GAINS,
    WORK,
    excess,
    fill_gains,
    fill_linear,
    flip_each,
    relocate_each,
    spread_mask,
)


@jit
def enumerate_all(
    seeds, data, observed, exposures, columns, terms, latent, scaled, common, diagonal, theta,
    table, log_sums, probs, sample,
):  # fmt: skip
    """Fill log p(x) - log p(x | z = 0), P(z_i = 1 | x) and a draw of z for every row."""
    place, form, at, width, begin, thresholds, numbers = columns
    whole, real, ends = terms
    features, loadings, growth, background, every = latent
    number, size_of_eta = theta.shape[0], background.shape[1]
    smallest, largest = whole_rows.smallest_count(table), whole_rows.largest_count(table)
    work, shares = np.empty((WORK, number)), np.empty(size_of_eta)
    eta, gain = np.empty((largest + 1, 2, size_of_eta)), np.empty((largest + 1, number))
    members, tally, score = np.empty(largest, np.int64), np.empty(4), np.zeros(largest + 1)
    eta[0], none = background, np.zeros(number, np.int8)
    for n in range(data.shape[0]):
        fill_terms(
            data[n], observed[n], exposures[n], place, form, at, width, begin, thresholds, numbers,
            whole, real, ends,
        )  # fmt: skip
        fill_linear(whole, real, ends, loadings, work)
        start(tally, probs[n], sample[n])
        size, first = 0, 0
        while size >= 0:
            if table[size] > -math.inf:
                log_weight = table[size] + score[size]
                weigh(seeds[n], log_weight, members[:size], tally, probs[n], sample[n])
            if size < largest:
                fill_gains(
                    first, none, eta[size], whole, real, ends, features, loadings, growth,
                    background, every, work, shares,
                )  # fmt: skip
                gain[size, first:] = work[GAINS, first:]
            size = next_set(members, size, number, smallest, largest)
            if size > 0:
                j = members[size - 1]
                first = j + 1
                score[size] = score[size - 1] + theta[j] + gain[size - 1, j]
                for k in range(size_of_eta):
                    eta[size, ETA, k] = eta[size - 1, ETA, k] + features[ETA, j, k]
                    eta[size, ODDS, k] = eta[size - 1, ODDS, k] * features[ODDS, j, k]
        log_sums[n] = finish(tally, probs[n])


@jit
def anneal_particles(
    seed, grid, terms, latent, shift, law, work, shares, eta, particles, log_weights
):
    """Move the particles from the guide to the posterior, and fill their log-weights."""
    whole, real, ends = terms
    features, loadings, growth, background, every = latent
    active, proposal = np.empty(shift.size, np.int64), np.empty(shift.size, np.int8)
    draw_guide(seed, 0, law, shift, particles)
    log_weights[:] = 0.0
    for t in range(1, grid.shape[0]):
        beta = grid[t]
        tilted = law.theta + (1.0 - beta) * shift
        for r in range(particles.shape[0]):
            z = particles[r]
            here = excess(z, shift, whole, real, ends, features, background, eta, shares)
            log_weights[r] += (beta - grid[t - 1]) * here
            if law.flips:
                flip_each(
                    seed, t, r, z, beta, tilted, law.steps, whole, real, ends, features, loadings,
                    growth, background, every, eta, work, shares,
                )  # fmt: skip
            relocate_each(
                seed, t, r, z, beta, tilted, whole, real, ends, features, loadings, growth,
                background, every, eta, work, shares, active,
            )  # fmt: skip
            if law.gaps:
                u = propose(seed, t, r, law, shift, proposal)
                gained = excess(
                    proposal, shift, whole, real, ends, features, background, eta, shares
                )
                gained -= excess(z, shift, whole, real, ends, features, background, eta, shares)
                if math.log(u) < beta * gained:
                    z[:] = proposal


@jit
def anneal(
    seeds, n_particles, n_steps, data, observed, exposures, columns, terms, latent, scaled, common,
    diagonal, theta, table, log_sums, errors, probs, sample,
):  # fmt: skip
    """Fill log p(x) - log p(x | z = 0), its error, P(z_i = 1 | x) and a draw of z for every row."""
    place, form, at, width, begin, thresholds, numbers = columns
    whole, real, ends = terms
    features, loadings, _, background, _ = latent
    number, size, dims = theta.shape[0], background.shape[1], observed.shape[1]
    law, matrix = law_of(theta, table), np.empty((number, number))
    mean, grid = mean_share(law), np.empty(n_steps + 1)
    b, squares, shift = np.empty(number), np.empty(number), np.empty(number)
    work, shares, eta = np.empty((WORK, number)), np.empty(size), np.empty((2, size))
    particles, log_weights = np.empty((n_particles, number), np.int8), np.empty(n_particles)
    mask = np.empty(size, np.bool_)
    for n in range(data.shape[0]):
        fill_terms(
            data[n], observed[n], exposures[n], place, form, at, width, begin, thresholds, numbers,
            whole, real, ends,
        )  # fmt: skip
        fill_linear(whole, real, ends, loadings, work)
        spread_mask(observed[n], columns, mask)
        own_gram(data[n, dims:], mask, scaled, common, diagonal, b, squares, matrix)
        fill_shift(b, squares, matrix, mean, shift)
        draw_guide(seeds[n], n_steps + 1, law, shift, particles)
        for r in range(n_particles):
            log_weights[r] = excess(
                particles[r], shift, whole, real, ends, features, background, eta, shares
            )
        betas = fill_grid(log_weights, grid)
        anneal_particles(
            seeds[n], betas, terms, latent, shift, law, work, shares, eta, particles, log_weights,
        )  # fmt: skip
        log_mean, errors[n] = summarise(seeds[n], log_weights, particles, probs[n], sample[n])
        log_sums[n] = log_mean + log_sum(count_log_weights(theta + shift, table))
        log_sums[n] -= log_likelihood(background[ETA], whole, real, ends, shares)
