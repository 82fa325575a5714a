"""Multi-label sets of the Mulan collection: songs with moods, reports with diagnoses.

A set is an ARFF table of attributes and labels, and an XML file that says which of them are
labels: those are the features z, of which every row has a known number; the others are the data.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.data import arff, stored
from experiments.data.labelled import Labelled
from ribp.checks import FloatArray
from ribp.errors import StorageError

__all__ = ["load_mulan"]

_KNOWN = (
    "43b8a69e8ad4010babb9753544efb95cca39e263d067cc25608c4a64ce2d8151",  # emotions.npz
    "b7ec1f624d7a14f92453c8ad4d2afaf60e19a45816d17826fe008bac48c09270",  # medical.npz
)
_ARRAYS = {"X": ("biuf", 2), "Y": ("biu", 2), "feature_names": ("U", 1), "label_names": ("U", 1)}


def load_mulan(
    path: str | PathLike[str],
    labels: str | PathLike[str] | Sequence[str] | None = None,
    *,
    sha256: str | None = stored.KNOWN,
) -> Labelled:
    """Return a multi-label set in files that you have; nothing is downloaded.

    Parameters
    ----------
    path
        An .arff table, dense or sparse, or an .npz file (`X`, `Y`, `feature_names`, `label_names`).
    labels
        For a table: the XML file that names its labels, or the names themselves; None for the XML
        file beside it of the same name.
    sha256
        "known": an .npz file must be one that the evaluation used (emotions or medical); checksums
        of the originals are not known here, and they are only reported. Or a checksum that the
        .arff or .npz file must have, or None for anything.
    """
    path = Path(path)
    raw = stored.contents(path)
    found = stored.digest([raw])
    if path.suffix.lower() != ".arff":
        stored.check(path, found, sha256, _KNOWN)
        return _from_arrays(path, raw, found)
    stored.check(path, found, sha256)
    table = arff.parse(path, _decoded(raw))
    wanted = _label_names(path, labels)
    return _split(path, table, wanted, found)


def _from_arrays(path: Path, raw: bytes, found: str) -> Labelled:
    arrays = stored.read_arrays(path, raw, _ARRAYS)
    names, dims = stored.names(arrays["label_names"]), stored.names(arrays["feature_names"])
    data, rows = arrays["X"].astype(np.float64), stored.zeros_and_ones(path, "Y", arrays["Y"])
    if data.shape != (len(rows), len(dims)) or rows.shape[1] != len(names):
        raise StorageError(
            path,
            f"has X of shape {data.shape}, Y of shape {rows.shape}, {len(dims)} names of columns "
            f"and {len(names)} names of labels",
            "They must agree: get the file again.",
        )
    return _labelled(data, rows, names, dims, found)


def _split(path: Path, table: arff.Table, wanted: Sequence[str], found: str) -> Labelled:
    """Return data and labels of a table apart."""
    place = {name: at for at, name in enumerate(table.names)}
    missing = [name for name in wanted if name not in place]
    if missing:
        raise StorageError(
            path, f"has no attribute {missing[0]!r}, which is to be a label", "Correct labels=."
        )
    at = [place[name] for name in wanted]
    others = [i for i in range(len(table.names)) if i not in set(at)]
    if not at or not others:
        raise StorageError(path, "has only labels, or none", "Correct labels=.")
    rows = stored.zeros_and_ones(path, "labels", table.values[:, at])
    dims = tuple(table.names[i] for i in others)
    return _labelled(table.values[:, others], rows, tuple(wanted), dims, found)


def _labelled(
    data: FloatArray,
    rows: NDArray[np.int8],
    names: tuple[str, ...],
    dims: tuple[str, ...],
    found: str,
) -> Labelled:
    return Labelled(data, rows, rows.sum(axis=1, dtype=np.int64), names, dims, found)


def _label_names(path: Path, labels: str | PathLike[str] | Sequence[str] | None) -> tuple[str, ...]:
    if labels is None:
        labels = path.with_suffix(".xml")
    if not isinstance(labels, str | PathLike):
        return tuple(labels)
    source = Path(labels)
    raw = stored.contents(source)
    try:
        if b"<!" in raw.replace(b"<!--", b""):
            raise ElementTree.ParseError("declarations are not allowed")
        root = ElementTree.fromstring(raw)
    except ElementTree.ParseError as error:
        raise StorageError(
            source, f"is not XML that names labels ({error})", "Get it again, or pass labels=[...]."
        ) from None
    names = [one.get("name") for one in root.iter() if one.tag.rpartition("}")[2] == "label"]
    found = tuple(name for name in names if name is not None)
    if not found or len(found) < len(names):
        raise StorageError(
            source, "has no labels, or one without a name", "Get it again, or pass labels=[...]."
        )
    return tuple(arff.unquoted(name) for name in found)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
