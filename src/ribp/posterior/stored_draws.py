"""Stored draws as arrays: those whose rows and features are in a result.

The tree of a result (`ribp.results`) has a group `posterior` with every draw of what does not
depend on names of features, and a group `features` with the stored draws, rows packed eight to a
byte. Only one draw at a time is unpacked.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.entries import BINARY, EntryLaw
from ribp.errors import InputError, Notice
from ribp.likelihoods.data import Rows
from ribp.recording import unpack_rows

_MOST_ROWS = 20_000  # by which features of draws are told apart


class StoredDraws(NamedTuple):
    """The draws whose rows and features are stored."""

    rows: NDArray[np.uint8]
    """Packed, shape (chains, draws, rows, bytes)."""
    components: FloatArray
    """Shape (chains, draws, features, dims); NaN for features that do not exist."""
    log_odds: FloatArray
    """Shape (chains, draws, features); NaN for features that do not exist."""
    log_joint: FloatArray
    """Shape (chains, draws)."""
    numbers: IntArray
    """The number of each draw among all draws of its chain."""
    active: NDArray[np.bool_]
    """Which features some row has, shape (chains, draws, features)."""
    n_known: int = 0
    """So many features, the first ones, are known and keep their places."""
    units: FloatArray | float = 1.0
    """Spreads of the columns, shape (dims,): what components are measured by."""
    entry_law: EntryLaw = BINARY
    """The law of rows given weights."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The numbers of chains, draws, rows and features."""
        chains, draws, features = self.log_odds.shape
        return chains, draws, self.rows.shape[2], features

    def unpacked(self, chain: int, draw: int | slice) -> Rows:
        """Return the rows of one draw, shape (rows, features), or of some."""
        return unpack_rows(self.rows[chain, draw], self.shape[3])

    def cut(self, at: slice) -> StoredDraws:
        """Return some of the draws of each chain."""
        by_draw = ("rows", "components", "log_odds", "log_joint", "active")
        parts = {name: getattr(self, name)[:, at] for name in by_draw}
        return self._replace(**parts, numbers=self.numbers[at])

    def sampled(self) -> StoredDraws:
        """Return the same with at most 20 000 rows, evenly spaced: enough to tell features."""
        step = -(-self.rows.shape[2] // _MOST_ROWS)
        return self if step <= 1 else self._replace(rows=self.rows[:, :, ::step])


def in_order(log_joint: FloatArray) -> FloatArray:
    """Return log joints to compare: to a millionth of a nat, and so without errors of rounding.

    Variational chains that end at one bound differ by no more than these, which would say which is
    first, and units of columns would change it.
    """
    return np.round(log_joint, 6)


def stored_draws(tree: xr.DataTree) -> StoredDraws:
    """Return the stored draws of a result."""
    numbers = tree.children["features"].dataset["draw"].to_numpy()
    if numbers.size == 0:
        raise InputError(
            "result", "must have at least one stored draw", "none", "Run it for longer."
        )
    at = np.searchsorted(tree.children["posterior"].dataset["draw"].to_numpy(), numbers)
    likelihood = settings(tree)["likelihood"]
    columns = likelihood.get("units")
    return StoredDraws(
        array(tree, "features", "rows"),
        array(tree, "features", "components"),
        array(tree, "features", "log_odds"),
        array(tree, "posterior", "log_joint")[:, at],
        np.asarray(numbers, dtype=np.int64),
        array(tree, "features", "active").astype(np.bool_),
        len(likelihood.get("known", ())),
        1.0 if columns is None else np.array(columns["spread"]),
        _entry_law(likelihood),
    )


def _entry_law(likelihood: dict[str, Any]) -> EntryLaw:
    """Return the law of entries that settings of a likelihood tell."""
    entries = likelihood.get("entries", "binary")
    if entries in ("binary", "strengths"):
        return BINARY
    return EntryLaw(entries, likelihood["restrict"], likelihood.get("failures", 1.0))


def array(tree: xr.DataTree, group: str, name: str) -> NDArray[Any]:
    """Return one variable of the tree; shape (0,) if it is absent."""
    dataset = tree.children[group].dataset
    return np.asarray(dataset[name].to_numpy()) if name in dataset else np.empty(0)


def settings(tree: xr.DataTree) -> dict[str, Any]:
    """Return the settings of the fit."""
    return dict(json.loads(tree.attrs["settings"]))


def stored_notices(tree: xr.DataTree) -> list[Notice]:
    """Return the warnings of the fit."""
    return [Notice(one["code"], one["text"]) for one in json.loads(tree.attrs["warnings"])]
