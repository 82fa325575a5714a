"""Where a chain starts: rows near a mode of the posterior (linear-Gaussian data).

From a random start Gibbs sampling ends in a poor mode and stays there. Two things help.

**Few features first.** A row that has one feature shows it alone, and what it shows explains rows
that have more. Rows are grouped by their expected count; groups enter from the lowest up. While a
group enters, its rows have exactly that count. They are filled greedily and swept at a noise that
is low for the first group (splitting a feature can be mended, merging two cannot) and rises with
each later group; then at the noise that the residuals show.

**Annealing.** Then the count laws are opened, the noise is raised above the size of a feature
and lowered step by step. Where all rows have the same expected count this has to do the whole
work, and takes more steps.

**Growth.** Where the counts say little (a learned law, a wide one) the unrestricted buffet is run
from no features at all: rows ask for them one by one (`ribp.search.growth`).

Several starts, of the kinds that suit the count laws, are made, and after a few sweeps the one of
the highest log joint, less (D/2) log N for each feature in use, is taken. A chain easily puts an
unused feature to use, and seldom gives one back: of starts that are nearly as good it should be
given the simplest.

All along the weights follow the features' popularity, so that features that nobody needs die out.
The size of a feature is a = (sum x^2 / (D sum of counts))^{1/2}. Sizes and schedules were chosen on
the chord spectra and the first toy set, and tested on others (`experiments/recovery`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts
from ribp.counts.tables import mean_log_probs
from ribp.kernels import sweep_collapsed as kernel
from ribp.likelihoods import units
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc import gibbs, gibbs_rows
from ribp.mcmc.rows_collapsed import CollapsedSums, gaussian, summarise
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search.growth import GrowingBuffet, annealed, grown
from ribp.symmetric import log_esp

_SETTLING = 10  # sweeps before starts are compared
SEARCH_ROWS = 2000
"""Rows that a search looks at, however many there are."""
_WIDE = 4  # possible counts, from which on counts say little
_REST = 0.5  # of a background, once an offset is taken off, in units of the size of a feature


class Schedule(NamedTuple):
    """How the search goes. Noise is in units of the overall standard deviation, or of a feature."""

    staged: bool = True
    """Whether rows with few features enter first."""
    first_noise: float = 0.02
    """Variance for the first group, as a share of its variance."""
    rise: float = 4.0
    """Of the variance, with each later group."""
    floor: float = 0.1
    """Least noise while groups enter."""
    cold_sweeps: int = 10
    learning_sweeps: int = 10
    hot: tuple[float, ...] = (1.2, 1.7)
    """Where annealing begins after groups have entered, in units of the size of a feature; starts
    take turns, since no one heat suits all data."""
    hot_alone: float = 1.0
    """Where it begins where there is only one group."""
    cool: float = 0.25
    """Where it ends."""
    cool_alone: float = 0.2
    steps: int = 100
    steps_alone: int = 500
    growing_sweeps: int = 60
    heats: tuple[float | None, ...] = (1.0, None, None, None, 0.5)
    """Where noise begins while features grow, in units of the overall standard deviation: starts
    take turns; None for the noise that the rows leave."""


DEFAULT = Schedule()
Tick = Callable[[int, int], None]
"""Told now and then how much of a search is done, of how much; it may raise to end it."""
Kind = Callable[[np.random.Generator, Model, Data, Schedule, Callable[[], None]], State]


def no_tick(done: int, total: int) -> None:
    """Do nothing: nobody wants to know."""


def best_start(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    n_starts: int = 6,
    schedule: Schedule = DEFAULT,
    tick: Tick = no_tick,
) -> State:
    """Return the best of several starts after a few sweeps: likely, with few features."""
    return scored_start(rng, model, data, n_starts, schedule, tick).state._replace(number=0)


class ScoredStart(NamedTuple):
    """A start, and its log joint less a price for each feature in use."""

    state: State
    score: float


def scored_start(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    n_starts: int,
    schedule: Schedule = DEFAULT,
    tick: Tick = no_tick,
) -> ScoredStart:
    """Return the best of several starts with its score."""
    best: ScoredStart | None = None
    kinds = cycle(_kinds(model, schedule))
    integrated = model.likelihood.integrates_features and not model.likelihood.known
    update = gibbs.update if integrated else gibbs_rows.update_in_memory
    for kind, done in zip(kinds, range(n_starts), strict=False):
        here = partial(tick, done, n_starts)
        state, seed = kind(rng, model, data, schedule, here), kernel_seed(rng)
        for _ in range(_SETTLING):
            here()
            state, info = update(rng, seed, state, model, data)
        score = info.log_joint - price(data) * np.count_nonzero(state.rows.any(axis=0))
        if best is None or score > best.score:
            best = ScoredStart(state, score)
    assert best is not None
    return best


def price(data: Data) -> float:
    """Return what a feature in use must be worth."""
    n_rows, dims = data.shape
    return 0.5 * dims * math.log(max(n_rows, 2))


def _kinds(model: Model, schedule: Schedule) -> list[Kind]:
    """Return the kinds of starts that suit the laws, the best one first."""
    one_group = np.unique(_centres(model.counts, model.n_features)).size == 1
    annealed: Kind = partial(_searched, hot=None)
    found: list[Kind] = []
    if schedule.staged and not one_group:
        found += [partial(_searched, hot=hot) for hot in schedule.hot]
    tables = mean_log_probs(model.counts, model.n_features)
    if (np.isfinite(tables).sum(axis=1) >= _WIDE).all():
        found += [partial(_grown, heat=heat) for heat in schedule.heats]
    return [*found, annealed]


def searched_rows(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Return the rows of a search, in order: all if there are no more than `SEARCH_ROWS`."""
    if n_rows <= SEARCH_ROWS:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, SEARCH_ROWS, replace=False))


def _grown(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    schedule: Schedule,
    tick: Callable[[], None],
    *,
    heat: float | None,
) -> State:
    """Return a state whose rows come from an unrestricted buffet, made to obey their laws."""
    likelihood, linear = model.likelihood.linearised(data)
    search = _Search(
        rng, replace(model, likelihood=likelihood), linear, searched_rows(rng, len(data.values)),
        schedule, tick,
    )  # fmt: skip
    search.grow(heat)
    return from_rows(rng, model, data, search.all_rows())


def _searched(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    schedule: Schedule,
    tick: Callable[[], None],
    *,
    hot: float | None,
) -> State:
    """Return a state found by staging and annealing from there, or by annealing alone."""
    some = searched_rows(rng, len(data.values))
    likelihood, linear = model.likelihood.linearised(data)
    search = _Search(
        rng, replace(model, likelihood=likelihood), linear, some, schedule, tick, hot=hot
    )
    search.enter_groups()
    search.anneal()
    return from_rows(rng, model, data, search.all_rows())


class _Search:
    """Rows on their way to a mode, at one noise level for all columns."""

    def __init__(
        self,
        rng: np.random.Generator,
        model: Model,
        data: Data,
        some: IntArray,
        schedule: Schedule,
        tick: Callable[[], None],
        *,
        hot: float | None = None,
    ) -> None:
        self.rng, self.model, self.some, self.schedule = rng, model, some, schedule
        self.tick = tick
        self.likelihood = gaussian(model)
        self.seed, self.number = kernel_seed(rng), 0
        self.counts = _centres(model.counts, model.n_features)
        if self.likelihood.background:
            data = _without_offset(data, self.counts)
        self.data, here = data, data.rows(some)
        self.observed = here.observed
        self.filled = _column_means(here, self.counts[some])
        self.spread = float(self.filled.std()) or 1.0
        wanted = max(int(self.counts[some].sum()), 1)
        total = float((self.filled**2).sum())
        self.size = math.sqrt(total / (self.filled.shape[1] * wanted)) or 1.0
        self.hot, self.alone = hot, hot is None
        self.rows: Rows = np.zeros((some.size, model.n_features), np.int8)
        self.log_odds = np.zeros(model.n_features)

    def enter_groups(self) -> None:
        """Let rows enter, those with few features first."""
        plan, counts = self.schedule, self.counts[self.some]
        if self.alone:
            self._fill(np.arange(counts.size), counts, plan.hot_alone * self.size)
            return
        exact = np.where(np.eye(self.model.n_features + 1, dtype=bool), 0.0, -np.inf)
        least, variance = plan.floor * self.spread, 0.0
        for level in np.unique(counts):
            at = np.flatnonzero(counts <= level)
            variance = plan.rise * variance or plan.first_noise * float(self.filled[at].var())
            noise = max(math.sqrt(variance), least)
            self._fill(at, counts[at], noise)
            for step in range(plan.cold_sweeps + plan.learning_sweeps):
                if step >= plan.cold_sweeps:
                    noise = max(self._residual(at, noise), least)
                self._sweep(at, noise, exact, counts[at])
            variance = max(variance, noise**2)

    def anneal(self) -> None:
        """Raise the noise and lower it again, with the count laws as they are."""
        plan, alone = self.schedule, self.alone
        hot = (plan.hot_alone if self.hot is None else self.hot) * self.size
        cool = (plan.cool_alone if alone else plan.cool) * self.spread
        counts, at = self.model.counts, np.arange(self.some.size)
        here = RowCounts(counts.laws, counts.law_of_row[self.some])
        for noise in np.geomspace(hot, cool, plan.steps_alone if alone else plan.steps):
            laws = mean_log_probs(here, self.model.n_features, self.rows.sum(axis=1))
            self._sweep(at, float(noise), laws, here.law_of_row)

    def grow(self, heat: float | None) -> None:
        """Let rows ask for features, then bring their counts to what is possible."""
        here = self.data.rows(self.some)
        buffet = GrowingBuffet(self.likelihood, most=2 * self.model.n_features)
        if heat is None:
            found = grown(self.rng, buffet, here, self.schedule.growing_sweeps, self.tick)
        else:
            found = annealed(self.rng, buffet, here, heat, self.tick)
        rows, parameters = found.rows, found.parameters
        popular = np.argsort(-rows.sum(axis=0), kind="stable")[: self.model.n_features]
        self.rows[:, : popular.size] = rows[:, popular]
        self.log_odds = _popularity(self.rows)
        wanted = self._possible(self.rows.sum(axis=1))
        for n in np.flatnonzero(self.rows.sum(axis=1) > wanted):
            on = np.flatnonzero(self.rows[n])
            self.rows[n, on[wanted[n] :]] = 0  # the least popular ones go
        noise = float(np.sqrt((parameters.noise_scale**2).mean()))
        self._fill(np.arange(self.some.size), wanted, noise)

    def _possible(self, ones: IntArray) -> IntArray:
        """Return for every row the possible count nearest to the one it has."""
        tables = mean_log_probs(self.model.counts, self.model.n_features)
        sizes = np.arange(tables.shape[1])
        nearest = np.empty((len(tables), sizes.size), np.int64)
        for at, table in enumerate(tables):
            possible = np.flatnonzero(np.isfinite(table))
            nearest[at] = possible[np.abs(possible[:, None] - sizes).argmin(axis=0)]
        return np.asarray(nearest[self.model.counts.law_of_row[self.some], ones])

    def all_rows(self) -> Rows:
        """Return rows for all of the data: those not yet in are filled given the others."""
        rows = np.zeros((self.data.shape[0], self.model.n_features), np.int8)
        rows[self.some] = self.rows
        if len(rows) == self.some.size:
            return rows
        noise = (
            self._residual(np.arange(self.some.size), self.schedule.cool * self.spread)
            or self.spread
        )
        scaled = _column_means(self.data, self.counts) / noise
        wide = self.likelihood.with_background(rows).copy()
        summary = self._summary(scaled[self.some], wide[self.some], noise)
        counts = np.where(rows.any(axis=1), 0, self.counts)
        kernel.fill(self.seed, self.number, scaled, wide, counts, *summary, self.log_odds)
        return np.ascontiguousarray(wide[:, : self.model.n_features])

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
        self.log_odds = _popularity(self.rows[at])
        tables = laws - log_esp(self.log_odds)
        observed = self.observed[at] if self.observed.size else self.observed
        kernel.sweep(
            self.seed,
            self.number,
            scaled,
            observed,
            rows,
            *summary,
            self.log_odds,
            tables,
            law_of_row,
        )
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


def _popularity(rows: Rows) -> FloatArray:
    """Return log-odds of the features, each with 1/I rows more than it has."""
    sizes = rows.sum(axis=0)
    return np.asarray(np.log((sizes + 1.0 / sizes.size) / (len(rows) - sizes + 1.0)))


def _known_first(model: Model, data: Data, rows: Rows) -> Rows:
    """Return rows whose first features are those that resemble the known ones most."""
    known = model.likelihood.known_features
    wide = np.column_stack([rows, np.ones(len(rows))]).astype(np.float64)
    precision = wide.T @ wide + np.eye(wide.shape[1])
    means = np.linalg.solve(precision, wide.T @ data.values)[: rows.shape[1]]
    distance = ((known[:, None] - means) ** 2).sum(axis=2)
    first = linear_sum_assignment(distance)[1]
    return np.ascontiguousarray(rows[:, [*first, *np.setdiff1d(np.arange(rows.shape[1]), first)]])


def from_rows(rng: np.random.Generator, model: Model, data: Data, rows: Rows) -> State:
    """Return a state with these rows, all else drawn given them."""
    if model.likelihood.known:
        rows = _known_first(model, data, rows)
    parameters = model.likelihood.first_guess(data, model.n_features)
    for _ in range(5):
        parameters = model.likelihood.update(rng, data, rows, parameters)
    mean = min(max(float(rows.sum(axis=1).mean()), 0.1), 0.9 * model.n_features)
    state = State(
        rows,
        _popularity(rows),
        model.mass or mean,
        model.concentration or 1.0,
        mean_log_probs(model.counts, model.n_features),
        parameters,
    )
    return gibbs.finish_in_memory(rng, state, model, data)[0]._replace(number=0)
