"""Arrays in files: NumPy's NPY and NPZ, and sparse matrices as SciPy saves them.

Nothing is unpickled. Entries that a sparse file does not list are zeros, not missing; NaN means
missing. A damaged file may claim any size: what cannot fit is refused before memory is taken, and
the indices of a sparse matrix are checked before they are followed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ribp.errors import StorageError
from ribp.io.data_file import DataFile, check_bytes, check_size, listed

_SPARSE_NPZ = {"format", "shape", "data"}


def read_npy(path: Path) -> DataFile:
    """Return the array in a `.npy` file."""
    return DataFile(path, _numbers(path, load_npy(path)))


def load_npy(path: Path) -> Any:
    """Return the array in a `.npy` file, of any shape and type but objects, not yet in memory."""
    with _damage(path):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def read_npz(path: Path) -> DataFile:
    """Return the one array, or the sparse matrix, in an `.npz` file."""
    with _damage(path), path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        names = list(file.files)
        check_bytes(path, sum(member.file_size for member in file.zip.infolist()))
        if set(names) >= _SPARSE_NPZ:
            return DataFile(path, _sparse(path, {name: file[name] for name in names}))
        if len(names) != 1:
            content = f"several arrays: {listed(names)}" if names else "no array"
            raise StorageError(
                path, f"holds {content}", "Save the one matrix of data alone, with numpy.save."
            )
        return DataFile(path, _numbers(path, file[names[0]]))


def _sparse(path: Path, parts: dict[str, Any]) -> Any:
    """Return a sparse matrix, filled with its zeros, from the arrays that SciPy saves."""
    import scipy.sparse

    layout = parts["format"].item()
    layout = layout.decode("ascii") if isinstance(layout, bytes) else str(layout)
    if layout not in ("csr", "csc", "coo"):
        raise StorageError(
            path, f"holds a sparse matrix in the layout {layout!r}", "Save it with .tocsr() first."
        )
    n_rows, n_dims = (int(n) for n in parts["shape"])
    check_size(path, n_rows, n_dims)
    _check_real(path, parts["data"])
    keys = ("row", "col") if layout == "coo" else ("indices", "indptr")
    for key in keys:
        if parts[key].dtype.kind not in "iu":
            raise ValueError(f"its array {key} does not hold whole numbers")
    where = [parts[key].astype(np.int64) for key in keys]
    content = (parts["data"], tuple(where)) if layout == "coo" else (parts["data"], *where)
    matrix = getattr(scipy.sparse, f"{layout}_array")(content, shape=(n_rows, n_dims))
    if layout != "coo":
        matrix.check_format(full_check=True)  # an index out of bounds would write anywhere
    return _numbers(path, matrix.toarray())


def _numbers(path: Path, content: Any) -> Any:
    """Return a matrix of doubles."""
    if not isinstance(content, np.ndarray):
        raise ValueError("it does not hold an array")
    _check_real(path, content)
    if content.ndim != 2:
        raise StorageError(
            path,
            f"holds an array of shape {content.shape}, not a matrix",
            "Reshape it to (rows, dims); one column is X[:, None], one row X[None, :].",
        )
    check_size(path, *content.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(content, dtype=np.float64, order="C")


def _check_real(path: Path, values: Any) -> None:
    if values.dtype.kind not in "biuf":
        raise _not_real(path, f"an array of type {values.dtype}")


def _not_real(path: Path, content: str) -> StorageError:
    return StorageError(path, f"holds {content}", "Save it again as real numbers, such as float64.")


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn whatever a reader raises into a `StorageError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except StorageError:
        raise
    except Exception as error:  # a damaged file can fail anywhere below, in any way
        raise cannot_read(path, error) from error


def cannot_read(path: Path, error: BaseException) -> StorageError:
    """Return what to say of an error that a library raised while it read a file."""
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        return StorageError(path, "does not fit into memory", "Keep fewer rows or columns.")
    if isinstance(error, OSError) and error.strerror:
        return StorageError(
            path, f"cannot be read: {error.strerror}", "Check the path and permissions."
        )
    if "Object arrays" in reason or "Python objects" in reason:
        return _not_real(path, "Python objects, which are not read for safety")
    reason = reason if len(reason) <= 200 else reason[:197] + "..."
    return StorageError(path, f"is damaged: {reason.rstrip('.')}", "Write or fetch it again.")
