"""Rows whose entries count, given the features: swept, and with z summed out.

What `ribp.likelihoods.row_sweeps` is for binary rows. Kernels: `sweep_sums` where the sum of a row
is restricted, `sweep_nonzeros` where the number of its non-zeros is.

A new row whose sum is restricted is visited in all its forms if they are few (`enumerate_units`).
Other rows by annealed importance sampling: particles are drawn from

    q(z) proportional to P(z) exp(s.z - sum_i t_i z_i^2/2),

which can be added up and drawn from, entry by entry, where non-zeros are restricted (s and t half
of what a linear regression says of each entry; zero where the sum is restricted), and swept at
rising beta_t = t/T along q^(1-beta) p(z | x)^beta. The same sweeps do, with b, G_ii and G_ij
replaced by s + beta (b - s), t_i + beta (G_ii - t_i) and beta G_ij. The mean weight is p(x).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from ribp.checks import FloatArray, IntArray
from ribp.entries import EntryLaw
from ribp.kernels import enumerate_units, sweep_nonzeros, sweep_sums
from ribp.kernels.entry_density import entry_weights, summed_log_factors
from ribp.kernels.sweep_nonzeros import draw_values, summed_values
from ribp.likelihoods.data import Data
from ribp.likelihoods.row_sweeps import (
    Laws,
    Linear,
    Mask,
    RowPrior,
    Work,
    gaussian_sums,
    needs_whole_rows,
)
from ribp.restricted_bernoulli import sample_sets
from ribp.symmetric import log_esp

_COMPLETE = np.zeros((0, 0), np.bool_)
_DAMPED = 0.5  # of a regression: q is wider than the posterior
_UNSEEN = 1e-9  # a curvature below which an entry is left to its prior
_FEWER = 4  # times fewer steps than from the prior


class MultiplicitySums(NamedTuple):
    """What features, scales and the log joint need to know of data and rows."""

    pairs: FloatArray
    """Z'Z, shape (features, features)."""
    gaps: FloatArray
    """Z'Z of the rows that do not show a column, for each; without columns if data are complete."""
    products: FloatArray
    """Z'X, shape (features, dims), if missing entries are zero."""
    squares: FloatArray
    """Sum of x^2 for each column."""
    number: FloatArray
    """How many rows show each column."""
    log_factors: float
    """What log prod a(z_ni) has beside the weights (`ribp.kernels.value_weights.log_factor`)."""


class Sweeps(NamedTuple):
    """Sweeps over rows, all with the same features and weights."""

    law: EntryLaw
    laws: Laws
    weights: FloatArray
    """Log rates, log hazards and log-odds of not being zero, shape (3, features)."""
    linear: Linear

    @classmethod
    def of(
        cls, prior: RowPrior, law: EntryLaw, features: FloatArray, variance: FloatArray
    ) -> Sweeps:
        """Return those of a prior, given features and variances of the columns."""
        most = prior.tables.shape[1] - 1
        normalisers = law.log_normalisers(prior.log_odds, most)
        if law.by_sum:
            orders = gammaln(np.arange(most + 1) + 1.0)
            prior = prior._replace(tables=prior.tables - orders)
            normalisers = normalisers + orders
        laws = Laws.of(prior, normalisers=normalisers)
        weights = entry_weights(np.array(prior.log_odds, np.float64), law.growth)
        return cls(law, laws, weights, Linear.of(features, variance, laws))

    def __call__(
        self,
        seed: np.uint64,
        number: int,
        first: int,
        products: FloatArray,
        observed: Mask,
        law_of_row: IntArray,
        rows: Any,
    ) -> None:
        """Update rows number first, first + 1, ... in place."""
        linear, laws = self.linear, self.laws
        data = seed, number, first, products, observed, rows, *linear[1:4]
        prior = laws.tables, laws.steps, law_of_row, laws.moves
        if self.law.by_sum:
            sweep_sums.sweep(*data, self.weights[0], self.law.growth, *prior)
        else:
            sweep_nonzeros.sweep(
                *data, *self.weights, self.law.growth, *prior, linear.guide, *laws.moments
            )


def multiplicity_work(
    seed: np.uint64,
    number: int,
    parameters: Any,
    prior: RowPrior,
    law: EntryLaw,
    *,
    background: bool = False,
) -> Work[MultiplicitySums]:
    """Return what a sweep does to a block of rows.

    Parameters
    ----------
    seed, number
        The key of all random numbers, with the number of the row.
    parameters
        Features and scales, `GaussianParameters`.
    prior, law
        Of rows.
    background
        Whether sums have a last feature that every row has.
    """
    sweep = Sweeps.of(prior, law, parameters.features, parameters.noise_scale**2)

    def work(first: int, data: Data, law_of_row: IntArray, rows: Any) -> MultiplicitySums:
        values, observed, _ = data
        products = sweep.linear.products(values, observed, parameters.background)
        sweep(seed, number, first, products, observed, law_of_row, rows)
        factors = float(summed_log_factors(rows, law.growth))
        return MultiplicitySums(*gaussian_sums(values, observed, rows, background), factors)

    return work


def enumerate_multiplicities(
    seeds: NDArray[np.uint64],
    values: FloatArray,
    observed: Mask,
    loadings: FloatArray,
    gram: FloatArray,
    diagonal: FloatArray,
    law: EntryLaw,
    theta: FloatArray,
    table: FloatArray,
    log_sums: FloatArray,
    probs: FloatArray,
    sample: Any,
    errors: FloatArray,
    means: FloatArray,
) -> None:
    """Fill log p(x), P(z_i > 0 | x), a draw of z and E[z_i | x] of rows that have few forms.

    `errors` are left at zero: all is exact.
    """
    log_rates = entry_weights(np.array(theta, np.float64), law.growth)[0]
    enumerate_units.units(
        seeds, values, observed, loadings, gram, diagonal, log_rates, law.growth, table,
        log_sums, probs, sample, means,
    )  # fmt: skip


def anneal_multiplicities(
    seeds: NDArray[np.uint64],
    n_particles: int,
    n_steps: int,
    values: FloatArray,
    observed: Mask,
    loadings: FloatArray,
    gram: FloatArray,
    diagonal: FloatArray,
    law: EntryLaw,
    theta: FloatArray,
    table: FloatArray,
    log_sums: FloatArray,
    errors: FloatArray,
    probs: FloatArray,
    sample: Any,
    means: FloatArray,
) -> None:
    """Fill the same, and the errors of log p(x), by annealing."""
    alone = np.ones(1, np.int64)
    prior = RowPrior(theta, table[None], needs_whole_rows(table[None]), alone)
    for n, seed in enumerate(seeds):
        rng, own = np.random.default_rng(seed), loadings[observed[n]]
        sweep = Sweeps.of(prior, law, own.T, np.ones(len(own)))
        path = _Path.of(sweep, values[n][observed[n]] @ own)
        z, log_total = path.begin(rng, seed, table, theta, n_particles)
        fewer = n_steps if law.by_sum else max(1, n_steps // _FEWER)
        log_weights = path.annealed(seed, fewer, z)
        top = log_weights.max()
        weights = np.exp(log_weights - top)
        mean = weights.mean()
        log_sums[n] = top + math.log(mean) + log_total
        errors[n] = weights.std(ddof=1) / mean / math.sqrt(n_particles)
        shares = weights / weights.sum()
        probs[n], means[n] = shares @ (z > 0), shares @ z
        sample[n] = z[rng.choice(n_particles, p=shares)]


class _Path(NamedTuple):
    """The way of the particles of a row."""

    sweep: Sweeps
    b: FloatArray
    slope: FloatArray
    """The numbers s, zero where the sum is restricted."""
    bend: FloatArray
    """The numbers t."""

    @classmethod
    def of(cls, sweep: Sweeps, b: FloatArray) -> _Path:
        """Return the way to the posterior of a row, given the products b of its data."""
        slope, bend = np.zeros((2, b.size))
        if not sweep.law.by_sum:
            mean, precision = sweep.laws.moments
            full = sweep.linear.gram + np.diag(sweep.linear.diagonal + precision)
            inverse = np.linalg.inv(full)
            spread = np.diag(inverse)
            bend = _DAMPED * (1.0 / spread - precision)
            slope = _DAMPED * (inverse @ (b + precision * mean) / spread - precision * mean)
            seen = bend > _UNSEEN
            slope, bend = np.where(seen, slope, 0.0), np.where(seen, bend, 0.0)
        return cls(sweep, b, slope, bend)

    def begin(
        self,
        rng: np.random.Generator,
        seed: np.uint64,
        table: FloatArray,
        theta: FloatArray,
        number: int,
    ) -> tuple[Any, float]:
        """Return draws of q, and the logarithm of what it adds up to."""
        law, odds = self.sweep.law, np.empty(theta.size)
        log_normalisers = law.log_normalisers(theta, table.size - 1)
        if not law.by_sum:
            summed_values(self.sweep.weights, self.slope, self.bend, law.growth, odds)
            log_normalisers = log_esp(odds)
        log_f = table + log_normalisers
        total = float(logsumexp(log_f))
        counts = rng.choice(table.size, number, p=np.exp(log_f - total))
        if law.by_sum:
            return law.draw_rows(rng, theta, counts), total
        z = np.zeros((number, theta.size))
        z[np.repeat(np.arange(number), counts), sample_sets(rng, odds, counts)] = 1.0
        draw_values(seed, self.sweep.weights, self.slope, self.bend, law.growth, z)
        return z, total

    def annealed(self, seed: np.uint64, n_steps: int, z: Any) -> FloatArray:
        """Move particles along, and return their log-weights."""
        linear, same = self.sweep.linear, np.zeros(len(z), np.int64)
        left, bends = self.b - self.slope, linear.diagonal - self.bend
        log_weights = np.zeros(len(z))
        for step in range(1, n_steps + 1):
            log_ratio = z @ left - 0.5 * ((z @ linear.gram * z).sum(axis=1) + z**2 @ bends)
            log_weights += log_ratio / n_steps
            beta = step / n_steps
            there = linear._replace(gram=beta * linear.gram, diagonal=beta * bends + self.bend)
            products = np.tile(beta * left + self.slope, (len(z), 1))
            move = self.sweep._replace(linear=there)
            move(seed, step, 0, products, _COMPLETE, same, z)
        return log_weights
