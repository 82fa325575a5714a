"""The paper's 1332 piano chords: all orderings of three notes of an octave, and single notes.

The six orderings of a chord have identical spectra; the 232 different rows ship with the package
(`ribp.datasets.load_chords`).
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data import stored
from ribp.checks import FloatArray
from ribp.errors import StorageError

_KNOWN = ("3b0d9eeda2d0ec76912dd99506c2844b8ab4c01e5997cd3678de13b9186e125b",)
_ARRAYS = {"X": ("f", 2), "Z": ("biu", 2)}


class AllChords(NamedTuple):
    """Spectra and the notes that were struck."""

    spectra: FloatArray
    """Power in each frequency bin, shape (rows, dims)."""
    notes: NDArray[np.int8]
    """1 where a note sounds, shape (rows, features)."""
    sha256: str


def load_all_chords(path: str | PathLike[str], *, sha256: str | None = stored.KNOWN) -> AllChords:
    """Return the chords in a file that you have; nothing is downloaded.

    Parameters
    ----------
    path
        `chords.npz` with `X` (power spectra) and `Z` (notes).
    sha256
        "known": it must be the file that the evaluation used; or a checksum that the file must
        have, or None for anything.
    """
    path = Path(path)
    raw = stored.contents(path)
    found = stored.digest([raw])
    stored.check(path, found, sha256, _KNOWN)
    arrays = stored.read_arrays(path, raw, _ARRAYS)
    notes = stored.zeros_and_ones(path, "Z", arrays["Z"])
    if len(notes) != len(arrays["X"]):
        raise StorageError(
            path,
            f"has {len(arrays['X'])} spectra, but the notes of {len(notes)}",
            "They must agree: get the file again.",
        )
    return AllChords(arrays["X"].astype(np.float64), notes, found)
