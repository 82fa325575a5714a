"""One pool of starts for all chains of a fit, made once, on all cores.

A start is rows (`ribp.search.starts`), repaired (`ribp.search.repairs`), for at most 2000 rows of
the data; everything else is drawn given them, and other rows follow (`ribp.search.following`). All
starts are made with randomness of their own, so that it does not matter which thread makes which.

**The first start** settles what nobody has said: whether there is a background (one start without
and one with it, `ribp.search.background`), and how many features there is room for
(`ribp.search.capacity`). It is repaired until nothing helps any more.

**The others** end sooner if they reach the score of the first. How many of all starts reach the
best score is an honest measure of how hard the problem is: chains that agree because they all begin
at one start would say nothing. If it is half of them or fewer, as many starts are made again, and
the best is looked at with more patience, and may take features of the others; these stay as they
are.

Chains begin at different starts, the best ones first. Searches happen in a linear-Gaussian table.
Where the model is another one (counts, known features) its own log joint, after a few sweeps, says
which starts are good, and whether repairs have made them better. An unrestricted buffet is searched
as if its count law were learned. Where entries have a strength features that rows can do without
go (`ribp.search.strength_starts`); where they count nothing is repaired
(`ribp.search.annealed_counts`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ribp.checks import IntArray
from ribp.counts import as_row_counts
from ribp.counts.finite import free_law
from ribp.likelihoods.data import Data, Rows, in_use
from ribp.model import Model, State
from ribp.search import annealed_counts, capacity, strength_starts
from ribp.search.background import BackgroundChoice, asked_for, compared, obvious, with_background
from ribp.search.given_rows import drawn_given, settled
from ribp.search.repairs import Repairs, Scored, tolerance
from ribp.search.starts import start_rows
from ribp.threads import in_threads, one_blas_thread

SEARCH_ROWS = 2000
"""Rows that a search looks at, however many there are."""
_MORE = 0.5  # starts for each chain beyond the first, so that chains need not take poor ones
_LEAST = 4  # starts, however few chains
_FEW = 0.5  # of the starts: if no more reach the best score, a better one is looked for
_PATIENT = 4.0  # times as long as usual, with features of the other starts

Tick = Callable[[int, int], None]
"""Told now and then how many starts are made, of how many; it may raise to end the search."""


class Start(NamedTuple):
    """Where a chain may begin."""

    rows: Any
    """Of the rows that were searched, shape (some rows, features); with sizes, if they have any."""
    some: IntArray
    """Which rows these are."""

    @property
    def whole(self) -> Start:
        """The same start of data that have no other rows."""
        return self._replace(some=np.arange(self.some.size))


class Reached(NamedTuple):
    """How hard a problem is: how many starts came to the best score."""

    n_starts: int = 0
    n_best: int = 0

    def __str__(self) -> str:
        if not self.n_starts:
            return "none: chains begin at draws of the prior"
        return f"{self.n_best} of {self.n_starts} starts reached the best log joint"


class Pool(NamedTuple):
    """The starts of a fit, the best first."""

    starts: tuple[Start, ...] = ()
    reached: Reached = Reached()

    def start(self, chain: int) -> Start | None:
        """Return where a chain begins; None if the method does not search."""
        return self.starts[chain % len(self.starts)] if self.starts else None


class Settled(NamedTuple):
    """What a search has decided."""

    model: Any
    choice: BackgroundChoice
    pool: Pool


def no_tick(done: int, total: int) -> None:
    """Do nothing: nobody wants to know."""


def searched_rows(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Return the rows of a search, in order: all if there are no more than `SEARCH_ROWS`."""
    if n_rows <= SEARCH_ROWS:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, SEARCH_ROWS, replace=False))


def as_restricted(model: Any, n_rows: int) -> Model:
    """Return the model that is searched: a buffet as if its count law were learned."""
    if isinstance(model, Model):
        return model
    size = getattr(model, "n_features", None)
    laws = as_row_counts(free_law(size), n_rows)
    size = size or capacity.first_guess(laws, model.mass)
    mass = model.mass if model.mass is None or model.mass < size else None
    return Model(laws, size, model.likelihood, mass, model.concentration)


def _unlimited(model: Any) -> bool:
    """Return whether a model has as many features as its rows ask for."""
    return not hasattr(model, "n_features")


class Search(NamedTuple):
    """What is searched for, and how.

    Parameters
    ----------
    model
        Of these rows.
    data
        In the units of the user.
    some
        Which rows of the whole table these are.
    seed
        Entropy of all randomness.
    n_chains
        How many starts are needed; 0 if only the background is to be chosen.
    grow
        Whether the model may get more features.
    choose
        Whether a background is switched on or off.
    """

    model: Any
    data: Data
    some: IntArray
    seed: tuple[int, ...]
    n_chains: int
    grow: bool = False
    choose: bool = False


def settle(search: Search, n_threads: int = 1, tick: Tick = no_tick) -> Settled:
    """Choose a background and a number of features, and make the starts of all chains."""
    model, data, n_chains = search.model, search.data, search.n_chains
    choice = obvious(model, data) if search.choose else asked_for(model.likelihood.background)
    options = [choice.on] if choice else [False, True]
    n_starts = max(_LEAST, n_chains + round(_MORE * (n_chains - 1))) if n_chains else 0
    total = len(options) + max(n_starts - 1, 0)
    if not n_starts and len(options) == 1:
        assert choice is not None
        return Settled(with_background(model, choice.on), choice, Pool())
    done = _Counter(tick, total)
    with one_blas_thread():
        works = [partial(_first, search, on, done) for on in options]
        firsts = in_threads(works, n_threads, done.stop)
        if choice is None:
            choice = compared(as_restricted(model, len(data.values)), data, *firsts)
        best = firsts[options.index(choice.on)]
        found = _more(search, best, n_starts, n_threads, done) if n_starts else [best]
    reached = _reach(found, data)
    found.sort(key=lambda one: -min(one.score, reached))  # the best are equals, in any order
    n_best = sum(bool(one.score >= reached) for one in found)
    model = with_background(model, choice.on)
    if search.grow:
        model = replace(model, n_features=best.model.n_features)
    starts = tuple(Start(one.state.rows, search.some) for one in found[:n_chains])
    return Settled(model, choice, Pool(starts, Reached(len(found) if n_starts else 0, n_best)))


class Stopped(Exception):  # noqa: N818 - not an error
    """Somebody wants a search to end."""


class _Counter:
    """Counts starts that are made, and ends those that are not wanted any more."""

    def __init__(self, tick: Tick, total: int) -> None:
        self.tick, self.done, self.total = tick, 0, total
        self.stop = threading.Event()

    def __call__(self) -> None:
        if self.stop.is_set():
            raise Stopped
        self.tick(min(self.done, self.total), self.total)


class _Found(NamedTuple):
    """A start that was repaired."""

    model: Model
    state: State
    score: float
    linear_score: float
    """In the linear-Gaussian table where it was repaired."""


def _rng(search: Search, on: bool, number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(search.seed, spawn_key=(2**31, on, number)))


def _first(search: Search, on: bool, done: _Counter) -> _Found:
    """Return the first start, with as much room as it needs."""
    model = with_background(as_restricted(search.model, len(search.data.values)), on)
    data = model.likelihood.standard(search.data)
    grow = search.grow or _unlimited(search.model)
    found = repaired(_rng(search, on, 0), model, data, 0, done, grow=grow)
    done.done += 1
    return found


def _more(
    search: Search, first: _Found, n_starts: int, n_threads: int, done: _Counter
) -> list[_Found]:
    """Return all starts: twice as many, and the best looked at again, if few are as good as it."""

    def further(numbers: range, leader: _Found) -> list[_Found]:
        works = [partial(_another, search, leader, at, done) for at in numbers]
        return in_threads(works, n_threads, done.stop)

    found = [first, *further(range(1, n_starts), first)]
    if _few(found, search.data):
        done.total += n_starts
        found += further(range(n_starts, 2 * n_starts), max(found, key=_score))
    return _again(search, found, done) if _few(found, search.data) else found


def _another(search: Search, leader: _Found, number: int, done: _Counter) -> _Found:
    """Return a further start; it ends sooner if it reaches the score of the leader."""
    data, on = leader.model.likelihood.standard(search.data), leader.model.likelihood.background
    found = repaired(_rng(search, on, number), leader.model, data, number, done, leader=leader)
    done.done += 1
    return found


def _score(one: _Found) -> float:
    return one.score


def _few(found: list[_Found], data: Data) -> bool:
    """Return whether few starts have reached the best score."""
    reached = _reach(found, data)
    return sum(one.score >= reached for one in found) <= _FEW * len(found)


def _reach(found: list[_Found], data: Data) -> float:
    """Return the least score that is as good as the best.

    The log joint of n numbers that a state keeps varies by sqrt(n/2) within one mode.
    """
    best = max(found, key=_score)
    kept = 0
    if not best.model.likelihood.integrates_features:
        kept = np.count_nonzero(in_use(best.state.rows)) * best.state.parameters.features.shape[1]
    return best.score - max(tolerance(data), 2.0 * math.sqrt(kept))


def _again(search: Search, found: list[_Found], done: _Counter) -> list[_Found]:
    """Return the starts; the best, if few are as good, is repaired with more patience."""
    best = max(found, key=_score)
    data = best.model.likelihood.standard(search.data)
    linear, table = _linear(best.model, data)
    if linear is not best.model:
        return found
    rng = _rng(search, best.model.likelihood.background, len(found))
    others = [one.state.rows for one in found if one is not best]
    more = Repairs(rng, linear, table, done, _PATIENT, others).run(best.state)
    better = best._replace(state=more.state, score=more.score)
    return [better if one is best and more.score > best.score else one for one in found]


def repaired(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    number: int = 0,
    tick: Callable[[], None] = lambda: None,
    *,
    grow: bool = False,
    leader: _Found | None = None,
) -> _Found:
    """Return a start and what repairs have made of it.

    Parameters
    ----------
    rng
    model, data
        Of the rows that are searched, in standard units.
    number
        Of the start: kinds take turns.
    tick
        Called now and then; it may raise to end the search.
    grow
        Whether the model may get more features.
    leader
        A start whose score, once it is reached, ends the search sooner.
    """
    if model.entry_law.counts:
        annealed, scored = annealed_counts.start(rng, model, data, tick, grow=grow)
        return _Found(annealed, *scored, scored.score)
    linear, table = _linear(model, data)
    _, by_noise = linear.likelihood.linearised(table)
    state = from_rows(rng, linear, table, start_rows(rng, linear, by_noise, number, tick))
    enough = leader.linear_score - tolerance(data) if leader else np.inf
    for _ in range(capacity.MOST_GROWTH):
        if grow and capacity.needs_room(state.rows):
            linear, state = capacity.enlarged(rng, linear, state)
        first = state
        found = Repairs(rng, linear, table, tick).run(state, enough)
        state = found.state
        if not (grow and capacity.needs_room(state.rows)):
            break
    if linear.likelihood is model.likelihood:
        return _Found(linear, *found, found.score)
    if model.likelihood.integrates_sizes:
        wide = replace(model, n_features=linear.n_features)
        enough = leader.score - tolerance(data) if leader else np.inf
        binary = from_rows(rng, wide, data, state.rows)
        scored = strength_starts.start(rng, wide, data, binary, number, tick, enough)
        return _Found(*_narrowed(rng, model, wide, data, scored), found.score)
    model = replace(model, n_features=linear.n_features)
    tried = [_settled(rng, model, data, rows, tick) for rows in (first.rows, state.rows)]
    return _Found(model, *max(tried, key=lambda one: one.score), found.score)


def _narrowed(
    rng: np.random.Generator, model: Model, wide: Model, data: Data, scored: Scored
) -> tuple[Model, State, float]:
    """Return a start, and its model, without room that only a search before it has needed."""
    known = np.arange(wide.n_features) < len(model.likelihood.known)
    used = known | scored.state.rows.any(axis=0)
    size = max(model.n_features, capacity.room(int(used.sum())))
    if size >= wide.n_features:
        return wide, *scored
    rows = scored.state.rows[:, np.argsort(~used, kind="stable")[:size]]
    model = replace(model, n_features=size)
    return model, drawn_given(rng, model, data, np.ascontiguousarray(rows)), scored.score


def best(
    rng: np.random.Generator,
    model: Any,
    data: Data,
    n_starts: int = 6,
    tick: Tick = no_tick,
) -> Start:
    """Return the best of several starts, for data in memory and in standard units."""
    some = searched_rows(rng, len(data.values))
    here, few = as_restricted(model, len(data.values)).on_rows(some), data.rows(some)
    grow = _unlimited(model)
    found = [repaired(rng, here, few, 0, partial(tick, 0, n_starts), grow=grow)]
    for number in range(1, n_starts):
        quiet, first = partial(tick, number, n_starts), found[0]
        found.append(repaired(rng, first.model, few, number, quiet, leader=first))
    return Start(max(found, key=_score).state.rows, some)


def _linear(model: Model, data: Data) -> tuple[Model, Data]:
    """Return a linear-Gaussian model and table in whose place rows can be searched."""
    likelihood = model.likelihood
    if likelihood.integrates_features and not likelihood.known:
        return model, data
    linear, table = likelihood.linearised(data)
    return replace(model, likelihood=replace(linear, known=())), table


def _settled(
    rng: np.random.Generator, model: Model, data: Data, rows: Rows, tick: Callable[[], None]
) -> Scored:
    """Return a state after a few sweeps that keep the features."""
    return settled(rng, model, data, from_rows(rng, model, data, rows), tick)


def from_rows(rng: np.random.Generator, model: Model, data: Data, rows: Rows) -> State:
    """Return a state with these rows, all else drawn given them."""
    if model.likelihood.known and rows.dtype == np.int8:  # those with sizes are in order
        rows = _known_first(model, data, rows)
    return drawn_given(rng, model, data, rows)


def _known_first(model: Model, data: Data, rows: Rows) -> Rows:
    """Return rows whose first features are those that resemble the known ones most."""
    known = model.likelihood.known_features
    wide = np.column_stack([rows, np.ones(len(rows))]).astype(np.float64)
    precision = wide.T @ wide + np.eye(wide.shape[1])
    means = np.linalg.solve(precision, wide.T @ model.likelihood.beside_features(data))
    means = means[: rows.shape[1]]
    distance = ((known[:, None] - means) ** 2).sum(axis=2)
    first = linear_sum_assignment(distance)[1]
    return np.ascontiguousarray(rows[:, [*first, *np.setdiff1d(np.arange(rows.shape[1]), first)]])
