"""Count laws: what is known about how many features a row has.

>>> from ribp import counts
>>> law = counts.mixture([(0.8, counts.exactly(1)), (0.2, counts.poisson(9))])
>>> law
0.8*exactly(1) + 0.2*poisson(9)
>>> counts.by_group({"chord": counts.exactly(3), "note": counts.exactly(1)}, ["note", "chord"])
<RowCounts of 2 rows: 1 x exactly(1), 1 x exactly(3)>
"""

from ribp.counts.combined import mixture, truncated
from ribp.counts.finite import Learned, empirical, exactly, learned, table, uniform, window
from ribp.counts.law import CountLaw
from ribp.counts.row_counts import RowCounts, as_row_counts, by_group, by_row, fill
from ribp.counts.text import parse, register
from ribp.counts.unbounded import negative_binomial, poisson

__all__ = [
    "CountLaw",
    "Learned",
    "RowCounts",
    "as_row_counts",
    "by_group",
    "by_row",
    "empirical",
    "exactly",
    "fill",
    "learned",
    "mixture",
    "negative_binomial",
    "parse",
    "poisson",
    "register",
    "table",
    "truncated",
    "uniform",
    "window",
]
