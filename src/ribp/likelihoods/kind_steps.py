"""Features and what columns have of their own, given rows: Metropolis steps by sums over rows.

**Features.** In every other sweep, by chance, several features of a column and its background move
together (`ribp.likelihoods.kind_block_steps`). In the others feature after feature, then the
background, all columns at once: given rows they are independent. With G and H the slope and the
bend of the log posterior of an entry a of A at its place (`ribp.kernels.kind_features`), prior
N(m, V) included,

    a' ~ N(a + d, sd^2),    d = G/H within +-3,    sd = H^{-1/2}, or |d| where |d| > 4 H^{-1/2},

accepted with the full ratio, G, H, d and sd made anew at a'. (Far from the mode the reverse density
would vanish without the last rule, and a chain would stay where it is for thousands of steps.)
Columns of numbers have an exact draw. A column with unordered levels takes some of its levels, one
after another, in each sweep.

**Own numbers.** A lattice of candidates around the present value x, x + w (k - J), k = 0 .. K - 1,
with J uniform on 0 .. K - 1 and a random width w: any of its points would have made it with the
same probability, so one of them is drawn in proportion to its posterior. It takes one look at all
rows, however many candidates there are. The noise s of a column of numbers moves together with its
features, as s e^u and A e^-u, b e^-u: what features make of the data stays, and the move needs
only the sum of squares of residuals. Features that are known, in units of the noise, stay as they
are: with k what they add to eta, r the residual without them, and t = e^-u, it needs

    sum (t r - k)^2 = t^2 sum (r - k)^2 + (1 - t) ((1 + t) sum k^2 - 2 t sum r k).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.kernels import kind_features as kernel
from ribp.kernels.kind_terms import LEVELS, SQUARE, Columns
from ribp.likelihoods.data import BoolArray, Data, Rows
from ribp.likelihoods.kind_block_steps import MOST_STEP, BlockProposal, BlockSums
from ribp.likelihoods.kind_columns import Places, some_columns
from ribp.likelihoods.likelihood import Ask

TOGETHER = 0.5
"""How often features of a column move together, not one after another."""
MOST_TOGETHER = 24
"""Features: of steps of more few are accepted."""
FAR = 4.0
"""Standard deviations from which on a step is wide."""
BEYOND = 600.0
"""A step that is never taken: its exponential has no place in a double."""
LEVELS_A_SWEEP = 4
OWN_A_SWEEP = 3
CANDIDATES = 12
OWN_DEVIATION = 0.5
"""Prior standard deviation of own numbers."""
_WIDTHS = (0.01, 0.3)  # of a lattice


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """The question of what rows say of one feature; see `ribp.kernels.kind_features`."""

    which: int
    two: bool
    places: Places
    columns: Columns
    features: FloatArray
    background: FloatArray
    level: IntArray
    steps: FloatArray

    def __call__(self, data: Data, rows: Rows) -> FloatArray:
        """Return sums over a block of rows, shape (columns, 3)."""
        sums = np.zeros((len(self.level), 3))
        kernel.add_sums(
            self.which, self.two, self.places.numbers(data.values), data.observed,
            data.log_exposures, rows, self.columns, self.features, self.background, self.level,
            self.steps, sums,
        )  # fmt: skip
        return sums


@dataclass(frozen=True, eq=False)
class OwnSums:
    """The question of how likely entries are at candidates of what columns have of their own."""

    places: Places
    columns: Columns
    features: FloatArray
    background: FloatArray
    some: IntArray
    numbers: FloatArray

    def __call__(self, data: Data, rows: Rows) -> FloatArray:
        """Return sums over a block of rows, shape (columns, candidates)."""
        sums = np.zeros(self.numbers.shape[:2])
        kernel.own_log_likelihoods(
            self.places.numbers(data.values), data.observed, data.log_exposures, rows,
            self.columns, self.features, self.background, self.some, self.numbers, sums,
        )  # fmt: skip
        return sums


class Proposal(NamedTuple):
    """The normal law of a step."""

    step: FloatArray
    deviation: FloatArray

    @classmethod
    def at(cls, slope: FloatArray, bent: FloatArray, exact: BoolArray) -> Proposal:
        """Return the law of a step where the log posterior has this slope and this bend."""
        deviation = bent**-0.5
        step = slope / bent
        step = np.where(exact, step, np.clip(step, -MOST_STEP, MOST_STEP))
        wide = ~exact & (np.abs(step) > FAR * deviation)
        return cls(step, np.where(wide, np.abs(step), deviation))

    def log_density(self, taken: FloatArray) -> FloatArray:
        """Return the log density of a step, but for a constant."""
        return -0.5 * ((taken - self.step) / self.deviation) ** 2 - np.log(self.deviation)


@dataclass(eq=False)
class Steps:
    """Parameters of a table of kinds on their way, given rows."""

    rng: np.random.Generator
    ask: Ask
    places: Places
    features: FloatArray
    background: FloatArray
    own: FloatArray
    scale: float
    width: float
    """Prior standard deviation of the background."""
    n_known: int = 0
    """How many features, the first ones, never change."""
    columns: Columns = field(init=False)

    def __post_init__(self) -> None:
        self.features, self.background, self.own = (
            one.copy() for one in (self.features, self.background, self.own)
        )
        self.columns = self.places.columns(self.own)

    def take(self, used: IntArray) -> None:
        """Take a step of every feature in use, of the background, and of own numbers."""
        if self.rng.random() < TOGETHER:
            n_blocks = max(1, -(-used.size // MOST_TOGETHER))
            for block in np.array_split(self.rng.permutation(used), n_blocks):
                for at, level in self._turns():
                    self.block_step(block, at, level)
        else:
            for which in [*used.tolist(), -1]:
                for at, level in self._turns():
                    self.step(which, at, level)
        self.own_steps()
        self.noise_steps(used)

    def _turns(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield columns and one level of each: all columns, then those with more levels."""
        width, form = self.columns.width, self.columns.form
        levels, first = np.flatnonzero(form == LEVELS), self.rng.integers(width)
        for number in range(max(1, min(int(width[levels].max(initial=0)), LEVELS_A_SWEEP))):
            at = levels if number else np.arange(form.size)
            yield at, np.where(form[at] == LEVELS, (first + number)[at] % width[at], 0)

    def block_step(self, block: IntArray, at: IntArray, level: IntArray) -> None:
        """Take a step of some features and the background together, in some columns."""
        columns = some_columns(self.columns, at)
        latent, exact = columns.at + level, columns.form == SQUARE
        variance = self.places.variance[latent][:, None]
        precision = 1.0 / (variance * np.r_[self.width, np.full(block.size, self.scale)] ** 2)
        centre = np.zeros(precision.shape)
        centre[:, 0] = self.places.centre[latent]

        def look() -> tuple[FloatArray, BlockProposal]:
            entries = np.vstack([self.background[latent], self.features[np.ix_(block, latent)]]).T
            question = BlockSums(self.places, columns, self.features, self.background, block, level)
            found = np.asarray(self.ask(question))
            return entries, BlockProposal.at(found, entries, centre, precision, exact)

        def put(entries: FloatArray) -> None:
            self.background[latent] = entries[:, 0]
            self.features[np.ix_(block, latent)] = entries[:, 1:].T

        old, law = look()
        taken = law.draw(self.rng)
        log_u = np.log(self.rng.random(at.size))
        put(old + taken)
        if exact.all():
            return
        new, back = look()
        gain = back.log_p - law.log_p + back.log_density(-taken) - law.log_density(taken)
        put(np.where((exact | (log_u < gain))[:, None], new, old))

    def step(self, which: int, at: IntArray, level: IntArray) -> None:
        """Take a step of one feature (-1 for the background) in some columns."""
        columns = some_columns(self.columns, at)
        latent = columns.at + level
        entries = self.background if which < 0 else self.features[which]
        centre, precision = self._prior(which, latent)
        old, exact = entries[latent], columns.form == SQUARE
        nothing = np.vstack([np.zeros(at.size), np.ones(at.size)])
        sums = self._sums(which, False, columns, level, nothing)
        slope = sums[:, kernel.SLOPE] - (old - centre) * precision
        law = Proposal.at(slope, sums[:, kernel.BENT] + precision, exact)
        taken = law.step + law.deviation * self.rng.standard_normal(at.size)
        log_u = np.log(self.rng.random(at.size))
        possible = np.abs(taken) < BEYOND
        if exact.all():
            entries[latent] = old + taken
            return
        safe = np.where(possible & ~exact, taken, 0.0)
        sums = self._sums(which, True, columns, level, np.vstack([safe, np.exp(safe)]))
        new = old + taken
        slope = sums[:, kernel.SLOPE] - (new - centre) * precision
        back = Proposal.at(slope, sums[:, kernel.BENT] + precision, exact)
        gain = sums[:, kernel.GAIN]
        gain -= 0.5 * precision * ((new - centre) ** 2 - (old - centre) ** 2)
        gain += back.log_density(-taken) - law.log_density(taken)
        entries[latent] = np.where(exact | (possible & (log_u < gain)), new, old)

    def _prior(self, which: int, latent: IntArray) -> tuple[FloatArray | float, FloatArray]:
        """Return prior means and precisions of entries."""
        variance = self.places.variance[latent]
        if which < 0:
            return self.places.centre[latent], 1.0 / (self.width**2 * variance)
        return 0.0, 1.0 / (self.scale**2 * variance)

    def _sums(
        self, which: int, two: bool, columns: Columns, level: IntArray, steps: FloatArray
    ) -> FloatArray:
        question = FeatureSums(
            which, two, self.places, columns, self.features, self.background, level, steps
        )
        return np.asarray(self.ask(question))

    # What columns have of their own

    def own_steps(self) -> None:
        """Draw own numbers, some of each column, from lattices."""
        form, n_own = self.columns.form, self.places.n_own[self.columns.place]
        some = np.flatnonzero((n_own > 0) & (form != SQUARE))
        for number in range(min(int(n_own[some].max(initial=0)), OWN_A_SWEEP)):
            if number == 0:
                first = self.rng.integers(n_own[some])
            at = self.places.own_at[self.columns.place[some]] + (first + number) % n_own[some]
            candidates = lattice(self.rng, self.own[at])
            log_p = self.ask(self._own_question(some, at, candidates))
            start = self.places.start[at]
            log_p = log_p - 0.5 * ((candidates - start[:, None]) / OWN_DEVIATION) ** 2
            self.own[at] = chosen(self.rng, candidates, log_p)
            self.columns = self.places.columns(self.own)

    def _own_question(self, some: IntArray, at: IntArray, candidates: FloatArray) -> OwnSums:
        """Return the question of how likely candidates for the own numbers `at` are."""
        size = max(3, int(self.columns.width[some].max(initial=0)))
        numbers = np.zeros((some.size, CANDIDATES, size))
        for k, c in enumerate(some.tolist()):
            d = int(self.columns.place[c])
            kind, here = self.places.kinds[d], self.places.own(d)
            own = np.tile(self.own[here], (CANDIDATES, 1))
            own[:, at[k] - here.start] = candidates[k]
            found = kind.thresholds(own) if kind.levels else [kind.numbers(one) for one in own]
            numbers[k, :, : np.shape(found)[1]] = found
        return OwnSums(self.places, self.columns, self.features, self.background, some, numbers)

    def noise_steps(self, used: IntArray) -> None:
        """Draw the noise of columns of numbers, what features make of the data staying as it is."""
        some = np.flatnonzero(self.columns.form == SQUARE)
        if not some.size:
            return
        squares, number = self._residuals(some, 1)
        latent, at = self.columns.at[some], self.places.own_at[self.columns.place[some]]
        entries = self.features[np.ix_(used, latent)]
        shrunk = (entries**2).sum(axis=0) / self.scale**2 + (
            self.background[latent] / self.width
        ) ** 2
        candidates = lattice(self.rng, self.own[at])
        u = candidates - self.own[at][:, None]
        log_p = -0.5 * np.exp(-2.0 * u) * (squares + shrunk)[:, None]
        if self.n_known:
            log_p -= 0.5 * self._known_squares(some, squares, np.exp(-u))
        log_p -= u * (number + used.size + 1.0)[:, None]
        log_p -= 0.5 * ((candidates - self.places.start[at][:, None]) / OWN_DEVIATION) ** 2
        new = chosen(self.rng, candidates, log_p)
        factor = np.exp(self.own[at] - new)
        self.own[at] = new
        self.features[np.ix_(used, latent)] *= factor
        self.background[latent] *= factor
        self.columns = self.places.columns(self.own)

    def _residuals(self, some: IntArray, times: int) -> FloatArray:
        """Return sums of squared residuals of columns of numbers, and numbers of entries.

        Features that are known count so many times.
        """
        features = self.features
        if self.n_known:
            features = features.copy()
            features[: self.n_known] *= times
        question = OwnSums(
            self.places, self.columns, features, self.background, some, np.zeros((some.size, 2, 1))
        )
        return np.asarray(self.ask(question)).T

    def _known_squares(self, some: IntArray, once: FloatArray, t: FloatArray) -> FloatArray:
        """Return sum (t r - k)^2 - t^2 sum (r - k)^2 for each t, shape (columns, candidates).

        `once` is sum (r - k)^2.
        """
        none, twice = (self._residuals(some, times)[0] for times in (0, 2))
        kk = 0.5 * (none - 2.0 * once + twice)
        rk = 0.5 * (none + kk - once)
        return np.asarray((1.0 - t) * ((1.0 + t) * kk[:, None] - 2.0 * t * rk[:, None]))


def lattice(rng: np.random.Generator, values: FloatArray) -> FloatArray:
    """Return candidates around each value, itself among them, shape (values, candidates)."""
    low, high = np.log(_WIDTHS)
    width = np.exp(rng.uniform(low, high, values.size))
    place = rng.integers(CANDIDATES, size=values.size)
    return np.asarray(values[:, None] + width[:, None] * (np.arange(CANDIDATES) - place[:, None]))


def chosen(rng: np.random.Generator, candidates: FloatArray, log_p: FloatArray) -> FloatArray:
    """Return one candidate of each line, in proportion to exp(log_p)."""
    at = (log_p + rng.gumbel(size=log_p.shape)).argmax(axis=1)
    return np.take_along_axis(candidates, at[:, None], axis=1)[:, 0]
