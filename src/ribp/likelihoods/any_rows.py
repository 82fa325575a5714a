"""Rows with z summed out for any likelihood, by nothing but log p(x | z): in NumPy, and slowly.

What `ribp.kernels.enumerate_rows` and `anneal_rows` do for Gaussian data and counts. Enumeration
visits every z that the count law allows. Annealed importance sampling draws particles from the
prior and moves them at rising beta, along

    r_beta(z) = exp(table[|z|] + theta.z) p(x | z)^beta,       beta_t = t/T,

by flips of each feature in turn, by exchanging a feature that is on with one that is off, and by
whole rows of the prior: the mean weight is p(x), exactly, however poorly they mix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.data import BoolArray, Rows
from ribp.restricted_bernoulli import sample_sets
from ribp.symmetric import log_esp

LogLikelihood = Callable[[FloatArray, BoolArray, Rows], FloatArray]
"""log p(x_n | z_n) of rows: data, what of them is observed, z."""

Expected = Callable[[FloatArray, BoolArray, Rows], FloatArray]
"""E[z s | x, z] of rows, zero where z is."""


def enumerate_all(
    seeds: NDArray[np.uint64],
    values: FloatArray,
    observed: BoolArray,
    log_likelihood: LogLikelihood,
    theta: FloatArray,
    table: FloatArray,
    log_sums: FloatArray,
    probs: FloatArray,
    sample: Rows,
) -> None:
    """Fill log p(x), P(z_i = 1 | x) and a draw of z for every row."""
    every = _allowed(theta.size, np.flatnonzero(table > -np.inf))
    prior = table[every.sum(axis=1)] + every @ theta
    for n, (x, seen) in enumerate(zip(values, observed, strict=True)):
        shape = (len(every), x.size)
        log_p = prior + log_likelihood(
            np.broadcast_to(x, shape), np.broadcast_to(seen, shape), every
        )
        log_sums[n] = logsumexp(log_p)
        impossible = log_sums[n] == -np.inf
        probs[n] = np.nan if impossible else np.exp(log_p - log_sums[n]) @ every
        gumbel = np.random.default_rng(seeds[n]).gumbel(size=log_p.size)
        sample[n] = every[(log_p + gumbel).argmax()]


def _allowed(n_features: int, counts: IntArray) -> Rows:
    """Return all rows with one of these counts."""
    sets = [one for k in counts.tolist() for one in combinations(range(n_features), k)]
    rows = np.zeros((len(sets), n_features), np.int8)
    for row, one in zip(rows, sets, strict=True):
        row[list(one)] = 1
    return rows


def anneal(
    seeds: NDArray[np.uint64],
    n_particles: int,
    n_steps: int,
    values: FloatArray,
    observed: BoolArray,
    log_likelihood: LogLikelihood,
    theta: FloatArray,
    table: FloatArray,
    log_sums: FloatArray,
    errors: FloatArray,
    probs: FloatArray,
    sample: Rows,
    expected: Expected | None = None,
    sizes: FloatArray | None = None,
) -> None:
    """Fill log p(x), its error, P(z_i = 1 | x) and a draw of z for every row.

    Where entries have sizes also their means, zero where they are off; given z they are `expected`.
    """
    for n, (x, seen) in enumerate(zip(values, observed, strict=True)):
        rng, shape = np.random.default_rng(seeds[n]), (n_particles, x.size)
        data = np.broadcast_to(x, shape), np.broadcast_to(seen, shape)
        particles = _Particles(rng, theta, table, n_particles, partial(log_likelihood, *data))
        log_weights = particles.annealed(n_steps)
        top = log_weights.max()
        if top == -np.inf:
            log_sums[n], errors[n], probs[n] = -np.inf, np.inf, np.nan
            sample[n] = particles.z[0]
            if sizes is not None:
                sizes[n] = np.nan
            continue
        weights = np.exp(log_weights - top)
        mean = weights.mean()
        log_sums[n] = top + math.log(mean) + particles.log_total
        errors[n] = weights.std(ddof=1) / mean / math.sqrt(n_particles)
        probs[n] = weights @ particles.z / weights.sum()
        sample[n] = particles.z[rng.choice(n_particles, p=weights / weights.sum())]
        if expected is not None and sizes is not None:
            sizes[n] = weights @ expected(*data, particles.z) / weights.sum()


class _Particles:
    """Rows on their way from the prior to the posterior."""

    def __init__(
        self,
        rng: np.random.Generator,
        theta: FloatArray,
        table: FloatArray,
        number: int,
        log_likelihood: Callable[[Rows], FloatArray],
    ) -> None:
        self.rng, self.theta, self.table = rng, theta, table
        log_f = table + log_esp(theta)
        self.log_total = float(logsumexp(log_f))
        self.count_probs = np.exp(log_f - self.log_total)
        self.number, self.log_likelihood = number, log_likelihood
        self.z = self._fresh()
        self.fit = log_likelihood(self.z)

    def _fresh(self) -> Rows:
        counts = self.rng.choice(self.table.size, size=self.number, p=self.count_probs)
        z = np.zeros((self.number, self.theta.size), np.int8)
        z[np.repeat(np.arange(self.number), counts), sample_sets(self.rng, self.theta, counts)] = 1
        return z

    def annealed(self, n_steps: int) -> FloatArray:
        """Move at rising beta, and return the log-weights."""
        log_weights = np.zeros(self.number)
        for t in range(1, n_steps + 1):
            log_weights += self.fit / n_steps
            beta = t / n_steps
            for i in range(self.theta.size):
                self._flip(i, beta)
            self._exchange(beta)
            self._propose(self._fresh(), beta, np.zeros(self.number))
        return log_weights

    def _flip(self, i: int, beta: float) -> None:
        rest = self.z.sum(axis=1) - self.z[:, i]
        on, off = self.table[rest + 1], self.table[rest]
        both = np.isfinite(on) & np.isfinite(off)
        if not both.any():
            return
        other = self.z.copy()
        other[:, i] ^= 1
        fit = self.log_likelihood(other)
        prior = self.theta[i] + np.where(both, on, 0.0) - np.where(both, off, 0.0)
        ratio = np.where(other[:, i] == 1, prior, -prior) + beta * _difference(fit, self.fit)
        self._accept(other, fit, both & (self.rng.random(self.number) < expit(ratio)))

    def _exchange(self, beta: float) -> None:
        """Exchange a feature that is on with one that is off, both at random."""
        keys, everyone = self.rng.random(self.z.shape), np.arange(self.number)
        on = np.where(self.z == 1, keys, -1.0).argmax(axis=1)
        off = np.where(self.z == 0, keys, -1.0).argmax(axis=1)
        other = self.z.copy()
        other[everyone, on], other[everyone, off] = 0, 1
        ones = self.z.sum(axis=1)
        possible = (ones > 0) & (ones < self.theta.size)
        other[~possible] = self.z[~possible]
        self._propose(other, beta, self.theta[off] - self.theta[on], possible)

    def _propose(
        self, other: Rows, beta: float, prior: FloatArray, possible: BoolArray | bool = True
    ) -> None:
        fit = self.log_likelihood(other)
        ratio = prior + beta * _difference(fit, self.fit)
        self._accept(other, fit, possible & (np.log(self.rng.random(self.number)) < ratio))

    def _accept(self, other: Rows, fit: FloatArray, accepted: BoolArray) -> None:
        self.z[accepted], self.fit[accepted] = other[accepted], fit[accepted]


def _difference(new: FloatArray, old: FloatArray) -> FloatArray:
    """Return new - old, where both may be -inf."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(new - old, nan=0.0, posinf=np.inf, neginf=-np.inf)
