"""Text files as rows of cells: which sign separates them, which line they are on, UTF-8 or not.

Commas, semicolons, tabs or | separate cells, whichever makes the first lines equally long. A cell
may stand in double quotes, then with separators and line ends in it. The text is UTF-8, with or
without a mark in front, plain or compressed by gzip. Blank lines are skipped, but in a file of one
column, where a blank line among rows could be a missing entry, refused.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from ribp.errors import StorageError

_LINE_END = re.compile(r"\r\n|\r|\n")
_LINES_TO_LOOK_AT = 50


class Record(NamedTuple):
    """One row of cells and the line on which it begins."""

    line: int
    cells: list[str]

    def line_of(self, j: int) -> int:
        """Return the line on which cell j begins: cells before it may have line ends."""
        return self.line + sum(len(_LINE_END.findall(cell)) for cell in self.cells[:j])


def records(path: Path, separator: str | None = None) -> Iterator[Record]:
    """Yield the rows of a text file; blank lines are skipped."""
    separator = separator or separator_of(path)
    line, blank, single = 1, 0, False
    with _opened_text(path) as file:
        for text in file:
            n_lines = 1
            if '"' in text:
                reader = csv.reader(
                    chain([text], file), delimiter=separator, strict=True, skipinitialspace=True
                )
                try:
                    cells = next(reader)
                except csv.Error as error:
                    raise _bad_quotes(path, line, error) from None
                n_lines = reader.line_num
            else:  # the same, in half the time
                cells = text.rstrip("\r\n").split(separator)
            if len(cells) == 1 and '"' not in text and not cells[0].strip():
                blank = line
            elif blank and single:
                raise _blank_line(path, blank)
            else:
                single, blank = len(cells) == 1, 0
                yield Record(line, cells)
            line += n_lines


def separator_of(path: Path) -> str:
    """Return what separates cells: what makes the first lines equally long, else most cells."""
    with _opened_text(path) as file:
        lines = list(islice(file, _LINES_TO_LOOK_AT))
    is_whole = len(lines) < _LINES_TO_LOOK_AT
    lines = [line for line in lines if "\t" in line or not line.isspace()]
    lengths = {separator: _lengths(lines, separator, is_whole) for separator in "\t;,|"}
    for separator, sizes in lengths.items():
        if sizes[0] > 1 and len(set(sizes)) == 1:
            return separator
    return max(",;\t|", key=lambda separator: sum(lengths[separator]))


def _lengths(lines: list[str], separator: str, is_whole: bool) -> list[int]:
    """Return the number of cells of each row; the last row is left out if it may be cut."""
    reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    sizes: list[int] = []
    try:
        sizes.extend(map(len, reader))  # up to an error, all that came before it
    except csv.Error:
        return [0] if is_whole else sizes or [0]
    return (sizes if is_whole else sizes[:-1]) or [0]


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, plain or compressed; failures to read it are `StorageError`."""
    try:
        open_file: Any = gzip.open if path.suffix.lower() == ".gz" else Path.open
        with open_file(path, "rb") as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StorageError(
            path, f"is damaged: {error}", "Compress it again, or fetch it again."
        ) from None
    except OSError as error:
        raise StorageError(
            path, f"cannot be read: {error.strerror or error}", "Check the path and permissions."
        ) from None


@contextmanager
def _opened_text(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file; bytes that are not UTF-8 are a `StorageError`."""
    with opened(path) as raw:
        try:
            with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
                yield file
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise StorageError(
                path,
                f"is not UTF-8: it has the byte 0x{byte:02x} in line {_line_not_utf8(path)}",
                "Save it again with the encoding UTF-8.",
            ) from None


def _line_not_utf8(path: Path) -> int:
    """Return the line of the first byte that is not UTF-8."""
    with opened(path) as file:
        text = file.read().decode(errors="replace")
    return 1 + len(_LINE_END.findall(text.partition("\ufffd")[0]))


def _blank_line(path: Path, line: int) -> StorageError:
    return StorageError(
        path,
        f"has one column and a blank line, {line}, among its rows",
        "Write NA if an entry is missing there; otherwise remove the line.",
    )


def _bad_quotes(path: Path, line: int, error: csv.Error) -> StorageError:
    return StorageError(
        path,
        f"has a cell that cannot be read, in the row that begins in line {line}: {error}",
        "Check that every double quote there is closed, and doubled inside a quoted cell.",
    )
