"""What a chain keeps of its states.

Of every draw: numbers that do not depend on how features are named. Of every kept draw also its
features and its rows, eight entries of Z to a byte:

    byte j of row n = sum_b z_n,8j+b 2^b,        so 232 rows of 24 features take 696 bytes.

Where entries have a size, those of a row follow one another, in the order of its ones, filled up
with zeros to the largest number of ones: strengths in single precision, counts as whole numbers of
4 bytes, or of one where the sum of a row is restricted and below 256. Exposures of rows that are
learned are in single precision.

Arrays are copied: what was recorded does not change with the state.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ribp.checks import FloatArray


class Recordable(Protocol):
    """What is recorded of a state, whichever sampler made it."""

    @property
    def log_odds(self) -> FloatArray:
        """theta, shape (features,)."""

    @property
    def mass(self) -> float:
        """The number alpha."""

    @property
    def concentration(self) -> float:
        """The number c."""

    @property
    def count_log_probs(self) -> FloatArray:
        """The table log f of each count law, shape (laws, features + 1)."""

    @property
    def parameters(self) -> Any:
        """Features and scales, as the likelihood has them."""


class ChainDraws(NamedTuple):
    """What one chain has recorded."""

    posterior: list[dict[str, Any]]
    """Of every draw, as `record` gives it."""
    features: list[dict[str, Any]]
    """Of every kept draw, as `record_features` gives it."""
    warmup: list[dict[str, Any]]
    """Of every sweep of the warm-up: its log joint, and how many features are in use."""


def record(
    state: Recordable, histogram: NDArray[np.int64], scales: dict[str, Any], learned: bool
) -> dict[str, Any]:
    """Return the numbers of a draw that do not depend on how its features are named.

    Parameters
    ----------
    state
    histogram
        How many rows have each count.
    scales
        Parameters beside features and background, as the likelihood records them.
    learned
        Whether some count law is learned: then all laws are kept.
    """
    found = {
        "mass": float(state.mass),
        "concentration": float(state.concentration),
        "count_histogram": np.array(histogram),
        **scales,
    }
    if learned:
        found["count_log_probs"] = np.array(state.count_log_probs)
    return found


def record_features(
    state: Recordable,
    number: int,
    packed: NDArray[np.uint8],
    sizes: NDArray[Any] | None = None,
    exposures: FloatArray | None = None,
) -> dict[str, Any]:
    """Return the features and packed rows of draw `number`; the background may be all zero.

    `sizes` are those of entries, packed, if they have any, `exposures` those of rows if learned.
    """
    own = {} if sizes is None else {"sizes": sizes}
    if exposures is not None:
        own["exposure"] = exposures.astype(np.float32)
    return {
        "draw": int(number),
        "n_features": state.log_odds.size,
        "components": np.array(state.parameters.features),
        "background": np.array(state.parameters.background),
        "log_odds": np.array(state.log_odds),
        "rows": packed,
        **own,
    }


def pack_rows(rows: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return 0/1 rows (..., features) as bits, shape (..., bytes)."""
    return np.packbits(rows, axis=-1, bitorder="little")


def unpack_rows(packed: NDArray[np.uint8], n_features: int) -> NDArray[np.int8]:
    """Return the 0/1 rows (..., features) that were packed."""
    bits = np.unpackbits(packed, axis=-1, count=n_features, bitorder="little")
    return bits.view(np.int8)


def pack_sizes(rows: FloatArray, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return what is not zero of rows (rows, features), in order, shape (rows, most ones)."""
    on = rows != 0
    ones = on.sum(axis=1)
    packed = np.zeros((len(rows), int(ones.max(initial=0))), dtype)
    packed[np.arange(packed.shape[1]) < ones[:, None]] = rows[on]
    return packed


def unpack_sizes(rows: NDArray[np.int8], packed: NDArray[Any]) -> FloatArray:
    """Return rows (rows, features) with the sizes that were packed, given which are not zero."""
    on = rows != 0
    sizes = np.zeros(rows.shape)
    sizes[on] = packed[np.arange(packed.shape[1]) < on.sum(axis=1)[:, None]]
    return sizes
