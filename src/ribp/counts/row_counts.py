"""Which row uses which count law.

Row n has the law f_n = laws[law_of_row[n]]. A million rows seldom have more than a handful of
different laws, so each is stored once. Rows with the same *learned* law share one unknown table;
by group, every label with a learned law has a table of its own.

A count that is missing (NaN, NA, None, masked) means that the law of its row is not known: unless
somebody says which, it is one learned law for all such rows.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts.finite import USUAL_COUNTS, Learned, Uniform, free_law
from ribp.counts.law import CountLaw
from ribp.counts.text import parse
from ribp.errors import InputError

_SHOWN = 6
_LONGEST_FREE = 1000  # a count beyond it is a mistake, or has a law


@dataclass(frozen=True, eq=False, repr=False)
class RowCounts:
    """The count law of every row; make one with `by_row`, `by_group` or `as_row_counts`.

    Indexing with an integer gives the law of that row; with a slice, an integer array or a
    mask, the `RowCounts` of those rows, so that cross-validation can split it.
    """

    laws: tuple[CountLaw, ...]
    """The different laws, in the order in which the rows first use them."""
    law_of_row: IntArray
    """Shape (rows,): row n has the law ``laws[law_of_row[n]]``."""

    def __post_init__(self) -> None:
        given = tuple(_law("laws", law) for law in self.laws)
        laws, law_of_row = _canonical(given, _checked(self.law_of_row, len(given)))
        law_of_row.flags.writeable = False
        object.__setattr__(self, "laws", laws)
        object.__setattr__(self, "law_of_row", law_of_row)

    @property
    def shape(self) -> tuple[int]:
        """The shape of a column with one entry a row."""
        return (len(self.law_of_row),)

    @property
    def smallest(self) -> int:
        """The smallest count that any row can have."""
        return min((law.smallest for law in self.laws), default=0)

    @property
    def largest(self) -> int | None:
        """The largest count that any row can have; None if there is no limit."""
        ends = [law.largest for law in self.laws]
        bounded = [end for end in ends if end is not None]
        return max(bounded, default=0) if len(bounded) == len(ends) else None

    def log_probs(self, k_max: int) -> FloatArray:
        """Return log f(0..k_max) of each of `laws`, shape (laws, k_max + 1)."""
        empty = np.empty((0, checks.integer("k_max", k_max) + 1))
        return np.vstack([empty, *(law.log_probs(k_max) for law in self.laws)])

    def sample(self, rng: np.random.Generator) -> IntArray:
        """Return a count for every row; rows of one learned law share one drawn table."""
        rng = checks.generator("rng", rng)
        draws = np.empty(len(self), dtype=np.int64)
        ends = np.cumsum(np.bincount(self.law_of_row, minlength=len(self.laws)))
        groups = np.split(np.argsort(self.law_of_row, kind="stable"), ends[:-1])
        for law, rows in zip(self.laws, groups, strict=False):
            known = law.draw_table(rng) if isinstance(law, Learned) else law
            draws[rows] = known.sample(rng, rows.size)
        return draws

    def __len__(self) -> int:
        return len(self.law_of_row)

    def __iter__(self) -> Iterator[CountLaw]:
        return (self.laws[j] for j in self.law_of_row.tolist())

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> CountLaw: ...
    @overload
    def __getitem__(self, key: Any) -> RowCounts: ...
    def __getitem__(self, key: Any) -> CountLaw | RowCounts:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn splits columns as column[rows, ...]
        picked = self.law_of_row[_row_key(key, len(self))]
        if picked.ndim == 0:
            return self.laws[int(picked)]
        return RowCounts(self.laws, picked)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowCounts):
            return NotImplemented
        return self.laws == other.laws and np.array_equal(self.law_of_row, other.law_of_row)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sizes = np.bincount(self.law_of_row, minlength=len(self.laws))
        parts = [f"{n} x {law!r}" for n, law in zip(sizes[:_SHOWN], self.laws, strict=False)]
        if len(self.laws) > _SHOWN:
            parts.append(f"and {len(self.laws) - _SHOWN} more laws")
        return f"<RowCounts of {len(self)} rows: {', '.join(parts)}>"


def by_row(laws: Iterable[CountLaw]) -> RowCounts:
    """Return the `RowCounts` with one law for each row."""
    where: dict[CountLaw, int] = {}
    index = [where.setdefault(_law("laws", law), len(where)) for law in laws]
    return RowCounts(tuple(where), np.array(index, dtype=np.int64))


def by_group(laws: Mapping[Any, CountLaw], labels: Iterable[Hashable]) -> RowCounts:
    """Return the `RowCounts` in which a row has the law of its label.

    Parameters
    ----------
    laws
        The law of each label; a label that no row has is fine.
    labels
        The label of each row.
    """
    if isinstance(labels, (str, bytes)):
        raise InputError("labels", "must hold one label a row", repr(labels), "Pass a list.")
    where = {label: j for j, label in enumerate(laws)}
    try:
        index = [where[label] for label in labels]
    except KeyError as error:
        raise InputError(
            "labels",
            f"must be among {', '.join(map(repr, where))}",
            repr(error.args[0]),
            "Give that label a law.",
        ) from None
    except TypeError:
        raise InputError(
            "labels", "must be a flat list of labels", repr(labels), "Pass one label a row."
        ) from None
    return RowCounts(tuple(laws.values()), np.array(index, dtype=np.int64))


def fill(
    counts: CountLaw | RowCounts | str | ArrayLike, law: CountLaw | str | None = None
) -> CountLaw | RowCounts:
    """Return `counts` with a law for every row whose count is missing.

    Parameters
    ----------
    counts
        A number for each row, or a lowest and a highest one; NaN, NA, None and masked entries are
        missing. What has no missing entries, such as a law, is returned as it is.
    law
        Of the rows whose count is missing; None for one that is learned from these rows.

    Examples
    --------
    >>> fill([1, None, 2], "uniform(1, 3)")
    <RowCounts of 3 rows: 1 x exactly(1), 1 x uniform(1, 3), 1 x exactly(2)>
    """
    law = parse(law) if isinstance(law, str) else law
    if isinstance(counts, str):
        return parse(counts)
    if isinstance(counts, CountLaw | RowCounts):
        return counts
    return _from_array(counts, None if law is None else _law("law", law))


def as_row_counts(counts: CountLaw | RowCounts | str | ArrayLike, n_rows: int) -> RowCounts:
    """Return `counts` as a `RowCounts` of `n_rows` rows.

    Parameters
    ----------
    counts
        One law for all rows, or its text form; a `RowCounts`; a whole number for each row,
        shape (rows,), its exact count; or a lowest and a highest count, shape (rows, 2). Rows whose
        count is missing have a learned law; `fill` gives them another.
    n_rows
        The number of rows of the data.
    """
    n_rows = checks.integer("n_rows", n_rows)
    rows = fill(counts)
    if isinstance(rows, CountLaw):
        return RowCounts((rows,), np.zeros(n_rows, dtype=np.int64))
    if len(rows) != n_rows:
        raise InputError(
            "counts",
            f"must have an entry for each of the {n_rows} rows",
            f"{len(rows)} entries",
            "Pass one law for all rows, or one entry a row.",
        )
    return rows


def joined(
    known: RowCounts, where: IntArray, n_rows: int, missing: CountLaw | None = None
) -> RowCounts:
    """Return the laws of all rows, given those of some.

    Parameters
    ----------
    known
        The laws of rows whose count is known.
    where
        Which rows these are.
    n_rows
        The number of all rows.
    missing
        The law of the others; None for one that is learned.
    """
    if missing is None:
        missing = free_law(min(max(known.largest or 0, USUAL_COUNTS), _LONGEST_FREE))
    law_of_row = np.full(n_rows, len(known.laws), dtype=np.int64)
    law_of_row[where] = known.law_of_row
    return RowCounts((*known.laws, missing), law_of_row)


def _from_array(counts: ArrayLike, missing: CountLaw | None) -> RowCounts:
    remedy = "Pass a law, its text, a RowCounts (see by_row, by_group) or an integer array."
    array = _as_numbers(counts, remedy)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] != 2):
        raise InputError("counts", "must have shape (rows,) or (rows, 2)", array.shape, remedy)
    unknown = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    if array.ndim == 2:
        _check_ends(array, unknown)
        unknown = unknown[:, 0]
    known = _known(checks.integers("counts", array[~unknown]))
    if not unknown.any():
        return known
    return joined(known, np.flatnonzero(~unknown), len(array), missing)


def _as_numbers(counts: Any, remedy: str) -> Any:
    """Return an array of numbers, NaN where a count is missing."""
    try:
        if hasattr(counts, "to_numpy") and hasattr(counts, "isna"):  # pandas, with its own nulls
            array = np.where(counts.isna(), np.nan, counts.to_numpy(dtype=object))
        elif isinstance(counts, np.ma.MaskedArray):
            array = np.ma.filled(counts.astype(np.float64), np.nan)
        else:
            array = np.asarray(counts)
    except ValueError:
        raise InputError("counts", "must be rectangular", repr(counts), remedy) from None
    if array.dtype.kind == "O" and array.ndim:
        array = _from_objects(array)
    if array.dtype.kind not in "iuf":
        raise InputError("counts", "must be a count law or whole numbers", repr(counts), remedy)
    return array


def _from_objects(array: Any) -> Any:
    """Return whole numbers, doubles where some are missing, or the array if it is neither."""
    flat = [np.nan if x is None or str(x) == "<NA>" else x for x in array.ravel().tolist()]
    if all(isinstance(x, int | float | np.number) and not isinstance(x, bool) for x in flat):
        return np.array(flat).reshape(array.shape)
    return array


def _check_ends(array: Any, unknown: Any) -> None:
    """Raise an `InputError` unless rows have two ends in order, or none."""
    half = np.flatnonzero(unknown[:, 0] != unknown[:, 1])
    wrong = np.flatnonzero(array[:, 0] > array[:, 1])
    if half.size:
        raise InputError(
            "counts",
            "must have a lowest and a highest count in every row, or neither",
            f"{array[half[0]].tolist()} in row {half[0]}",
            "Write 0 for a lowest count that is not known.",
        )
    if wrong.size:
        raise InputError(
            "counts",
            "must have lo <= hi in every row",
            f"{array[wrong[0]].tolist()} in row {wrong[0]}",
            "Exchange the two columns there.",
        )


def _known(array: IntArray) -> RowCounts:
    """Return the laws of rows with counts of shape (rows,), or ends of shape (rows, 2)."""
    if array.ndim == 1:
        ks, index = np.unique(array, return_inverse=True)
        return RowCounts(tuple(Uniform(k, k) for k in ks.tolist()), index)
    los, lo_index = np.unique(array[:, 0], return_inverse=True)
    his, hi_index = np.unique(array[:, 1], return_inverse=True)
    pairs, index = np.unique(lo_index * len(his) + hi_index, return_inverse=True)
    i, j = np.divmod(pairs, max(1, len(his)))
    ends = zip(los[i].tolist(), his[j].tolist(), strict=True)
    return RowCounts(tuple(Uniform(lo, hi) for lo, hi in ends), index)


def _canonical(
    laws: tuple[CountLaw, ...], law_of_row: IntArray
) -> tuple[tuple[CountLaw, ...], IntArray]:
    """Return the laws that are used, each once, in order of first use, and which each row has."""
    where: dict[Hashable, int] = {}
    keys = ((j, law) if isinstance(law, Learned) else law for j, law in enumerate(laws))
    merged = np.array([where.setdefault(key, j) for j, key in enumerate(keys)], dtype=np.int64)
    which = merged[law_of_row]
    first = np.full(len(laws), -1, dtype=np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    used = np.flatnonzero(first >= 0)
    order = used[np.argsort(first[used])]
    rank = np.empty(len(laws), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return tuple(laws[j] for j in order), rank[which]


def _checked(law_of_row: ArrayLike, n_laws: int) -> IntArray:
    array = checks.integers("law_of_row", law_of_row)
    if array.ndim != 1 or (array.size and array.max() >= n_laws):
        raise InputError(
            "law_of_row",
            f"must be one position among the {n_laws} laws for each row",
            law_of_row,
            "Use by_row or by_group.",
        )
    return array


def _row_key(key: Any, n_rows: int) -> Any:
    """Return a NumPy index for one integer, a slice, or a flat array of integers or booleans."""
    if isinstance(key, slice):
        return key
    array = np.asarray(None if isinstance(key, tuple) else key)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list
    mask = array.dtype.kind == "b" and array.shape == (n_rows,)
    if mask or (array.dtype.kind in "iu" and array.ndim <= 1):
        return operator.index(key) if array.ndim == 0 else array
    raise InputError(
        "rows",
        "must be an integer, a slice, an integer array or a mask with an entry a row",
        repr(key),
        f"There are {n_rows} rows.",
    )


def _law(argument: str, law: Any) -> CountLaw:
    if not isinstance(law, CountLaw):
        raise InputError(argument, "must be count laws", repr(law), "Pass for example exactly(3).")
    return law
