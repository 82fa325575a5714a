"""Features of a column and its background in one step.

Where data say much of every row (counts in the hundreds, say), the background of a column follows
from its features and these from the background, so that a chain which moves one of them at a time
hardly moves at all. Nothing of that is left if the m entries a of a latent column move together.
With G and H the slope and the bend of their log posterior (`ribp.kernels.kind_blocks`), prior
included, S^2 the diagonal of H and R = S^-1 H S^-1,

    a' ~ N(a + d, (S R S)^-1),        d = S^-1 R^-1 S^-1 G, shortened until no entry is beyond 3,

accepted with the full ratio, all of it made anew at a'. Columns of numbers have an exact draw; for
the others a billionth is added to the diagonal of R, which enormous rates leave singular. Columns
do not meet given rows, so all of them step at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.kernels.kind_blocks import add_blocks
from ribp.kernels.kind_terms import Columns
from ribp.likelihoods.data import BoolArray, Data, Rows
from ribp.likelihoods.kind_columns import Places

MOST_STEP = 3.0
_JITTER = 1e-9


@dataclass(frozen=True, eq=False)
class BlockSums:
    """The question of what rows say of several features; see `ribp.kernels.kind_blocks`."""

    places: Places
    columns: Columns
    features: FloatArray
    background: FloatArray
    block: IntArray
    level: IntArray

    def __call__(self, data: Data, rows: Rows) -> FloatArray:
        """Return sums over a block of rows."""
        m = self.block.size + 1
        sums = np.zeros((len(self.level), 1 + m + m * (m + 1) // 2))
        add_blocks(
            self.places.numbers(data.values), data.observed, data.log_exposures, rows,
            self.columns, self.features, self.background, self.block, self.level, sums,
        )  # fmt: skip
        return sums


class BlockProposal(NamedTuple):
    """Log posteriors of columns at a place, and the normal laws of steps from there."""

    log_p: FloatArray
    step: FloatArray
    """d, (columns, m)."""
    size: FloatArray
    """S, (columns, m)."""
    root: FloatArray
    """C, lower, C C' = R; (columns, m, m)."""

    @classmethod
    def at(
        cls, sums: FloatArray, entries: FloatArray, centre: FloatArray, precision: FloatArray,
        exact: BoolArray,
    ) -> BlockProposal:  # fmt: skip
        """Return them, after a look at all rows, for entries with such a prior."""
        m = entries.shape[1]
        rest = entries - centre
        low, high = np.tril_indices(m)
        bent = np.zeros((len(sums), m, m))
        bent[:, low, high] = bent[:, high, low] = sums[:, 1 + m :]
        bent[:, np.arange(m), np.arange(m)] += precision
        size = np.sqrt(np.diagonal(bent, axis1=1, axis2=2))
        bent /= size[:, :, None] * size[:, None, :]
        bent[:, np.arange(m), np.arange(m)] = 1.0 + _JITTER * ~exact[:, None]
        slope = (sums[:, 1 : 1 + m] - precision * rest) / size
        step = np.linalg.solve(bent, slope[:, :, None])[:, :, 0] / size
        longest = np.abs(step).max(axis=1, initial=MOST_STEP)
        step *= np.where(exact, 1.0, MOST_STEP / longest)[:, None]
        log_p = sums[:, 0] - 0.5 * (precision * rest**2).sum(axis=1)
        return cls(log_p, step, size, np.linalg.cholesky(bent).astype(float, copy=False))

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw a step of every column."""
        noise = rng.standard_normal((*self.step.shape, 1))
        upper = np.swapaxes(self.root, 1, 2)
        return np.asarray(self.step + np.linalg.solve(upper, noise)[:, :, 0] / self.size)

    def log_density(self, taken: FloatArray) -> FloatArray:
        """Return the log density of a step, but for a constant."""
        rest = ((taken - self.step) * self.size)[:, None, :] @ self.root
        roots = np.log(np.diagonal(self.root, axis1=1, axis2=2)) + np.log(self.size)
        return np.asarray(roots.sum(axis=1) - 0.5 * (rest**2).sum(axis=(1, 2)))
