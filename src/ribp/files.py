"""Files that are whole or absent, files of settings that say what they are, and files of arrays.

Arrays are stored as they are (`numpy.savez`), so a file cannot hold more than it is long. One that
claims more, or that is compressed, is refused before any memory is taken.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ribp.errors import StorageError


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name, make sure that it is on disk, and rename it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays in a file that `numpy.savez` has written; a `ValueError` if they lie."""
    arrays = {}
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > path.stat().st_size:
            raise ValueError("it claims to hold more than it does")
        for member in members:
            with archive.open(member) as content:
                _check_claim(content, member.file_size)
            with archive.open(member) as content:
                name = member.filename.removesuffix(".npy")
                arrays[name] = np.lib.format.read_array(content, allow_pickle=False)
    return arrays


def _check_claim(content: IO[bytes], n_bytes: int) -> None:
    """Raise a `ValueError` if the header of an array claims more bytes than there are."""
    version = np.lib.format.read_magic(content)
    old = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(content)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize > n_bytes:
        raise ValueError("it claims to hold more than it does")


def write_described(path: Path, kind: str, schema: int, settings: Mapping[str, Any]) -> None:
    """Write settings as JSON, with the kind of the file and the version of its schema."""
    whole = {"kind": kind, "schema_version": schema, **settings}
    text = json.dumps(whole, indent=1) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def read_described(path: Path, kind: str, schema: int) -> dict[str, Any] | None:
    """Return the settings in a file, None if there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(path, f"cannot be read ({error.strerror})", "See to it.") from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("kind") != kind:
        raise StorageError(path, f"is damaged, or not of a {kind}", "Start afresh elsewhere.")
    version = found.get("schema_version")
    if version != schema:
        newer = isinstance(version, int) and version > schema
        remedy = "Upgrade ribp." if newer else "Start afresh, or use the ribp that wrote it."
        raise StorageError(path, f"has schema {version}, and this ribp reads {schema}", remedy)
    return found
