"""Which columns of a table are data, which name rows, and which are set aside.

    --columns PATTERNS   the columns that are data; all if left out
    --exclude PATTERNS   columns that are left out
    --id NAME            the column with the names of the rows
    --label PATTERNS     columns that are carried along and never fitted

A pattern is a name, or has the signs of a shell: ``gene_*``, ``x?``, ``[ab]*``. Several stand with
commas between them, names with commas in double quotes. A name that is a column is that column,
whatever signs it has. A label is never data, and neither are counts. Without ``--id`` the first
column has the names of rows if its header is empty, id, name, row or index.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from ribp.errors import InputError
from ribp.io.data_file import ROW_NAME_HEADERS, DataFile, no_such_column, shown


class Roles(NamedTuple):
    """Positions of columns, by what they are."""

    data: list[int]
    """In the order in which they become dims."""
    aside: list[int]
    """Labels, counts and the like, read as text."""
    id: int | None
    """The names of the rows."""
    is_guess: bool
    """Whether that is told by its header alone, and it may be data after all."""


class ColumnChoice(NamedTuple):
    """What somebody says of the columns of a table."""

    columns: tuple[str, ...] = ()
    """Patterns of the data; all columns if there are none."""
    exclude: tuple[str, ...] = ()
    """Patterns of what is left out."""
    id: str | None = None
    """The name of the column with the names of rows."""
    labels: tuple[str, ...] = ()
    """Patterns of labels."""
    aside: tuple[str, ...] = ()
    """Names of other columns that are read as text, such as counts."""
    dims: tuple[str, ...] | None = None
    """Names of the data in the order they must have, whatever else there is; None to choose."""
    as_text: bool = False
    """Whether data are read as text as well: levels have names."""
    flags: bool = False
    """Whether true and false in data of a text file are 1 and 0; in other files they always are."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said for which a table must have names of columns."""
        return not (self.columns or self.exclude or self.id or self.labels or self.aside)

    def first_name(self) -> str:
        """Return a name or pattern, for a message about a table that has no names."""
        named = (*self.aside, *self.columns, *self.exclude, *self.labels, self.id or "")
        return named[0]

    def roles(self, path: Path, names: Sequence[str]) -> Roles:
        """Return what each column of a file is."""
        aside = _found(path, names, self.aside, exactly=True)
        labels = _found(path, names, self.labels)
        left_out = _found(path, names, self.exclude)
        if self.dims is not None:
            data = _found(path, names, self.dims, exactly=True)
        else:
            data = _found(path, names, self.columns) if self.columns else list(range(len(names)))
        row_names, is_guess = self._row_names(path, names, {*aside, *labels, *left_out})
        taken = {*aside, *labels, *left_out, row_names}
        if self.dims is None:
            data = sorted(j for j in set(data) if j not in taken)
        texts = data if self.as_text else []
        return Roles(data, sorted({*aside, *labels, *texts}), row_names, is_guess)

    def labels_in(self, file: DataFile) -> dict[str, list[str | None]]:
        """Return the labels among the columns of a file that were set aside."""
        names = list(file.columns)
        return {names[j]: file.columns[names[j]] for j in _found(file.path, names, self.labels)}

    def _row_names(
        self, path: Path, names: Sequence[str], taken: set[int]
    ) -> tuple[int | None, bool]:
        if self.id is not None:
            if self.id not in names:
                raise no_such_column(path, self.id, names)
            return names.index(self.id), False
        first = names[0] if names else "-"
        named = (*self.columns, *(self.dims or ()))
        if first.lower() not in ROW_NAME_HEADERS or 0 in taken or first in named:
            return None, False
        return 0, not named


EVERYTHING = ColumnChoice()
"""All columns are data, but for names of rows."""


def set_aside_remedy(names: Sequence[str]) -> str:
    """Return what to type where columns are text."""
    quoted = ",".join(f'"{name}"' if "," in name else name for name in names)
    named = shlex.quote(quoted)
    it, row_names = "them", ""
    if len(names) == 1:
        it, row_names = "it", f", or --id {named} if it names the rows"
    return (
        f"Add --exclude {named} to leave {it} out, --label {named} to carry {it} into the report"
        f"{row_names}; --likelihood auto --method gibbs-rows fits texts as levels, but not where "
        "a file is read in parts: there levels must be their numbers, from 0."
    )


def patterns(option: str, texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return names and patterns of an option that may be given several times."""
    found: list[str] = []
    for text in texts or ():
        try:
            cells = next(csv.reader([text], strict=True, skipinitialspace=True), [])
        except csv.Error as error:
            raise InputError(option, "must close its quotes", shown(text), f"{error}.") from None
        found += [cell.strip() for cell in cells]
    if "" in found:
        raise InputError(
            option,
            "must name columns, with commas between them",
            shown(",".join(texts or ())),
            "Put a name with commas in double quotes.",
        )
    return tuple(found)


def _found(
    path: Path, names: Sequence[str], wanted: Sequence[str], *, exactly: bool = False
) -> list[int]:
    """Return the positions of columns, in the order of what is wanted; each must be there."""
    where = {name: j for j, name in enumerate(names)}
    found: list[int] = []
    for one in wanted:
        matches = [where[one]] if one in where else [] if exactly else find(names, one)
        if not matches:
            raise no_such_column(path, one, names)
        found += matches
    return list(dict.fromkeys(found))


def find(names: Sequence[str], pattern: str) -> list[int]:
    """Return the positions of the columns that a name or pattern means."""
    if pattern in names:
        return [names.index(pattern)]
    return [j for j, name in enumerate(names) if fnmatchcase(name, pattern)]
