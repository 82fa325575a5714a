"""The posterior of a row with known features, by annealed importance sampling.

Wanted are p(x) = sum_z p(z) L(z), p(z) = exp(table[|z|] + theta.z), and the law of z given x, for
a row whose count law allows too many z to visit (Neal 2001, "Annealed importance sampling").
Particles are drawn from a guide and moved, at rising beta, along the path

    q(z) = exp(table[|z|] + (theta + shift).z) / Q,
    r_beta(z) = exp(table[|z|] + theta.z + (1 - beta) shift.z + beta log L(z)),

from r_0 = Q q to r_1 = p L. The guide is the row law with log-odds shifted to the data (see
`whole_rows`): its Q is known, draws are exact, and every r_beta is a posterior with other log-odds
and a likelihood to the power beta, so the moves of `sweep_gaussian` and `sweep_poisson` serve
unchanged; whole rows drawn from q, accepted with probability min(1, exp(beta (excess' - excess))),
lead across gaps of the count law. With excess(z) = log L(z) - shift.z, a particle that goes through
z_0, z_1, ... has the weight

    log w = sum_t (beta_t - beta_{t-1}) excess(z_{t-1}).

E[w] = p(x)/Q exactly, for any number of steps and however poorly the moves mix: with K_t a move
that leaves r_t invariant (r_t = r_{beta_t}), sum_{z_0} r_0(z_0) (r_1/r_0)(z_0) K_1(z_0, z_1) =
sum_{z_0} r_1(z_0) K_1(z_0, z_1) = r_1(z_1), and so on, one sum after another, up to the sum of r_T,
which is p(x). Times any function of the last z the same sums give its expectation under p L: the
weighted particles estimate posterior probabilities, and one of them, drawn by weight, is a draw.

The steps of beta are even where excess is flat and in proportion to beta where it is steep,

    beta_t = ((1 + E)^(t/T) - 1)/E,     E the standard deviation of excess under q,

and there are no more of them than help: where moves forget, log w has the variance
log(1 + E)^2/T, so T = 8 log(1 + E)^2 steps (but 16 at least) leave an eighth, if so many are
allowed. E is from draws of their own: given those, the particles know of a fixed grid only, and
p(x) stays unbiased. The error of log p(x) is that of the mean weight (delta method). It cannot
speak of parts of the posterior that no particle has met.

Random numbers are keyed by the seed of the row, the step (0 for the guide, T + 1 for E) and the
particle. A sweep costs as much as one of `sweep_gaussian` or `sweep_poisson`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels import sweep_gaussian, sweep_poisson, whole_rows
from ribp.kernels.choose import pick
from ribp.kernels.enumerate_rows import own_gram
from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

_CLIP = 20.0  # a guide that is wrong must be left at a small beta
_FLAT = 1e-6  # below this E the steps are even
_FINE = 8.0  # steps are chosen so that log w has one part in so many as its variance
_FEW = 16  # steps at least: draws of the guide may not have met what is rare and heavy
_LEAST = 1e-100  # no variance is below half of this


class Law(NamedTuple):
    """The law of a row, as moves want it."""

    theta: NDArray[np.float64]
    table: NDArray[np.float64]
    steps: NDArray[np.float64]
    """table[k+1] - table[k], -inf where count k + 1 is impossible."""
    flips: bool
    """Whether two neighbouring counts are possible."""
    gaps: bool
    """Whether counts between two possible ones are impossible."""


@jit
def law_of(theta, table):
    """Return the law of a row with its steps, and which moves it needs."""
    steps = np.full(theta.shape[0], -math.inf)
    flips, runs = False, 1 if table[0] > -math.inf else 0
    for k in range(theta.shape[0]):
        if table[k + 1] > -math.inf:
            steps[k] = table[k + 1] - table[k]
            flips = flips or table[k] > -math.inf
            runs += table[k] == -math.inf
    return Law(theta, table, steps, flips, runs > 1)


@jit
def count_log_weights(log_odds, table):
    """Return table[k] + log e_k(exp(log_odds)) for all k up to the largest possible count."""
    top = whole_rows.largest_count(table)
    log_counts, take = np.empty(top + 1), np.empty((log_odds.shape[0], top + 1))
    whole_rows.set_up(log_odds, table, log_counts, take)
    return log_counts


@jit
def log_sum(values):
    """Return log sum exp(values)."""
    top, total = -math.inf, 0.0
    for value in values:
        top = max(top, value)
    for value in values:
        total += math.exp(value - top) if value > -math.inf else 0.0
    return top + math.log(total) if total > 0.0 else top


@jit
def mean_share(law):
    """Return the mean of |z|/I under the law, kept away from 0 and 1."""
    log_counts = count_log_weights(law.theta, law.table)
    log_total, mean = log_sum(log_counts), 0.0
    for k in range(log_counts.shape[0]):
        mean += k * math.exp(log_counts[k] - log_total)
    return min(max(mean / law.theta.shape[0], 0.01), 0.99)


@jit
def invert(matrix):
    """Invert a positive definite matrix in place."""
    for k in range(matrix.shape[0]):
        pivot = 1.0 / matrix[k, k]
        matrix[k, k] = 1.0
        for j in range(matrix.shape[0]):
            matrix[k, j] *= pivot
        for i in range(matrix.shape[0]):
            if i != k:
                factor = matrix[i, k]
                matrix[i, k] = 0.0
                for j in range(matrix.shape[0]):
                    matrix[i, j] -= factor * matrix[k, j]


@jit
def fill_shift(b, squares, matrix, mean, shift):
    """Fill the shift of the guide for data with these b, G_ii and G (zero on its diagonal)."""
    precision = 1.0 / (mean * (1.0 - mean))
    inverse = np.empty_like(matrix)
    for i in range(b.shape[0]):
        for j in range(b.shape[0]):
            inverse[i, j] = matrix[i, j]
        inverse[i, i] = squares[i] + precision
    invert(inverse)
    whole_rows.fill_shift(b, squares, squares, inverse, mean, precision, shift)
    for i in range(b.shape[0]):
        known = shift[i] == shift[i]
        shift[i] = min(max(shift[i], -_CLIP), _CLIP) if known else 0.0


@jit
def draw_guide(seed, step, law, shift, particles):
    """Fill the particles by draws from the guide."""
    log_odds = law.theta + shift
    for r in range(particles.shape[0]):
        whole_rows.draw(seed, step, r, 0, log_odds, law.table, particles[r])


@jit
def spread(values):
    """Return the standard deviation of the values that are finite; 0 if there are none."""
    number = total = squares = 0.0
    for value in values:
        if value > -math.inf:
            number += 1.0
            total += value
    for value in values:
        if value > -math.inf:
            squares += (value - total / number) ** 2
    return math.sqrt(squares / max(number, 1.0))


@jit
def fill_grid(excesses, grid):
    """Fill beta_0 = 0 .. beta_T = 1 by the spread of the excesses that are finite; return them.

    There are as many as they need, at most as many as there is room for.
    """
    steep = spread(excesses)
    length = math.log1p(steep)
    last = min(grid.shape[0] - 1, max(_FEW, math.ceil(_FINE * length**2)))
    for t in range(last):
        even = t / last
        grid[t] = math.expm1(even * length) / steep if steep > _FLAT else even
    grid[last] = 1.0
    return grid[: last + 1]


@jit
def propose(seed, step, particle, law, shift, proposal):
    """Fill a whole row drawn from the guide; return a uniform for its acceptance."""
    block = 3 * law.theta.shape[0] // 2 + 2
    whole_rows.draw(seed, step, particle, block + 1, law.theta + shift, law.table, proposal)
    return uniform_pair(seed, step, particle, block)[0]


@jit
def summarise(seed, log_weights, particles, probs, z):
    """Fill probabilities and a draw; return the logarithm of the mean weight and its error.

    If all weights are zero nothing is known: NaN probabilities and an infinite error.
    `log_weights` is overwritten.
    """
    number, log_total = particles.shape[0], log_sum(log_weights)
    z[:] = 0
    if log_total == -math.inf:
        probs[:] = math.nan
        return log_total, math.inf
    probs[:] = 0.0
    squares = 0.0
    for r in range(number):
        share = math.exp(log_weights[r] - log_total)
        squares += (share - 1.0 / number) ** 2
        for i in range(probs.shape[0]):
            probs[i] += share * particles[r, i]
    for i in range(probs.shape[0]):
        probs[i] = min(probs[i], 1.0)
    z[:] = particles[pick(log_weights, uniform_pair(seed, 0, number, 0)[0])]
    error = math.sqrt(squares * number / (number - 1.0))
    return log_total - math.log(number), error


@jit
def move_gaussian(seed, step, particle, z, tilted, warm, hot, law, work, active):
    """Flip and relocate at one beta: `tilted` log-odds, `warm` beta linear, `hot` beta G."""
    ones = sweep_gaussian.fill_gain(z, tilted, warm, hot, work[0])
    if law.flips:
        sweep_gaussian._flip_each(seed, step, particle, z, ones, work[0], hot, law.steps)
    sweep_gaussian._relocate_each(seed, step, particle, z, work[0], hot, active, work[1])


@jit
def anneal_gaussian(seed, grid, linear, gram, shift, law, particles, log_weights):
    """Move the particles from the guide to the posterior, and fill their log-weights."""
    features = linear.shape[0]
    work, proposal = np.empty((2, features)), np.empty(features, np.int8)
    active, heated = np.empty(features, np.int64), np.empty_like(gram.matrix)
    tilted, warm = np.empty(features), np.empty(features)
    hot = sweep_gaussian.Gram(heated, gram.mask, gram.add, gram.loadings, heated)
    draw_guide(seed, 0, law, shift, particles)
    log_weights[:] = 0.0
    for t in range(1, grid.shape[0]):
        beta = grid[t]
        for i in range(features):
            tilted[i] = law.theta[i] + (1.0 - beta) * shift[i]
            warm[i] = beta * linear[i]
            for j in range(features):
                heated[i, j] = beta * gram.matrix[i, j]
        for r in range(particles.shape[0]):
            z = particles[r]
            log_weights[r] += (beta - grid[t - 1]) * sweep_gaussian.excess(z, linear, shift, gram)
            move_gaussian(seed, t, r, z, tilted, warm, hot, law, work, active)
            if law.gaps:
                u = propose(seed, t, r, law, shift, proposal)
                gained = sweep_gaussian.excess(proposal, linear, shift, gram)
                gained -= sweep_gaussian.excess(z, linear, shift, gram)
                if math.log(u) < beta * gained:
                    z[:] = proposal


@jit
def gaussian(
    seeds, n_particles, n_steps, data, observed, loadings, common, diagonal, theta, table,
    log_sums, errors, probs, sample,
):  # fmt: skip
    """Fill log p(x) - log p(x | z = 0), its error, P(z_i = 1 | x) and a draw of z for every row.

    Arguments as in `enumerate_rows.gaussian`.
    """
    features, law = theta.shape[0], law_of(theta, table)
    mean, matrix = mean_share(law), np.empty((features, features))
    b, squares, shift = np.empty(features), np.empty(features), np.empty(features)
    particles, log_weights = np.empty((n_particles, features), np.int8), np.empty(n_particles)
    grid = np.empty(n_steps + 1)
    gram = sweep_gaussian.Gram(matrix, np.empty(0, np.bool_), False, loadings, matrix)
    for n in range(data.shape[0]):
        own_gram(data[n], observed[n], loadings, common, diagonal, b, squares, matrix)
        fill_shift(b, squares, matrix, mean, shift)
        linear = b - 0.5 * squares
        draw_guide(seeds[n], n_steps + 1, law, shift, particles)
        for r in range(n_particles):
            log_weights[r] = sweep_gaussian.excess(particles[r], linear, shift, gram)
        betas = fill_grid(log_weights, grid)
        anneal_gaussian(seeds[n], betas, linear, gram, shift, law, particles, log_weights)
        log_mean, errors[n] = summarise(seeds[n], log_weights, particles, probs[n], sample[n])
        log_sums[n] = log_mean + log_sum(count_log_weights(theta + shift, table))


@jit
def fill_moments(x, mask, exposure, loadings, offset, typical, b, squares, matrix):
    """Fill b, G_ii and G of Gaussian data much like these counts.

    Counts over the exposure r have the variance (x/r + typical rate)/(2r): that of an average row
    would make too much of large counts, that of the row itself of zeros.
    """
    features = b.shape[0]
    b[:] = 0.0
    matrix[:] = 0.0
    for d in range(x.shape[0]):
        if mask[d]:
            own = x[d] / exposure
            inverse = 2.0 * exposure / max(own + typical[d], _LEAST)
            for i in range(features):
                scaled = loadings[d, i] * inverse
                b[i] += scaled * (own - offset[d])
                for j in range(features):
                    matrix[i, j] += scaled * loadings[d, j]
    for i in range(features):
        squares[i] = matrix[i, i]
        matrix[i, i] = 0.0


@jit
def anneal_poisson(seed, grid, data, shift, law, particles, log_weights):
    """Move the particles from the guide to the posterior, and fill their log-weights.

    A likelihood to the power beta is one with beta times the counts and rates.
    """
    features = shift.shape[0]
    rates, trial = np.empty(data.at.shape[0]), np.empty(data.at.shape[0])
    gains, active = np.empty(features), np.empty(features, np.int64)
    proposal = np.empty(features, np.int8)
    draw_guide(seed, 0, law, shift, particles)
    log_weights[:] = 0.0
    for t in range(1, grid.shape[0]):
        beta = grid[t]
        tilted = law.theta + (1.0 - beta) * shift
        hot = sweep_poisson.PositiveCounts(
            data.at, beta * data.x, data.offset, data.loadings, beta * data.totals
        )
        for r in range(particles.shape[0]):
            z = particles[r]
            log_weights[r] += (beta - grid[t - 1]) * sweep_poisson.excess(z, shift, data, rates)
            if log_weights[r] == -math.inf:
                continue
            if law.flips:
                sweep_poisson._flip_each(
                    seed, t, r, z, tilted, law.steps, hot, rates, trial, gains
                )  # fmt: skip
            sweep_poisson._relocate_each(seed, t, r, z, tilted, hot, rates, gains, active)
            if law.gaps:
                u = propose(seed, t, r, law, shift, proposal)
                gained = sweep_poisson.excess(proposal, shift, data, rates)
                gained -= sweep_poisson.excess(z, shift, data, rates)
                if math.log(u) < beta * gained:
                    z[:] = proposal


@jit
def poisson(
    seeds, n_particles, n_steps, data, observed, exposures, loadings, offset, theta, table,
    log_sums, errors, probs, sample,
):  # fmt: skip
    """Fill log p(x) up to a constant, its error, P(z_i = 1 | x) and a draw of z for every row.

    Arguments as in `enumerate_rows.poisson`.
    """
    dims, features = loadings.shape
    law, matrix = law_of(theta, table), np.empty((features, features))
    mean, grid = mean_share(law), np.empty(n_steps + 1)
    typical = offset + mean * loadings.sum(axis=1)
    b, squares, shift = np.empty(features), np.empty(features), np.empty(features)
    totals, counts, at = np.empty(features), np.empty(dims), np.empty(dims, np.int64)
    particles, log_weights = np.empty((n_particles, features), np.int8), np.empty(n_particles)
    for n in range(data.shape[0]):
        fill_moments(
            data[n], observed[n], exposures[n], loadings, offset, typical, b, squares, matrix
        )
        fill_shift(b, squares, matrix, mean, shift)
        sweep_poisson.fill_totals(observed[n], loadings, totals)
        totals *= exposures[n]
        m = sweep_poisson.list_counts(data[n], observed[n], at, counts)
        own = sweep_poisson.PositiveCounts(at[:m], counts[:m], offset, loadings, totals)
        draw_guide(seeds[n], n_steps + 1, law, shift, particles)
        for r in range(n_particles):
            log_weights[r] = sweep_poisson.excess(particles[r], shift, own, np.empty(m))
        betas = fill_grid(log_weights, grid)
        anneal_poisson(seeds[n], betas, own, shift, law, particles, log_weights)
        log_mean, errors[n] = summarise(seeds[n], log_weights, particles, probs[n], sample[n])
        log_sums[n] = log_mean + log_sum(count_log_weights(theta + shift, table))
