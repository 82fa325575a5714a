"""Reading tables in five formats, told by the end of the name of a file.

    .csv .tsv .txt (.gz)   text; headers and names of rows as `ribp.io.csv_files` says
    .npy .npz              NumPy: one matrix; or one sparse matrix as SciPy saves it
    .mtx (.gz)             MatrixMarket; entries that are not listed are zeros
    .parquet               through polars, an extra: pip install 'ribp[polars]'

Whatever is wrong becomes a `StorageError` (the file) or an `InputError` (the option).
"""

from __future__ import annotations

from pathlib import Path

from ribp.errors import InputError, StorageError
from ribp.io.array_files import read_npy, read_npz
from ribp.io.column_choice import EVERYTHING, ColumnChoice
from ribp.io.csv_files import csv_names, read_csv
from ribp.io.data_file import DataFile, check_finite, no_such_column
from ribp.io.mtx_files import read_mtx
from ribp.io.parquet_files import parquet_names, read_parquet
from ribp.threads import memory

_KINDS = {".csv": "csv", ".tsv": "csv", ".txt": "csv"}
_KINDS |= {f".{kind}": kind for kind in ("npy", "npz", "mtx", "parquet")}
_WITH_NAMES = {"csv": read_csv, "parquet": read_parquet}
_WITHOUT_NAMES = {"npy": read_npy, "npz": read_npz, "mtx": read_mtx}
_FIRST_BYTES = {
    b"\x93NUMPY": ("npy", "a NumPy array (.npy)"),
    b"PK\x03\x04": ("npz", "a zip archive: NumPy arrays (.npz) or a spreadsheet"),
    b"PK\x05\x06": ("npz", "an empty zip archive"),
    b"PAR1\x15": ("parquet", "Parquet (.parquet)"),
    b"%%MatrixMarket": ("mtx", "MatrixMarket (.mtx)"),
    b"\x1f\x8b": ("gz", "a file compressed by gzip (.gz)"),
    b"\x89HDF": ("hdf", "HDF5, as results of ribp are"),
    b"\xff\xfe": ("utf-16", "text in UTF-16"),
    b"\xfe\xff": ("utf-16", "text in UTF-16"),
}


def read_data(path: str | Path, choice: ColumnChoice = EVERYTHING) -> DataFile:
    """Return the table of numbers in a file.

    Parameters
    ----------
    path
        Of a file whose name ends as above. Missing are NaN and null and, in text, empty cells,
        NA, NaN, null and ? in any case.
    choice
        Which columns are data; counts and labels are stored as text in `DataFile.columns`.
    """
    path = Path(path)
    kind = check_readable(path)
    try:
        if kind in _WITH_NAMES:
            return check_finite(_WITH_NAMES[kind](path, choice))
        if not choice.is_empty:
            raise no_such_column(path, choice.first_name(), [])
        return check_finite(_WITHOUT_NAMES[kind](path))
    except MemoryError:
        raise StorageError(
            path, "does not fit into memory", "Keep fewer rows or columns."
        ) from None


def check_readable(path: Path) -> str:
    """Return the kind of a file; raise an error unless it is one, and begins as its kind does."""
    kind = kind_of(path)
    if kind is None:
        raise InputError(
            "DATA",
            f"must end in {', '.join(_KINDS)} or .csv.gz",
            repr(str(path)),
            "Save the table as CSV in UTF-8, or rename the file.",
        )
    check_start(path, kind)
    return kind


def column_names(path: Path) -> list[str] | None:
    """Return the names of the columns of a file; None if it has none, or cannot be read at all."""
    kind = kind_of(path)
    if kind not in _WITH_NAMES:
        return None
    check_start(path, kind)
    return csv_names(path) if kind == "csv" else parquet_names(path)


def kind_of(path: Path) -> str | None:
    """Return csv, npy, npz, mtx or parquet, as the end of a name tells; None if it is none."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        kind = _KINDS.get("".join(suffixes[-2:-1]))
        return kind if kind in ("csv", "mtx") else None
    return _KINDS.get("".join(suffixes[-1:]))


def is_large(path: Path) -> bool:
    """Whether a file is of a kind that can be read in parts, and does not fit into memory twice."""
    try:
        return kind_of(path) in ("npy", "parquet") and 2 * path.stat().st_size > memory()
    except OSError:
        return False


def check_start(path: Path, kind: str) -> None:
    """Raise a `StorageError` unless a file can be read and begins as its kind does."""
    try:
        if path.exists() and not path.is_file():
            what = "is a folder" if path.is_dir() else "is not a file"
            raise StorageError(path, what, "Name the file of data.")
        with path.open("rb") as file:
            first = file.read(16)
    except FileNotFoundError:
        raise StorageError(path, "does not exist", "Check the path.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(
            path, f"cannot be read: {reason}", "Check the path and permissions."
        ) from None
    if not first:
        raise StorageError(path, "is empty", "Name a file with data.")
    _check_first_bytes(path, "gz" if path.suffix.lower() == ".gz" else kind, first)


def _check_first_bytes(path: Path, kind: str, first: bytes) -> None:
    actual, what = next(
        (known for start, known in _FIRST_BYTES.items() if first.startswith(start)), ("csv", "")
    )
    start = {"mtx": b"%%matrixmarket", "parquet": b"par1"}.get(kind)
    if actual == kind or (start is not None and first.lower().startswith(start)):
        return
    if actual == "utf-16":
        raise StorageError(path, "is text in UTF-16", "Save it again with the encoding UTF-8.")
    is_not = f"is not a {'.' if kind != 'csv' else ''}{kind} file"
    raise StorageError(
        path,
        f"{is_not}: its first bytes are those of {what}" if what else f"{is_not}, or is damaged",
        "Give it the ending of what it is, or write it again.",
    )
