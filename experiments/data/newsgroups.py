"""Twenty newsgroups, a hundred words: which of them each of 16242 postings has.

The set is Sam Roweis's: rows are postings in four groups of newsgroups, columns are words, entries
say whether a word occurs. It has no lengths of documents. The paper sets k_n = L_n / 150 with L_n
the length of document n, which cannot be had from this file: `n_words`, the number of the hundred
words that occur, is what there is.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import stored
from ribp.checks import FloatArray, IntArray
from ribp.errors import StorageError

__all__ = ["Newsgroups", "load_newsgroups"]

_KNOWN = ("931fb342413a7d7f957a84601d60836f5dcca8cf92e36bcdcc2da8927c4e3bdb",)
_ARRAYS = {"X": ("biu", 2), "y": ("iu", 1), "words": ("U", 1), "groups": ("U", 1)}


@dataclass(frozen=True, eq=False)
class Newsgroups:
    """Words of postings, and the group of each.

    Attributes
    ----------
    data
        1 where a word occurs in a posting and 0 elsewhere, shape (rows, dims).
    groups
        The group of each posting, as its position in `group_names`, shape (rows,).
    words
        The word of each column.
    group_names
        Such as "comp.*".
    sha256
        Checksum of the file.
    """

    data: FloatArray
    groups: IntArray
    words: tuple[str, ...]
    group_names: tuple[str, ...]
    sha256: str

    @property
    def n_words(self) -> IntArray:
        """How many of the words each posting has, shape (rows,)."""
        return np.asarray(self.data.sum(axis=1), dtype=np.int64)

    def __repr__(self) -> str:
        rows, dims = self.data.shape
        return f"<Newsgroups: {rows} rows in {len(self.group_names)} groups, {dims} words>"


def load_newsgroups(path: str | PathLike[str], *, sha256: str | None = stored.KNOWN) -> Newsgroups:
    """Return the postings in a file that you have; nothing is downloaded.

    Parameters
    ----------
    path
        `20news_w100.mat` as published (MATLAB 5: `documents` words x postings, `newsgroups`,
        `wordlist`, `groupnames`), or the same as .npz (`X`, `y`, `words`, `groups`).
    sha256
        "known": an .npz file must be the one that the evaluation used; the checksum of the
        original is not known here, and it is only reported. Or a checksum that the file must have,
        or None for anything.
    """
    path = Path(path)
    raw = stored.contents(path)
    found = stored.digest([raw])
    matlab = path.suffix.lower() == ".mat"
    stored.check(path, found, sha256, () if matlab else _KNOWN)
    arrays = _from_matlab(path, raw) if matlab else stored.read_arrays(path, raw, _ARRAYS)
    data = stored.zeros_and_ones(path, "documents" if matlab else "X", arrays["X"])
    groups, names = arrays["y"].astype(np.int64), stored.names(arrays["groups"])
    words = stored.names(arrays["words"])
    if data.shape != (groups.size, len(words)):
        raise StorageError(
            path,
            f"has {data.shape[0]} postings of {data.shape[1]} words, "
            f"but {groups.size} groups and {len(words)} names of words",
            "They must agree: get the file again.",
        )
    wrong = np.flatnonzero((groups < 1) | (groups > len(names)))
    if wrong.size:
        raise StorageError(
            path,
            f"has the group {groups[wrong[0]]} at posting {wrong[0]}",
            f"Groups must be 1 to {len(names)}: correct it.",
        )
    return Newsgroups(data.astype(np.float64), groups - 1, words, names, found)


def _from_matlab(path: Path, raw: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of the original, postings first."""
    from scipy.io import loadmat

    try:
        stored_arrays = loadmat(io.BytesIO(raw))
        dense = _dense(stored_arrays["documents"])
        groups = np.asarray(stored_arrays["newsgroups"]).ravel()
        words = _texts(stored_arrays["wordlist"])
        names = stored_arrays.get("groupnames")
        numbers = groups.astype(np.int64)
        labels = _texts(names) if names is not None else _numbered(numbers)
        return {"X": dense.T, "y": numbers, "words": words, "groups": labels}
    except KeyError as error:
        raise StorageError(
            path,
            f"has no variable {error}",
            "It must have documents, newsgroups and wordlist: get 20news_w100.mat again.",
        ) from None
    except Exception as error:  # a damaged file can raise nearly anything
        raise StorageError(
            path, f"is not the MATLAB 5 file of the newsgroups ({error})", "Get the file again."
        ) from None


def _dense(documents: Any) -> NDArray[Any]:
    """Return a matrix that may be sparse; a damaged one is an error, not a crash."""
    if not hasattr(documents, "toarray"):
        return np.asarray(documents)
    documents.check_format(full_check=True)
    return np.asarray(documents.toarray())


def _texts(cells: Any) -> NDArray[np.str_]:
    """Return the texts of a MATLAB cell array."""
    return np.array([str(np.asarray(cell).ravel()[0]) for cell in np.asarray(cells).ravel()])


def _numbered(groups: NDArray[np.int64]) -> NDArray[np.str_]:
    return np.array([f"group {number}" for number in range(1, int(groups.max()) + 1)])
