"""What a simulation returns: a sparse matrix of rows, the weights behind it, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ribp.checks import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows drawn from the prior.

    Attributes
    ----------
    rows
        Sparse (rows, used features); columns are features in order of first appearance.
    log_odds
        Of the used features, as the measure carries them (log-odds, or log-weights); None where
        weights are never drawn (collapsed).
    unused_log_odds
        Of the features that were drawn but that no row has; None as above.
    n_proposed, n_rejected
        Rows proposed, and those among them that were not kept.
    n_atoms
        Weights drawn, or dishes on the buffet: used and unused.
    tv_bound_row, tv_bound
        Upper bounds on the total variation between the law of a row (the worst of them, given the
        counts drawn), or of all rows, and the law under the whole measure; they hold for
        all but 1e-9 of the measures. Zero for exact samplers, None where there is no bound (weak
        limit). See `ribp.prior.certificate`.
    """

    rows: csr_array
    log_odds: FloatArray | None
    unused_log_odds: FloatArray | None
    n_proposed: int
    n_rejected: int
    n_atoms: int
    tv_bound_row: float | None
    tv_bound: float | None

    def __repr__(self) -> str:
        n, used = self.rows.shape
        bound = "no bound" if self.tv_bound_row is None else f"row TV <= {self.tv_bound_row:.1e}"
        return (
            f"<Draw: {n} rows, {used} features used of {self.n_atoms}, "
            f"{self.n_rejected} of {self.n_proposed} proposals rejected, {bound}>"
        )


def assemble(
    members: IntArray | NDArray[np.int32],
    lengths: IntArray,
    log_odds: FloatArray | None,
    *,
    values: IntArray | NDArray[np.int8] | None = None,
    n_atoms: int | None = None,
    n_proposed: int | None = None,
    bounds: tuple[float, float] | None,
) -> Draw:
    """Return the draw whose row n owns the next ``lengths[n]`` of `members` (and `values`)."""
    from ribp.kernels.first_appearance import by_first_appearance

    n_rows = lengths.size
    if n_atoms is None:
        n_atoms = 0 if log_odds is None else log_odds.size
    columns = members.astype(np.int32, copy=False)
    label = by_first_appearance(columns, n_atoms)
    used = int(label.max(initial=-1)) + 1
    indptr = np.zeros(n_rows + 1, np.int64 if columns.size > 2**31 - 1 else np.int32)
    np.cumsum(lengths, out=indptr[1:])
    data = np.ones(columns.size, np.int8) if values is None else values
    rows = csr_array((data, columns, indptr), shape=(n_rows, used))
    rows.sort_indices()
    used_log_odds = unused_log_odds = None
    if log_odds is not None:
        used_log_odds = np.empty(used)
        used_log_odds[label[label >= 0]] = log_odds[label >= 0]
        unused_log_odds = log_odds[label < 0]
    proposed = n_rows if n_proposed is None else n_proposed
    row_bound, matrix_bound = bounds or (None, None)
    return Draw(
        rows=rows,
        log_odds=used_log_odds,
        unused_log_odds=unused_log_odds,
        n_proposed=proposed,
        n_rejected=proposed - n_rows,
        n_atoms=n_atoms,
        tv_bound_row=row_bound,
        tv_bound=matrix_bound,
    )
