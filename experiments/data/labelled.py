"""Data whose features are labels that people gave: topics of stories, moods of songs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray

__all__ = ["Labelled"]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Data, and the labels of each row.

    Attributes
    ----------
    data
        Shape (rows, dims); NaN where an entry is missing.
    rows
        The truth: 1 where a row has a label and 0 elsewhere, shape (rows, features).
    counts
        How many labels a row has, shape (rows,); goes into `counts=` as it is.
    feature_names
        The name of each label.
    dim_names
        The name of each column of `data`.
    sha256
        Checksum of the file (of several: of their checksums), or "" for data made here.
    """

    data: FloatArray
    rows: NDArray[np.int8]
    counts: IntArray
    feature_names: tuple[str, ...]
    dim_names: tuple[str, ...]
    sha256: str

    def __repr__(self) -> str:
        (n, features), dims = self.rows.shape, self.data.shape[1]
        return f"<{type(self).__name__}: {n} rows of {features} labels, {dims} dims>"
