"""Rows to begin with: near a mode of the posterior, or where repairs can bring them to one.

From random rows Gibbs sampling ends in a poor mode and stays there. These starts are made on a
linear-Gaussian table whose columns are in units of their noise (`ribp.likelihoods.noise_units`), at
one noise level for all columns, and repaired afterwards at the noise of the model
(`ribp.search.repairs`). Three kinds, of which those that suit the count laws take turns:

- **staged**, where rows have different expected counts. A row that has one feature shows it alone,
  and what it shows explains rows that have more. Groups of rows enter from the lowest count up.
  While a group enters, its rows have exactly that count. They are filled greedily and swept at a
  noise that is low for the first group (splitting a feature can be mended, merging two cannot) and
  rises with each later group; then at the noise that the residuals show. Then the count laws are
  opened, and the noise is raised above the size of a feature and lowered step by step;
- **grown**, where the counts say little (a learned law, a wide one). The unrestricted buffet is run
  from no features at all: rows ask for them one by one (`ribp.search.growth`);
- **annealed**: rows are filled, and the noise is lowered step by step.

All along the weights follow the features' popularity, so that features that nobody needs die out.
The size of a feature is a = (sum x^2 / (D sum of counts))^{1/2}.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts
from ribp.counts.tables import mean_log_probs
from ribp.kernels import sweep_collapsed as kernel
from ribp.likelihoods import units
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc.rows_collapsed import CollapsedSums, gaussian, summarise
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.search.count_limits import CountLimits, popularity
from ribp.search.growth import GrowingBuffet, annealed, grown
from ribp.symmetric import log_esp

_WIDE = 4  # possible counts, from which on counts say little
_FIRST_NOISE = 0.02  # variance for the first group, as a share of its variance
_RISE = 4.0  # of the variance, with each later group
_FLOOR = 0.1  # least noise while groups enter, in units of the overall standard deviation
_COLD_SWEEPS = 10
_LEARNING_SWEEPS = 10
_HOT = (1.2, 1.7)  # where annealing begins after groups, in units of a feature; in turns
_HOT_ALONE = 1.0  # the same without groups
_COOL = 0.25  # where it ends, in units of the overall standard deviation
_STEPS = 50
_GROWING_SWEEPS = 60
_HEAT = 1.0  # where noise begins while features grow, in units of the overall standard deviation
_REST = 0.5  # of a background, once an offset is taken off, in units of the size of a feature

Quiet = Callable[[], None]
"""Called now and then; it may raise to end a search."""


def start_rows(
    rng: np.random.Generator, model: Model, data: Data, number: int, tick: Quiet
) -> Rows:
    """Return rows that obey their laws.

    Parameters
    ----------
    rng
    model
        A linear-Gaussian model of these rows.
    data
        In units of the noise, about.
    number
        Of the start: kinds take turns.
    tick
        Called now and then.
    """
    search = _Search(rng, model, data, tick)
    ways = search.ways()
    ways[number % len(ways)]()
    return search.rows


class _Search:
    """Rows on their way to a mode, at one noise level for all columns."""

    def __init__(self, rng: np.random.Generator, model: Model, data: Data, tick: Quiet) -> None:
        self.rng, self.model, self.tick = rng, model, tick
        self.likelihood = gaussian(model)
        self.seed, self.number = kernel_seed(rng), 0
        self.counts = _centres(model.counts, model.n_features)
        if self.likelihood.background:
            data = _without_offset(data, self.counts)
        self.data, self.filled = data, _column_means(data, self.counts)
        self.spread = float(self.filled.std()) or 1.0
        wanted = max(int(self.counts.sum()), 1)
        total = float((self.filled**2).sum())
        self.size = math.sqrt(total / (self.filled.shape[1] * wanted)) or 1.0
        self.rows: Rows = np.zeros((len(self.counts), model.n_features), np.int8)
        self.log_odds = np.zeros(model.n_features)
        possible = np.isfinite(mean_log_probs(model.counts, model.n_features)).sum(axis=1)
        self.staged = np.unique(self.counts).size > 1
        self.wide = bool((possible >= _WIDE).all())

    def ways(self) -> list[Callable[[], None]]:
        """Return the kinds of starts that suit the laws."""
        staged: list[Callable[[], None]] = []
        if self.staged:
            staged = [partial(self.stage, hot) for hot in _HOT]
        if self.wide:
            return [partial(self.grow, _HEAT), *staged, self.anneal_all, self.grow]
        return staged or [self.anneal_all]

    def stage(self, hot: float) -> None:
        """Let groups of rows enter, then anneal from so many features' sizes."""
        self.enter_groups()
        self.anneal(hot)

    def anneal_all(self) -> None:
        """Give all rows their expected counts, and anneal."""
        self._fill(np.arange(self.counts.size), self.counts, _HOT_ALONE * self.size)
        self.anneal(_HOT_ALONE)

    def enter_groups(self) -> None:
        """Let rows enter, those with few features first."""
        exact = np.where(np.eye(self.model.n_features + 1, dtype=bool), 0.0, -np.inf)
        least, variance = _FLOOR * self.spread, 0.0
        for level in np.unique(self.counts):
            at = np.flatnonzero(self.counts <= level)
            variance = _RISE * variance or _FIRST_NOISE * float(self.filled[at].var())
            noise = max(math.sqrt(variance), least)
            self._fill(at, self.counts[at], noise)
            for step in range(_COLD_SWEEPS + _LEARNING_SWEEPS):
                if step >= _COLD_SWEEPS:
                    noise = max(self._residual(at, noise), least)
                self._sweep(at, noise, exact, self.counts[at])
            variance = max(variance, noise**2)

    def anneal(self, hot: float) -> None:
        """Lower the noise from so many features' sizes, with the count laws as they are."""
        counts, at = self.model.counts, np.arange(self.counts.size)
        laws = mean_log_probs(counts, self.model.n_features)
        for noise in np.geomspace(hot * self.size, _COOL * self.spread, _STEPS):
            if self.model.learns_counts:
                laws = mean_log_probs(counts, self.model.n_features, self.rows.sum(axis=1))
            self._sweep(at, float(noise), laws, counts.law_of_row)

    def grow(self, heat: float | None = None) -> None:
        """Let rows ask for features, then bring their counts to what is possible.

        Under a noise that falls from `heat`; without one under what the rows leave.
        """
        buffet = GrowingBuffet(self.likelihood, most=2 * self.model.n_features)
        if heat is None:
            state = grown(self.rng, buffet, self.data, _GROWING_SWEEPS, self.tick)
        else:
            state = annealed(self.rng, buffet, self.data, heat, self.tick)
        popular = np.argsort(-state.rows.sum(axis=0), kind="stable")[: self.model.n_features]
        self.rows[:, : popular.size] = state.rows[:, popular]
        self.log_odds = popularity(self.rows)
        limits = CountLimits.of(self.model.counts, self.model.n_features)
        wanted = limits.cut(self.rows)
        noise = float(np.sqrt((state.parameters.noise_scale**2).mean()))
        self._fill(np.arange(wanted.size), wanted, noise)

    def _fill(self, at: IntArray, counts: IntArray, noise: float) -> None:
        scaled, rows = self.filled[at] / noise, self._wide(at)
        summary = self._summary(scaled, rows, noise)
        kernel.fill(self.seed, self.number, scaled, rows, counts, *summary, self.log_odds)
        self.rows[at] = rows[:, : self.model.n_features]
        self.number += 1

    def _sweep(self, at: IntArray, noise: float, laws: FloatArray, law_of_row: IntArray) -> None:
        self.tick()
        scaled, rows = self.filled[at] / noise, self._wide(at)
        summary = self._summary(scaled, rows, noise)
        self.log_odds = popularity(self.rows[at])
        tables = laws - log_esp(self.log_odds)
        observed = self.data.observed if self.data.complete else self.data.observed[at]
        kernel.sweep(
            self.seed, self.number, scaled, observed, rows, *summary, self.log_odds, tables,
            law_of_row,
        )  # fmt: skip
        self.rows[at] = rows[:, : self.model.n_features]
        self.filled[at] = scaled * noise
        self.number += 1

    def _summary(self, scaled: FloatArray, wide: Rows, noise: float) -> CollapsedSums:
        return summarise(scaled, wide.astype(float), self._deviations(wide.shape[1], noise))

    def _deviations(self, width: int, noise: float) -> FloatArray:
        """Return prior deviations of features, the rest of the background last."""
        deviations = np.full(width, self.size / noise)
        if self.likelihood.background:
            deviations[-1] *= _REST
        return deviations

    def _wide(self, at: IntArray) -> Rows:
        return np.ascontiguousarray(self.likelihood.with_background(self.rows[at]))

    def _residual(self, at: IntArray, noise: float) -> float:
        """Return the standard deviation of residuals, corrected for the features fitted."""
        rows = self._wide(at)
        used = rows.any(axis=0)
        deviations = self._deviations(used.size, noise)[used]
        rows = rows[:, used].astype(float)
        squares = rows.T @ rows
        precision = squares + np.diag(deviations**-2.0)
        features = np.linalg.solve(precision, rows.T @ self.filled[at])
        left = max(at.size - float(np.trace(np.linalg.solve(precision, squares))), 1.0)
        total = float(((self.filled[at] - rows @ features) ** 2).sum())
        return math.sqrt(total / (left * self.filled.shape[1]))


def _centres(counts: RowCounts, n_features: int) -> IntArray:
    """Return for every row the possible count that is nearest to the mean of its law."""
    centres = []
    for law in counts.laws:
        probs = np.exp(law.restricted_log_probs(0, n_features))
        possible = np.flatnonzero(probs)
        centres.append(possible[np.abs(possible - probs @ np.arange(probs.size)).argmin()])
    return np.array(centres, dtype=np.int64)[counts.law_of_row]


def _column_means(data: Data, counts: IntArray) -> FloatArray:
    """Return the data, missing entries replaced by column means over rows of the same count."""
    filled = data.values.copy()
    if data.complete:
        return filled
    for level in np.unique(counts):
        at = np.flatnonzero(counts == level)
        seen = data.observed[at]
        means = filled[at].sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        filled[at] = np.where(seen, filled[at], means)
    return filled


def _without_offset(data: Data, counts: IntArray) -> Data:
    """Return data less what rows without features would have, about: a line through their counts.

    Features that are equally popular make E x = b + k m of rows with k of them. The slope m is
    drawn towards zero as if it were known to half the size of a feature.
    """
    k = counts - counts.mean()
    number = np.full(data.shape[1], float(len(counts)))
    if not data.complete:
        number = np.maximum(data.observed.sum(axis=0, dtype=np.float64), 1.0)
    means = data.values.sum(axis=0) / number
    around = data.values - means
    if not data.complete:
        around[~data.observed] = 0.0
    share = number / max(len(counts), 1)
    slope = k @ around / (float(k @ k) * share + 4.0 * max(float(counts.mean()), 1.0))
    return units.scaled(data, means - slope * counts.mean(), np.ones(data.shape[1]))
