"""Ten thousand images of 6 x 6 pixels, sums of a few of four features plus noise.

The "Cambridge bars" of Griffiths and Ghahramani, as michaelzhang01/hybridBNP publishes them. Which
image has which features is not given.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.data import stored
from ribp.checks import FloatArray

_KNOWN = ("d4679f4c3ddb638bfbd46e9a512f83e3ebd655e8ba00222539e7eacebb4750e0",)


class Images(NamedTuple):
    """Images as rows."""

    data: FloatArray
    """Shape (rows, pixels)."""
    sha256: str


def load_cambridge(path: str | PathLike[str], *, sha256: str | None = stored.KNOWN) -> Images:
    """Return the images in a file that you have; nothing is downloaded.

    Parameters
    ----------
    path
        `cambridge_10k.npz` with `X`.
    sha256
        As in `load_all_chords`.
    """
    path = Path(path)
    raw = stored.contents(path)
    found = stored.digest([raw])
    stored.check(path, found, sha256, _KNOWN)
    return Images(stored.read_arrays(path, raw, {"X": ("f", 2)})["X"].astype(np.float64), found)
