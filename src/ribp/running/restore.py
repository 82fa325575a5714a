"""States as arrays with names, and back: what a checkpoint holds.

A state is a NamedTuple of arrays, numbers, tuples of sets of counts, and further NamedTuples, whose
fields are named "outer.inner". Which kind of tuple it was is known to the sampler, not to the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "as_arrays", "restored"]

Arrays = Mapping[str, NDArray[Any]]


def as_arrays(state: Any) -> dict[str, NDArray[Any]]:
    """Return the fields of a state."""
    found: dict[str, NDArray[Any]] = {}
    for name, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            found |= {f"{name}.{inner}": array for inner, array in as_arrays(value).items()}
        elif isinstance(value, tuple):
            found[name] = _padded(value)
        else:
            found[name] = np.asarray(value)
    return found


def _padded(sets: tuple[frozenset[int], ...]) -> NDArray[np.int64]:
    """Return sets of counts as rows of one length, filled up with -1."""
    width = max((len(one) for one in sets), default=0)
    return np.array([sorted(one) + [-1] * (width - len(one)) for one in sets], np.int64)


def restored(kind: type, arrays: Arrays, **parts: type) -> Any:
    """Return the NamedTuple `kind` from its arrays; `parts` are the kinds of fields like it."""
    found = {}
    for name in kind._fields:  # type: ignore[attr-defined]
        if name in parts:
            start = f"{name}."
            inner = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
            found[name] = restored(parts[name], inner)
        else:
            value = arrays[name]
            found[name] = value.item() if value.ndim == 0 else value
    return kind(**found)
