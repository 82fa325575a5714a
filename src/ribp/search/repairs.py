"""Repairs of a start: a few features are taken away, found afresh, and kept if that is better.

What sweeps cannot mend is wrong in several rows at once: two features merged, {A-B, B, A} for two
features A and B, the complement of a feature on the rows that lack it, a feature that opens in no
single row but in many together. A repair changes all rows of a few features (ruin and recreate), at
the noise that the model itself has:

1. **Ruin** up to four features (or none, where counts are free): some of a row that is badly
   explained; or one feature and those that it is nearly a combination of; or some that few rows
   have. What they explained is added to the residuals.
2. **Recreate** about as many, one fewer or one more, from the residuals (`ribp.kernels.recreate`),
   several tries; or none, where counts are free. If these are the same features, that is all.
3. **Settle**: rows that are now short of features are filled, and up to four sweeps are made. A
   state that is far below the best after the first, or will not reach it as it rises, is given up.

4. **Prune**, before repairs end: where counts are free, each feature is tried without. Rows that
   had it become as others are, since they may need several other features at once.

Where counts are free, a quarter of the trials **recode** instead: all rows that have one feature
have another where they had it not, and lose it where they had it. Or a feature that nearly all rows
have goes, and others become their complements.

Different starts are seldom wrong in the same features. A start that is told of others **borrows**
in half of its trials: a feature that another start has, and those that go with it, come in the
place of what it had for them.

The score of a state is its log joint less (D/2) log N for each feature in use. Repairs go on until
many in a row gained nothing. They are a search: all is over before a chain begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.kernels import sweep_collapsed
from ribp.kernels.recreate import recreate
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc import gibbs
from ribp.mcmc.rows_collapsed import filled, gaussian, summarise
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search.count_limits import CountLimits, popularity
from ribp.search.feature_groups import are_same, complements, lent, resembling

_MOST_RUINED = 4  # with three or fewer some recodings are never undone
_MOST_RECREATED = 5
_TRIES = 4
_ITERATIONS = 8  # of EM; rows have settled by then, or will in sweeps
_SWEEPS = 4
_RECODED = 0.25  # of trials, where counts are free
_COMMON = 0.9  # of rows have a feature that may be the sum of others, switched
_BORROWED = 0.5  # of trials, where there are other starts
_PATIENCE, _PATIENCE_EACH = 40, 5  # trials without a gain, in all and for each feature
_SHORT = 0.25  # of that, for a start that has reached the score of another
MOST_TRIALS = 300
"""Of a start."""
_LEAST_MARGIN = 100.0  # nats below the best, where sweeps are given up; or the price, if larger
_OWN_NUMBERS = 2**30  # keys of fills, apart from those of sweeps


class Scored(NamedTuple):
    """A state, and its log joint less a price for each feature in use."""

    state: State
    score: float


def price(data: Data) -> float:
    """Return what a feature in use must be worth: (D/2) log N."""
    n_rows, dims = data.shape
    return 0.5 * dims * math.log(max(n_rows, 2))


def tolerance(data: Data) -> float:
    """Return by how much log joints of one mode differ: noise scales alone make it sqrt(D)."""
    return max(10.0, 2.0 * math.sqrt(data.shape[1]))


class _View(NamedTuple):
    """What a state says of the data, in units of its noise."""

    scaled: FloatArray
    """Data, missing entries filled."""
    deviations: FloatArray
    means: FloatArray
    """Of the features given the rows, shape (features, dims)."""
    residual: FloatArray
    """Zero where missing."""


class Repairs:
    """A search for a better state of a linear-Gaussian model.

    Parameters
    ----------
    rng
        All randomness.
    model, data
        What is to be explained, in the standard units of its likelihood.
    tick
        Called now and then; it may raise to end the search.
    patience
        How many times as long as usual to go on without a gain.
    others
        Rows of other starts, from which features may be borrowed.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        model: Model,
        data: Data,
        tick: Callable[[], None],
        patience: float = 1.0,
        others: Sequence[Rows] = (),
    ) -> None:
        self.patience, self.others = patience, others
        self.rng, self.model, self.data, self.tick = rng, model, data, tick
        self.likelihood, self.seed, self.number = gaussian(model), kernel_seed(rng), 0
        self.limits = CountLimits.of(model.counts, model.n_features)
        self.price, self.tolerance = price(data), tolerance(data)
        self.margin = max(self.price, _LEAST_MARGIN)

    def run(self, state: State, enough: float = math.inf) -> Scored:
        """Return the best state that repairs lead to; with a score of `enough` they end sooner."""
        best = self._settled(state, -math.inf)
        assert best is not None
        since = 0
        for _ in range(round(self.patience * MOST_TRIALS)):
            if since >= self._patience(best, enough):
                pruned = self._pruned(best)
                if pruned.score <= best.score + self.tolerance:
                    return pruned
                best, since = pruned, 0
            since += 1
            tried = self._tried(best.state)
            found = tried and self._settled(tried, best.score)
            if found and found.score > best.score:
                since = 0 if found.score > best.score + self.tolerance else since
                best = found
        return self._pruned(best)

    def _pruned(self, best: Scored) -> Scored:
        """Return the best state after an attempt to do without each feature, where that may be."""
        if not self.limits.free:
            return best
        sizes = best.state.rows.sum(axis=0)
        for i in np.flatnonzero(sizes)[np.argsort(sizes[sizes > 0])]:
            found = self._settled(self._without(best.state, i), best.score, unjudged=1)
            if found and found.score > best.score:
                best = found
        return best

    def _without(self, state: State, i: int) -> State:
        """Return a state without a feature: rows that had it become as others are.

        Such a row may need several other features at once, which flips do not find; there is often
        a row that has them.
        """
        rows, view = state.rows.copy(), self._view(state)
        at = np.flatnonzero(rows[:, i])
        wanted = view.residual[at] + rows[at] @ view.means
        rows[:, i] = 0
        kinds, numbers = np.unique(rows, axis=0, return_counts=True)
        explained = kinds @ view.means
        shown = np.ones(wanted.shape) if self.data.complete else self.data.observed[at]
        distance = shown @ (explained**2).T - 2.0 * (shown * wanted) @ explained.T
        nearest = (0.5 * distance - np.log(numbers)).argmin(axis=1)
        rows[at] = kinds[nearest]
        return self._with_rows(state, self._completed(rows, view))

    def _patience(self, best: Scored, enough: float) -> float:
        """Return after how many trials without a gain to end."""
        in_use = int(best.state.rows.any(axis=0).sum())
        patience = self.patience * max(_PATIENCE, _PATIENCE_EACH * in_use)
        return patience if best.score < enough else _SHORT * patience

    def _settled(self, state: State, best: float, unjudged: int = 0) -> Scored | None:
        """Return a state after some sweeps; None if it stays far below the best.

        Rows that must change by several features at once may need sweeps that are not judged.
        """
        scores: list[float] = []
        hoped = best - self.tolerance
        for _ in range(_SWEEPS):
            self.tick()
            state, info = gibbs.update(self.rng, self.seed, state, self.model, self.data)
            used = np.count_nonzero(info.tally.sizes)
            scores.append(float(info.log_joint) - self.price * used)
            if len(scores) <= unjudged:
                continue
            if scores[-1] < best - self.margin * (1.0 if len(scores) == 1 else 0.5):
                return None
            left = _SWEEPS - len(scores)
            if len(scores) > 1 and scores[-1] + left * max(scores[-1] - scores[-2], 0.0) < hoped:
                return None
        return Scored(state, 0.5 * (scores[-1] + scores[-2]))

    def _tried(self, state: State) -> State | None:
        """Return a state in which some features are taken away and found afresh.

        None if these are the features that were taken away.
        """
        if self.others and self.rng.random() < _BORROWED:
            return self._borrowed(state)
        if self.limits.free and self.rng.random() < _RECODED:
            return self._recoded(state)
        view, rows = self._view(state), state.rows.copy()
        ruined, again = self._ruined(rows, view)
        residual = view.residual + rows[:, ruined] @ view.means[ruined]
        if not self.data.complete:
            residual *= self.data.observed
        rows[:, ruined] = 0
        fresh = self._recreated(residual, rows, ruined.size) if again else rows[:, :0]
        self.number += 1
        if are_same(fresh, state.rows[:, ruined]):
            return None
        unused = np.flatnonzero(~rows.any(axis=0))
        rows[:, unused[: fresh.shape[1]]] = fresh
        return self._with_rows(state, self._completed(rows, view))

    def _borrowed(self, state: State) -> State | None:
        """Return a state with features of another start; None if it has all, or no room."""
        rows, other = state.rows.copy(), self.others[int(self.rng.integers(len(self.others)))]
        fresh, gone = lent(self.rng, rows, other)
        rows[:, gone] = 0
        unused = np.flatnonzero(~rows.any(axis=0))
        if not 0 < fresh.size <= unused.size:
            return None
        rows[:, unused[: fresh.size]] = other[:, fresh]
        return self._with_rows(state, self._completed(rows, self._view(state)))

    def _recoded(self, state: State) -> State:
        """Return a state in which features are switched in all rows that have another."""
        rows, view = state.rows.copy(), self._view(state)
        used = np.flatnonzero(rows.any(axis=0))
        if used.size < 2:
            return state
        share = rows[:, used].mean(axis=0)
        common = used[share > _COMMON]
        if common.size and self.rng.random() < 0.5:
            one = self.rng.choice(common)
            rows[:, complements(self.rng, view.means, one, used)] ^= 1
            rows[:, one] = 0
        else:
            one = self.rng.choice(used)
            at = np.flatnonzero(rows[:, one])
            share = rows[np.ix_(at, used)].mean(axis=0) ** 2 + 1e-3
            share[used == one] = 0.0
            rows[at, self.rng.choice(used, p=share / share.sum())] ^= 1
        return self._with_rows(state, self._completed(rows, view))

    def _with_rows(self, state: State, rows: Rows) -> State:
        """Return a state with other rows, and parameters drawn given them."""
        self.number += 1
        parameters = self.likelihood.update(self.rng, self.data, rows, state.parameters)
        return state._replace(
            rows=rows, log_odds=popularity(rows), parameters=parameters, number=state.number + 1
        )

    def _view(self, state: State) -> _View:
        scaled = filled(self.rng, self.data, state.rows, state.parameters)
        wide = self.likelihood.with_background(state.rows).astype(float)
        deviations = self.likelihood.deviations(wide.shape[1], state.parameters)
        means = np.ascontiguousarray(summarise(scaled, wide, deviations).mean.T)
        residual = scaled - wide @ means
        if not self.data.complete:
            residual *= self.data.observed
        return _View(scaled, deviations, means[: state.rows.shape[1]], residual)

    def _ruined(self, rows: Rows, view: _View) -> tuple[IntArray, bool]:
        """Return the features to take away, and whether to look for others in their place."""
        rng, used = self.rng, np.flatnonzero(rows.any(axis=0))
        size = int(rng.integers(0 if self.limits.free else 1, _MOST_RUINED + 1))
        if size == 0 or used.size == 0:
            return used[:0], True
        way = rng.integers(3)
        if way == 0:  # some that few rows have; one of them may go for good
            rare = 1.0 / rows[:, used].sum(axis=0)
            some = rng.choice(used, min(size, used.size), replace=False, p=rare / rare.sum())
            return some, size > 1 or bool(rng.random() < 0.5)
        own = np.flatnonzero(rows[self._bad_row(view.residual)])
        if way == 1 and own.size:
            return rng.choice(own, min(size, own.size), replace=False), True
        return used[resembling(rng, view.means[used], size)], True

    def _bad_row(self, residual: FloatArray) -> int:
        """Return a row, rather one with large residuals."""
        number = residual.shape[1]
        shown = number if self.data.complete else np.maximum(self.data.observed.sum(axis=1), 1)
        squares = np.einsum("nd,nd->n", residual, residual) / shown
        excess = np.maximum(squares - np.median(squares), 0.0) + 1e-9
        return int(self.rng.choice(len(residual), p=excess / excess.sum()))

    def _recreated(self, residual: FloatArray, rows: Rows, n_ruined: int) -> Rows:
        """Return the best features in place of those that were taken away."""
        ones = rows.sum(axis=1)
        least, most = np.maximum(self.limits.least - ones, 0), self.limits.most - ones
        at = np.flatnonzero(most > 0)
        free, room = self.limits.free, int((~rows.any(axis=0)).sum())
        sizes = range(max(n_ruined - 1, 1), min(n_ruined + 1, room, _MOST_RECREATED) + 1)
        best, found = 0.0 if free and n_ruined <= 1 else -math.inf, rows[:, :0]
        if not sizes or not at.size:
            return found
        data = self.data.rows(at)
        here, least, most = np.ascontiguousarray(residual[at]), least[at], most[at]
        for attempt in range(_TRIES):
            number = self.number * _TRIES + attempt
            gain, z = recreate(
                self.seed, number, here, data.observed, least, most, sizes[attempt % len(sizes)],
                _ITERATIONS, free,
            )  # fmt: skip
            z = z[:, z.any(axis=0)]
            gain -= self.price * z.shape[1]
            if gain > best:
                best, found = gain, np.zeros((len(rows), z.shape[1]), np.int8)
                found[at] = z
        return found

    def _completed(self, rows: Rows, view: _View) -> Rows:
        """Return rows whose counts are possible: some lose features, some are filled."""
        wanted = self.limits.cut(rows)
        if (rows.sum(axis=1) == wanted).all():
            return rows
        wide = np.ascontiguousarray(self.likelihood.with_background(rows))
        sums = summarise(view.scaled, wide.astype(float), view.deviations)
        number = _OWN_NUMBERS + self.number
        sweep_collapsed.fill(self.seed, number, view.scaled, wide, wanted, *sums, popularity(rows))
        return np.ascontiguousarray(wide[:, : rows.shape[1]])
