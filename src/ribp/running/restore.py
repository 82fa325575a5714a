"""States as arrays with names, and back: what a checkpoint holds.

A state is a NamedTuple of arrays, numbers, tuples of sets of counts, and further NamedTuples, whose
fields are named "outer.inner". Which kind of tuple it was is known to the sampler, not to the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def restored(kind: type, arrays: Arrays, kinds: Mapping[str, type], within: str = "") -> Any:
    """Return the NamedTuple `kind` from its arrays.

    Parameters
    ----------
    kind, arrays
        What it was, and its fields.
    kinds
        What the fields are that are such tuples themselves, by name: "outer", "outer.inner".
    within
        The name of the field that is restored, with a dot at its end.
    """
    found = {}
    for field in kind._fields:  # type: ignore[attr-defined]
        name = within + field
        if name in kinds:
            found[field] = restored(kinds[name], arrays, kinds, f"{name}.")
        else:
            value = arrays[name]
            found[field] = value.item() if value.ndim == 0 else value
    return kind(**found)
