"""The weights given the rows: Hamiltonian steps on a concave target, at a cost free of N.

Only the column sums m_i and the numbers N_k of rows with k ones matter:

    log p(theta | Z) = m . theta - sum_k N_k log e_k(exp theta) + log prior(theta) + const,

which is concave, with gradient m - sum_k N_k eta_k + prior'. Each update has three parts.

**All features**, by Hamiltonian trajectories. The metric is close to minus the Hessian: with
p = m/N and u = N p (1-p) the rows contribute about diag(u) - u u'/sum(u), whose null vector is the
scale that rows cannot see, and the prior a diagonal g:

    M = D - u u'/sum(u) = D^{1/2} (1 - v v') D^{1/2},     D = diag(u + g).

It depends on m and N only, never on theta, so the step is a valid one; a product with M^{1/2} or
M^{-1} costs O(I).

**Rare features**, those with (sum of their m)^2 <= sum(m), lowest m first, by an independence
step: given the others they hardly see each other, so that the prior can propose them all at once
(`ribp.weights`). The long left tail of features that no row has is left in one step, and so is the
least atom of a size-ordered prior, where its density has an edge. With few rows they are proposed
in up to four blocks, since there they do see each other.

**The scale**, which rows do not see, by a slice step on the prior of theta + t.

Priors that kernels know are updated by one call of `ribp.kernels.weight_moves`; the others in
Python, by what stands here.

`independence_step` is the paper's joint proposal, Beta(a + m_i, b + N - m_i) for all i at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.kernels import elementary_symmetric
from ribp.kernels.weight_moves import (
    MOST_BLOCKS,
    STEP_SIZE,
    STEPS,
    TRAJECTORIES,
    update_weights,
)
from ribp.mcmc.slice_sampling import slice_step
from ribp.measures.variates import beta_log_odds_variates
from ribp.rng import kernel_seed
from ribp.weights import Pull, WeakLimitPrior, WeightPrior
from ribp.weights.density import row_gradient, row_log_density


class WeightInfo(NamedTuple):
    """What an update did."""

    accepted: float  # mean acceptance probability of the trajectories
    accepted_rare: float  # mean acceptance probability of the steps for rare features
    n_gradients: int  # at most


class _Target:
    """The log density of theta given column sums m and the histogram N of row counts."""

    def __init__(self, column_sums: IntArray, histogram: IntArray, prior: WeightPrior) -> None:
        self.sums = np.asarray(column_sums, dtype=np.float64)
        top = int(np.flatnonzero(histogram).max(initial=0))
        self.histogram = np.asarray(histogram[: top + 1], dtype=np.float64)
        self.n_rows = float(self.histogram.sum())
        self.prior = prior
        self.rare = _rare(self.sums, top)
        self.n_gradients = 0

    def log_density(self, theta: FloatArray) -> float:
        return row_log_density(theta, self.sums, self.histogram) + self.prior.log_density(theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        self.n_gradients += 1
        slope = row_gradient(theta, self.sums, self.histogram)
        return np.asarray(slope + self.prior.gradient(theta))


class _Metric:
    """M = D^{1/2} (1 - v v') D^{1/2}."""

    def __init__(self, target: _Target) -> None:
        p = target.sums / max(target.n_rows, 1.0)
        u = target.sums * (1.0 - p)
        g = target.prior.precision(target.rare)
        total = max(u.sum(), 1e-300)
        self.root = np.sqrt(u + g)
        self.v = u / self.root / math.sqrt(total)
        self.left = float((u * g / (u + g)).sum() / total) if u.any() else 1.0  # 1 - v.v

    def momentum(self, rng: np.random.Generator) -> FloatArray:
        xi = rng.standard_normal(self.root.size)
        shrink = (1.0 - math.sqrt(self.left)) / (1.0 - self.left) if self.left < 1 else 0.0
        return np.asarray(self.root * (xi - shrink * (self.v @ xi) * self.v))

    def velocity(self, momentum: FloatArray) -> FloatArray:
        x = momentum / self.root
        return np.asarray((x + (self.v @ x) / self.left * self.v) / self.root)


def update(
    rng: np.random.Generator,
    log_odds: FloatArray,
    column_sums: IntArray,
    histogram: IntArray,
    prior: WeightPrior,
) -> tuple[FloatArray, WeightInfo]:
    """Draw new log-odds given the rows' column sums and the histogram of their counts."""
    if prior.compiled is None:
        return update_in_python(rng, log_odds, column_sums, histogram, prior)
    theta = np.array(log_odds, np.float64)
    sums, counts = (np.array(x, np.float64) for x in (column_sums, histogram))
    law = (prior.compiled, float(prior.mass), float(prior.concentration))
    accepted, rare = update_weights(kernel_seed(rng), theta, sums, counts, *law)
    return theta, WeightInfo(accepted, rare, TRAJECTORIES * (STEPS + 1))


def update_in_python(
    rng: np.random.Generator,
    log_odds: FloatArray,
    column_sums: IntArray,
    histogram: IntArray,
    prior: WeightPrior,
) -> tuple[FloatArray, WeightInfo]:
    """Do the same with any prior."""
    target = _Target(column_sums, histogram, prior)
    metric = _Metric(target)
    theta, accepted = log_odds, 0.0
    for _ in range(TRAJECTORIES):
        theta, probability = _trajectory(rng, theta, target, metric)
        accepted += probability / TRAJECTORIES
    theta, rare = _refresh_rare(rng, theta, target)
    theta = _shift(rng, theta, prior)
    return theta, WeightInfo(accepted, rare, target.n_gradients)


def _trajectory(
    rng: np.random.Generator, start: FloatArray, target: _Target, metric: _Metric
) -> tuple[FloatArray, float]:
    """Make one leapfrog trajectory, of random length, and accept or reject its end."""
    step = STEP_SIZE * rng.uniform(0.7, 1.3)
    momentum = metric.momentum(rng)
    before = target.log_density(start) - 0.5 * float(momentum @ metric.velocity(momentum))
    theta = start
    momentum = momentum + 0.5 * step * target.gradient(theta)
    with np.errstate(over="ignore"):  # a trajectory that flies off is rejected
        for at in range(STEPS):
            theta = theta + step * metric.velocity(momentum)
            last = at == STEPS - 1
            momentum = momentum + (0.5 if last else 1.0) * step * target.gradient(theta)
            if not np.isfinite(momentum).all():
                return start, 0.0
        after = target.log_density(theta) - 0.5 * float(momentum @ metric.velocity(momentum))
    probability = math.exp(min(0.0, after - before)) if math.isfinite(after) else 0.0
    return (theta if rng.random() < probability else start), probability


def _rare(sums: FloatArray, most_ones: int) -> NDArray[np.bool_]:
    """Return which features are rare; as many others are left as a row may have ones."""
    order = np.argsort(sums, kind="stable")
    few = np.cumsum(sums[order]) ** 2 <= sums.sum()
    few[max(0, sums.size - most_ones) :] = False
    rare = np.zeros(sums.size, bool)
    rare[order[few]] = True
    return rare


def _refresh_rare(
    rng: np.random.Generator, theta: FloatArray, target: _Target
) -> tuple[FloatArray, float]:
    """Propose rare features, in random blocks; return the state and the mean acceptance."""
    rare = rng.permutation(np.flatnonzero(target.rare))
    if rare.size == 0:
        return theta, 1.0
    crowding = 2.0 * target.prior.concentration * target.prior.mass / max(target.n_rows, 1.0)
    n_blocks = min(1 + int(crowding), MOST_BLOCKS, rare.size)
    accepted = 0.0
    for block in np.array_split(rare, n_blocks):
        theta, probability = _refresh(rng, theta, target, block)
        accepted += probability / n_blocks
    return theta, accepted


def _refresh(
    rng: np.random.Generator, theta: FloatArray, target: _Target, block: IntArray
) -> tuple[FloatArray, float]:
    """Propose some features at once; return the state and the acceptance probability."""
    others = np.delete(theta, block)
    law = target.prior.rare_law(target.sums[block], others, _pull(others, target.histogram))
    proposal = theta.copy()
    proposal[block] = law.sample(rng)

    def log_weight(at: FloatArray) -> float:
        return target.log_density(at) - law.log_density(at[block])

    probability = math.exp(min(0.0, log_weight(proposal) - log_weight(theta)))
    return (proposal if rng.random() < probability else theta), probability


def _pull(others: FloatArray, histogram: FloatArray) -> Pull:
    """Return the logarithms of sum_k N_k r_k and sum_k N_k r_k^2, r_k = e_{k-1}/e_k."""
    if histogram.size == 1:
        return Pull(-math.inf, -math.inf)
    log_e = elementary_symmetric.log_esp(np.sort(others)[::-1].copy(), histogram.size - 1)
    some = np.flatnonzero(histogram[1:])
    log_n, log_r = np.log(histogram[1:][some]), (log_e[:-1] - log_e[1:])[some]
    return Pull(*(float(np.logaddexp.reduce(log_n + j * log_r)) for j in (1, 2)))


def _shift(rng: np.random.Generator, theta: FloatArray, prior: WeightPrior) -> FloatArray:
    """Add one number to all log-odds, which rows do not see, by a slice step on the prior."""
    width = 1.0 + 1.0 / (prior.concentration * prior.mass)
    by = slice_step(rng, 0.0, lambda t: prior.log_density(theta + t), width=width)
    return np.asarray(theta + by)


def independence_step(
    rng: np.random.Generator,
    log_odds: FloatArray,
    column_sums: IntArray,
    histogram: IntArray,
    prior: WeakLimitPrior,
) -> tuple[FloatArray, float]:
    """Propose pi_i ~ Beta(a + m_i, b + N - m_i) for all i; return the state and the chance.

    Right, but it stays where it is for ever longer: rows do not see the scale of the odds and the
    proposal does, so the ratio of posterior to proposal has no upper limit at small weights.
    """
    n = int(histogram.sum())
    a = prior.shape
    proposal = beta_log_odds_variates(
        rng, a + column_sums, prior.concentration - a + n - column_sums, column_sums.size
    )
    probability = math.exp(min(0.0, independence_log_ratio(log_odds, proposal, histogram)))
    return (proposal if rng.random() < probability else log_odds), probability


def independence_log_ratio(
    log_odds: FloatArray, proposal: FloatArray, histogram: IntArray
) -> float:
    """Return log prod_k [S_k(pi) / S_k(pi')]^{N_k}, S_k = e_k prod(1 - pi)."""

    def log_keeping(theta: FloatArray) -> float:
        falling = np.sort(theta)[::-1].copy()
        log_e = elementary_symmetric.log_esp(falling, histogram.size - 1)
        return float(histogram @ log_e - histogram.sum() * np.logaddexp(0.0, theta).sum())

    return log_keeping(log_odds) - log_keeping(proposal)
