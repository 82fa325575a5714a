"""Samplers as a run sees them: where a chain begins, one sweep, what is shown of a state.

A run knows nothing of models and moves. A state is a NamedTuple of arrays, numbers and further such
tuples, so that it can be written down and read back (`ribp.running.checkpoint`). What a chain works
on (`rows`) is a table in a row store, whose rows may be anywhere (`ribp.running.row_samplers`), or
data in memory, with the rows in the state (`ribp.running.memory_samplers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ribp.errors import InputError
from ribp.model import SweepInfo
from ribp.recording import Recordable
from ribp.rows.store import Packed, RowStore
from ribp.running.augmented_sampler import Augmented
from ribp.running.memory_samplers import BuffetGibbs, BuffetVariational, Gibbs
from ribp.running.restore import Arrays
from ribp.running.row_samplers import GibbsRows, Hybrid, Stochastic, Structured


class Sampler(Protocol):
    """What a run asks of a sampler."""

    @property
    def model(self) -> Any:
        """The model it samples from."""

    def check(self, store: RowStore) -> None:
        """Raise an `InputError` if these data cannot be."""

    def rows(self, store: RowStore) -> Any:
        """Return what a chain works on."""

    def begin(self, rng: np.random.Generator, rows: Any, start: Any) -> Any:
        """Return a first state; `start` is None for methods that do not search."""

    def trial(self, rng: np.random.Generator, rows: Any) -> Any:
        """Return a state of the usual size, to time a sweep."""

    def update(
        self, rng: np.random.Generator, seed: np.uint64, state: Any, model: Any, rows: Any
    ) -> tuple[Any, SweepInfo]:
        """Return the next state, its log joint, and the tally of its rows."""

    def shown(self, state: Any) -> Recordable:
        """Return what is recorded of a state, but for its rows."""

    def packed(self, state: Any, rows: Any) -> Packed:
        """Return Z of all rows."""

    def restored(self, arrays: Arrays) -> Any:
        """Return the state that was written down as `arrays`."""


class _Kind(NamedTuple):
    make: Callable[[Any], Sampler]
    by_rows: bool = False
    """Whether rows may be anywhere."""
    searched: bool = True
    """Whether chains begin at the starts of a search."""
    any_likelihood: bool = False
    """Whether it takes all likelihoods, and features that are known."""


_KINDS = {
    "gibbs": _Kind(Gibbs),
    "gibbs-rows": _Kind(GibbsRows, by_rows=True, any_likelihood=True),
    "augmented": _Kind(Augmented, searched=False),
    "buffet": _Kind(BuffetGibbs),
    "hybrid": _Kind(Hybrid, by_rows=True),
    "structured": _Kind(Structured, by_rows=True),
    "stochastic": _Kind(Stochastic, by_rows=True),
    "buffet-variational": _Kind(lambda model: BuffetVariational(model, "beta")),
    "buffet-hybrid": _Kind(lambda model: BuffetVariational(model, "sample")),
}
ROW_METHODS = tuple(name for name, kind in _KINDS.items() if kind.by_rows)
"""Methods whose rows may be anywhere."""


def searches(method: str) -> bool:
    """Return whether chains of a method begin at the starts of a search."""
    return _KINDS[method].searched


def sampler(method: str, model: Any) -> Sampler:
    """Return the sampler of a method."""
    if method not in _KINDS:
        raise InputError("method", f"must be one of {', '.join(_KINDS)}", method, "Choose one.")
    kind = _KINDS[method]
    if not kind.any_likelihood and not model.likelihood.integrates_features:
        raise InputError(
            "method",
            f'must be "gibbs-rows" where data are {model.likelihood.description}',
            method,
            'Set method="gibbs-rows", or likelihood="gaussian" and entries="binary".',
        )
    if not kind.any_likelihood and model.likelihood.known:
        raise InputError(
            "method",
            'must be "gibbs-rows" where features are known',
            method,
            'Set method="gibbs-rows", or leave out fixed_components.',
        )
    return kind.make(model)
