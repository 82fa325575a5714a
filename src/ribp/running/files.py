"""Files that are whole or absent, and files of settings that say what they are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from ribp.errors import StorageError

__all__ = ["read_described", "write_atomically", "write_described"]


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
    if not isinstance(version, int) or version > schema:
        raise StorageError(
            path, f"has schema {version}, and this ribp reads up to {schema}", "Upgrade ribp."
        )
    return found
