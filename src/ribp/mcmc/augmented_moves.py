"""The moves of the augmented sampler, one function each; all leave the joint law unchanged.

Let M be the number of other proposals, m_i how many of them have feature i. The next row of the
buffet has feature i with probability m_i/(c+M) and Poisson(r) features of its own,
r = alpha c/(c+M). So, given everything else, a row z_n with g features that nobody else has is

    P(z_n) prop. prod_i w_i^{z_ni} r^g/g! f_n(|z_n|) 1[no discard of block n has |z_n| ones] L(Z),
    w_i = m_i/(c + M - m_i).                                                               (1)

- `redraw_block`: discards and z_n from their joint prior given the other blocks: J ~ f_n, rows of
  the buffet until one has J ones. Accepted on the likelihood ratio.
- `change_row`: heat-bath flips of (1), a feature of its own more or less, and for each one a move
  to a place not taken, of weight w_i L or, for a feature of its own, r L (the 1/g! cancels: any
  of its g+1 own features could have been the one that moved).
- `redraw_discards`: the target of the discards d given the rest is P(d) 1[none has J ones]; the
  proposal "rows until one has J ones" is that times p_J(d), the chance that the next row ends it.
  Accepted with min(1, p_J(old)/p_J(new)).

Rows are proposed many at a time: given the others, features have weights Beta(m_i, c+M-m_i), one
that first appears after j further rows has weight Beta(1, c+M+j), and rows are independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts
from ribp.errors import ProposalLimitError
from ribp.kernels.poisson_binomial_table import poisson_binomial

Rows = NDArray[np.int8]
Bools = NDArray[np.bool_]
LogLikelihood = Callable[[Rows], float]
Whole = TypeVar("Whole", np.int8, np.int64)

_FIRST_CHUNK, _LARGEST_CHUNK = 8, 4096


class AugmentedState(NamedTuple):
    """Where the chain is. Every feature is held by some kept row or discard."""

    rows: Rows  # z, (rows, features)
    discard_sums: IntArray  # (rows, features): how many discards of block n have feature i
    n_discards: IntArray  # (rows,): how many discards block n has
    discard_counts: tuple[frozenset[int], ...]  # which numbers of ones occur among them
    mass: float  # alpha
    number: int  # of the sweep


class Block(NamedTuple):
    """Rows of a buffet up to the first with the wanted number of ones; old features come first."""

    row: Rows  # (features,), the last
    sums: IntArray  # (features,), of the rows before it: the discards
    number: int  # of discards
    counts: frozenset[int]  # numbers of ones among them


def propose(
    rng: np.random.Generator,
    holders: IntArray,
    others: int,
    mass: float,
    concentration: float,
    ones: int,
    limit: int,
) -> Block | None:
    """Draw rows given M = `others` rows until one has J = `ones`; None beyond `limit` discards."""
    weights = np.zeros(holders.size)  # a feature that nobody has is gone
    held = holders[holders > 0]
    weights[holders > 0] = rng.beta(held, concentration + others - held)
    sums = np.zeros(holders.size, np.int64)
    counts: set[int] = set()
    number, chunk = 0, _FIRST_CHUNK
    while number <= limit:
        before = concentration + others + number + np.arange(chunk)  # c + rows before each
        born = np.repeat(np.arange(chunk), rng.poisson(mass * concentration / before))
        weights = np.concatenate([weights, rng.beta(1.0, before[born])])
        sums = padded(sums, weights.size)
        rows = rng.random((chunk, weights.size)) < weights
        fresh = rows[:, weights.size - born.size :]
        fresh &= np.arange(chunk)[:, None] > born
        fresh[born, np.arange(born.size)] = True
        totals = rows.sum(axis=1)
        hits = np.flatnonzero(totals == ones)
        end = int(hits[0]) if hits.size else chunk
        sums += rows[:end].sum(axis=0)
        counts.update(totals[:end].tolist())
        number += end
        if hits.size and number <= limit:
            return Block(rows[end].astype(np.int8), sums, number, frozenset(counts))
        chunk = min(2 * chunk, _LARGEST_CHUNK)
    return None


def log_count_prob(
    holders: IntArray, others: int, mass: float, concentration: float, ones: int
) -> float:
    """Return log p_J, the chance that the next row of the buffet has J = `ones` ones."""
    probs = holders / (concentration + others)
    old = poisson_binomial(probs, 1.0 - probs)[: ones + 1]
    rate = mass * concentration / (concentration + others)
    new = range(ones, ones - old.size, -1)
    log_new = [k * math.log(rate) - rate - math.lgamma(k + 1.0) for k in new]
    return math.log(old @ np.exp(log_new))


class Buffet:
    """A state that the moves change in place, with all that is fixed in a sweep."""

    def __init__(
        self,
        state: AugmentedState,
        counts: RowCounts,
        concentration: float,
        log_likelihood: LogLikelihood,
        max_discards: int,
    ) -> None:
        self.rows, self.sums = state.rows, state.discard_sums
        self.numbers, self.counts = state.n_discards.copy(), list(state.discard_counts)
        self.mass, self.concentration = state.mass, concentration
        self.laws, self.max_discards = counts, max_discards
        self._likelihood = log_likelihood
        self._log_f = counts.log_probs(15)
        self.log_lik = self.log_likelihood(self.rows)

    def state(self, number: int) -> AugmentedState:
        """Return the state as it is now."""
        return AugmentedState(
            self.rows, self.sums, self.numbers.copy(), tuple(self.counts), self.mass, number
        )

    def log_likelihood(self, rows: Rows) -> float:
        """Return log p(data | rows); the likelihood sees the columns that some kept row has."""
        return float(self._likelihood(rows[:, rows.any(axis=0)]))

    def log_f(self, n: int, ones: int) -> float:
        """Return log f_n at a count."""
        if ones >= self._log_f.shape[1]:
            self._log_f = self.laws.log_probs(2 * ones)
        return float(self._log_f[self.laws.law_of_row[n], ones])

    @property
    def holders(self) -> IntArray:
        """How many proposals, kept or not, have each feature."""
        return np.asarray(self.rows.sum(axis=0, dtype=np.int64) + self.sums.sum(axis=0))

    @property
    def proposals(self) -> int:
        """How many proposals there are, kept or not."""
        return len(self.rows) + int(self.numbers.sum())

    def propose(
        self, rng: np.random.Generator, n: int, holders: IntArray, others: int, ones: int
    ) -> Block:
        """Draw rows for block n until one has so many ones."""
        elsewhere = int(self.numbers.sum() - self.numbers[n])
        limit, c = self.max_discards - elsewhere, self.concentration
        block = propose(rng, holders, others, self.mass, c, ones, limit)
        if block is None:
            kept = others - elsewhere
            raise ProposalLimitError(
                f"more than max_discards={self.max_discards} discarded rows: row {n} was to have "
                f"{ones} ones, too rare for mass {self.mass:.3g} and concentration {c:.3g}. To "
                "stop here would bias the draw, so nothing is returned. Use method='gibbs', which "
                "discards nothing, a mass nearer to the counts, or raise max_discards.",
                self.max_discards + kept,
                kept,
            )
        return block

    def settle(self, n: int, row: Rows, block: Block) -> None:
        """Put a row and the discards of a block in place n; forget features that nobody has."""
        size = max(row.size, block.sums.size)
        self.rows, self.sums = padded(self.rows, size), padded(self.sums, size)
        self.rows[n], self.sums[n] = padded(row, size), padded(block.sums, size)
        self.numbers[n], self.counts[n] = block.number, block.counts
        held = self.holders > 0
        self.rows, self.sums = self.rows[:, held], self.sums[:, held]


class RowTarget:
    """The law (1) of row n given all other proposals.

    A row is z, its entries for the features that others have (`shared`), and the number `own` of
    features that it alone has.
    """

    def __init__(self, buffet: Buffet, n: int) -> None:
        self.buffet, self.n = buffet, n
        row = buffet.rows[n]
        rest = buffet.holders - row
        self.shared = np.flatnonzero(rest)
        held, total = rest[self.shared], buffet.concentration + buffet.proposals - 1
        self.log_odds = np.log(held / (total - held))
        self.log_rate = math.log(buffet.mass * buffet.concentration / total)
        self.z = row[self.shared].astype(bool)
        self.own = int(np.count_nonzero(row) - np.count_nonzero(self.z))
        kept = buffet.rows.sum(axis=0) > row
        self._kept, self._visible = buffet.rows[:, kept], kept[self.shared]
        self._known: dict[tuple[bytes, int], float] = {}

    def log_likelihood(self, z: Bools, own: int) -> float:
        """Return log p(data | rows), remembered: features of no other kept row are all alike."""
        seen = z[self._visible]
        single = int(np.count_nonzero(z) - np.count_nonzero(seen)) + own
        key = (seen.tobytes(), single)
        if key not in self._known:
            rows = padded(self._kept, seen.size + single)
            rows[self.n] = 1
            rows[self.n, : seen.size] = seen
            self._known[key] = self.buffet.log_likelihood(rows)
        return self._known[key]

    def log_prob(self, z: Bools, own: int) -> float:
        """Return the logarithm of (1), up to a constant; -inf where it is zero."""
        ones = int(np.count_nonzero(z)) + own
        if own < 0 or ones in self.buffet.counts[self.n]:
            return -math.inf
        log_f = self.buffet.log_f(self.n, ones)
        if log_f == -math.inf:
            return log_f
        features = float(self.log_odds[z].sum()) + own * self.log_rate - math.lgamma(own + 1.0)
        return log_f + features + self.log_likelihood(z, own)

    def shift(self, place: int, change: int) -> None:
        """Add (1) or take away (-1) a one at a shared feature or, after the last, an own one."""
        if place < self.z.size:
            self.z[place] = change > 0
        else:
            self.own += change

    def row(self) -> Rows:
        """Return the row over the buffet's features, with its own ones as new features."""
        size = self.buffet.rows.shape[1]
        row = padded(np.zeros(size, np.int8), size + self.own)
        row[self.shared] = self.z
        row[size:] = 1
        return row


def redraw_block(rng: np.random.Generator, buffet: Buffet, n: int) -> bool:
    """Replace the discards and the row of block n by a draw from the prior."""
    ones = int(buffet.laws[n].sample(rng, 1)[0])
    holders = buffet.holders - buffet.rows[n] - buffet.sums[n]
    others = buffet.proposals - 1 - int(buffet.numbers[n])
    block = buffet.propose(rng, n, holders, others, ones)
    rows = padded(buffet.rows, block.row.size)
    rows[n] = block.row
    value = buffet.log_likelihood(rows)
    if not accepts(rng, value - buffet.log_lik):
        return False
    buffet.settle(n, block.row, block)
    buffet.log_lik = value
    return True


def change_row(rng: np.random.Generator, buffet: Buffet, n: int) -> tuple[int, int, int]:
    """Change row n given all else; return how many flips, births or deaths, and moves it made."""
    target = RowTarget(buffet, n)
    made = flip_each(rng, target), add_or_remove(rng, target), relocate_each(rng, target)
    if any(made):
        discards = buffet.sums[n], int(buffet.numbers[n]), buffet.counts[n]
        buffet.settle(n, target.row(), Block(buffet.rows[n], *discards))
        buffet.log_lik = target.log_likelihood(target.z, target.own)
    return made


def flip_each(rng: np.random.Generator, target: RowTarget) -> int:
    """Draw each entry of a feature that others have, given the rest; return how many changed.

    In random order: columns stand in order of appearance, which depends on the row itself, so
    walking along them would not keep the law.
    """
    made = 0
    for i in rng.permutation(target.z.size).tolist():
        if rng.logistic() < flip_log_odds(target, i):
            target.z[i] = not target.z[i]
            made += 1
    return made


def flip_log_odds(target: RowTarget, i: int) -> float:
    """Return the log-odds of changing the entry of shared feature i, against leaving it."""
    z = target.z.copy()
    z[i] = not z[i]
    there = target.log_prob(z, target.own)
    return there if there == -math.inf else there - target.log_prob(target.z, target.own)


def add_or_remove(rng: np.random.Generator, target: RowTarget) -> int:
    """Propose one own feature more, or one less, each with chance 1/2; return 1 if accepted."""
    own = target.own + (1 if rng.random() < 0.5 else -1)
    change = target.log_prob(target.z, own) - target.log_prob(target.z, target.own)
    if not accepts(rng, change):
        return 0
    target.own = own
    return 1


def relocate_each(rng: np.random.Generator, target: RowTarget) -> int:
    """Move each one of the row, in random order, to a place not taken; return how many moved."""
    ones = np.append(np.flatnonzero(target.z), np.full(target.own, target.z.size))
    made = 0
    for old in rng.permutation(ones).tolist():
        target.shift(old, -1)
        log_weights = relocation_log_weights(target)
        new = int(np.argmax(log_weights + rng.gumbel(size=log_weights.size)))
        target.shift(new, 1)
        made += new != old
    return made


def relocation_log_weights(target: RowTarget) -> FloatArray:
    """Return the log weights of places for one more one; the last is a feature of its own."""
    log_weights = np.full(target.z.size + 1, -np.inf)
    log_weights[-1] = target.log_rate + target.log_likelihood(target.z, target.own + 1)
    z = target.z.copy()
    for i in np.flatnonzero(~z).tolist():
        z[i] = True
        log_weights[i] = target.log_odds[i] + target.log_likelihood(z, target.own)
        z[i] = False
    return log_weights


def redraw_discards(rng: np.random.Generator, buffet: Buffet, n: int) -> bool:
    """Replace the discards of block n alone."""
    row = buffet.rows[n]
    ones = int(np.count_nonzero(row))
    holders = buffet.holders - buffet.sums[n]
    others = buffet.proposals - int(buffet.numbers[n])
    block = buffet.propose(rng, n, holders, others, ones)
    law = buffet.mass, buffet.concentration, ones
    old = log_count_prob(buffet.holders, buffet.proposals, *law)
    holders = padded(holders, block.sums.size) + block.sums
    new = log_count_prob(holders, others + block.number, *law)
    if not accepts(rng, old - new):
        return False
    buffet.settle(n, row, block)
    return True


def accepts(rng: np.random.Generator, log_ratio: float) -> bool:
    """Return True with probability min(1, exp(log_ratio))."""
    return -rng.standard_exponential() <= log_ratio


def padded(array: NDArray[Whole], size: int) -> NDArray[Whole]:
    """Return a copy with zeros at the end of the last axis, up to `size`."""
    longer = np.zeros((*array.shape[:-1], size), array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer
