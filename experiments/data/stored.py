"""Files of data that users have: checksums, and arrays that are what they should be.

A file whose SHA-256 is known must have it, since numbers on the evaluation pages belong to that
file. Originals that others publish have no checksum here: editions differ, so what was found is
kept with the data and nothing is compared unless the user says with what.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.errors import StorageError

__all__ = ["KNOWN", "check", "contents", "digest", "names", "read_arrays", "zeros_and_ones"]

KNOWN = "known"
_NO_FILE = "cannot be read ({})"


def contents(path: Path) -> bytes:
    """Return the bytes of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageError(
            path, _NO_FILE.format(error.strerror), "Nothing is downloaded: correct the path."
        ) from None


def digest(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of one file, or, for several, that of their digests in a row."""
    each = [hashlib.sha256(part).hexdigest() for part in parts]
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


def check(path: Path, found: str, asked: str | None, known: Iterable[str] = ()) -> None:
    """Raise an error if a checksum is not the one that was asked for.

    Parameters
    ----------
    path
    found
        The checksum of what is there.
    asked
        "known" to compare with `known`, where there is any; a checksum; or None for anything.
    known
        Checksums of the files that are known.
    """
    expected = list(known) if asked == KNOWN else [] if asked is None else [asked.lower()]
    if expected and found not in expected:
        raise StorageError(
            path,
            f"has the SHA-256 {found}, expected {' or '.join(expected)}",
            "Get the file again, or pass sha256=None to read another edition.",
        )


def read_arrays(
    path: Path, raw: bytes, needed: Mapping[str, tuple[str, int]]
) -> dict[str, NDArray[Any]]:
    """Return named arrays of an .npz file, each of the kinds and number of axes it must have.

    Nothing in the file can run code: arrays of objects are refused.
    """
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in needed if name in stored.files}
    except Exception as error:  # a damaged archive can raise nearly anything
        raise StorageError(
            path, f"is not an .npz file of plain arrays ({error})", "Get the file again."
        ) from None
    for name, (kinds, axes) in needed.items():
        array = arrays.get(name)
        if array is None:
            raise StorageError(
                path, f"has no array {name!r}", f"It must have {', '.join(map(repr, needed))}."
            )
        if array.dtype.kind not in kinds or array.ndim != axes:
            raise StorageError(
                path,
                f"has an array {name!r} of type {array.dtype} and shape {array.shape}",
                f"It must have {axes} axes and a type of kind {' or '.join(kinds)}.",
            )
    return arrays


def zeros_and_ones(path: Path, name: str, array: NDArray[Any]) -> NDArray[np.int8]:
    """Return an array that must hold 0 and 1 only."""
    wrong = np.argwhere((array != 0) & (array != 1))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise StorageError(
            path, f"has {array[at]} at {at} of {name!r}", "Entries must be 0 or 1: correct it."
        )
    return array.astype(np.int8)


def names(array: NDArray[Any]) -> tuple[str, ...]:
    """Return texts of an array as a tuple."""
    return tuple(str(name) for name in array.tolist())
