"""The options of a command that say what a file of data holds, and reading it by them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ribp.counts import CountLaw, RowCounts
from ribp.errors import InputError, StorageError
from ribp.io.column_choice import EVERYTHING, ColumnChoice, find, patterns
from ribp.io.count_options import count_columns, counts_from, missing_law
from ribp.io.data_file import DataFile, listed
from ribp.io.exposure_options import exposure_columns, exposure_from
from ribp.io.formats import column_names, read_data

OF_FLAGS = ("noisy-or",)
"""Likelihoods of yes and no."""


class InputOptions(NamedTuple):
    """What a file of data holds, as options say it and config.json stores it."""

    counts: str | None = None
    """The option --counts."""
    counts_missing: str | None = None
    """A law, where a count is missing."""
    columns: tuple[str, ...] = ()
    """The option --columns, as often as it was given; so the next two."""
    exclude: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    id: str | None = None
    """The column with names of rows."""
    as_text: bool = False
    """Whether data are read as text: columns have kinds."""
    exposure: str | None = None
    """The option --exposure."""
    flags: bool = False
    """Whether true and false in a text file are 1 and 0: data are yes and no."""

    def choice(self, dims: tuple[str, ...] | None = None) -> ColumnChoice:
        """Return which columns are what; `dims` are the names that the data must have."""
        return ColumnChoice(
            patterns("--columns", self.columns),
            patterns("--exclude", self.exclude),
            self.id,
            patterns("--label", self.label),
            (*count_columns(self.counts), *exposure_columns(self.exposure)),
            dims,
            self.as_text,
            self.flags,
        )

    def with_defaults(self, other: InputOptions, names: Sequence[str]) -> InputOptions:
        """Return these options with id, labels and exposure of others, if a file has them."""
        labels = tuple(one for one in patterns("--label", other.label) if find(names, one))
        quoted = tuple(f'"{one}"' if "," in one else one for one in labels)
        row_names = other.id if other.id in names else None
        own = exposure_columns(other.exposure)
        exposure = other.exposure if own and own[0] in names else None
        return self._replace(
            label=self.label or quoted,
            id=self.id or row_names,
            exposure=self.exposure or exposure,
        )


def input_options(
    counts: str | None,
    counts_missing: str | None,
    columns: list[str] | None,
    exclude: list[str] | None,
    label: list[str] | None,
    row_names: str | None,
    exposure: str | None = None,
) -> InputOptions:
    """Return the options as a command line gives them."""
    lists = [tuple(given or ()) for given in (columns, exclude, label)]
    exposure_columns(exposure)  # a mistake in it is told at once
    return InputOptions(
        counts, counts_missing, lists[0], lists[1], lists[2], row_names, exposure=exposure
    )


class InputFile(NamedTuple):
    """A file that was read."""

    file: DataFile
    counts: RowCounts | None
    """None where nothing is said of counts."""
    labels: dict[str, list[str | None]]
    """Columns that are carried along, by name."""
    exposure: Any = None
    """A number for each row, "learn", or None."""


def read_input(
    path: str | Path,
    options: InputOptions,
    dims: tuple[str, ...] | None = None,
    missing: CountLaw | None = None,
) -> InputFile:
    """Return the table in a file, the count laws of its rows, their labels and exposures.

    Parameters
    ----------
    path, options
        The file, and what it holds.
    dims
        Names of columns that it must have, in the order of the data; other columns are left out. A
        file without names has all its columns.
    missing
        The law of a row whose count is missing, where `options` have none; None to learn it.
    """
    law, choice = missing_law(options.counts_missing) or missing, options.choice(dims)
    file = read_data(path, choice)
    counts = counts_from(options.counts, file, len(file.values), law)
    exposure = exposure_from(options.exposure, file)
    return InputFile(file, counts, choice.labels_in(file), exposure)


def known_features(path: str | None, dims: Sequence[str] | None) -> list[list[float]] | None:
    """Return the features in a file, one a row; None without a file.

    Where the file has names of columns they are found by the names of the data, `dims`; None if the
    data have no names.
    """
    if path is None:
        return None
    names = column_names(Path(path))
    if names is not None and dims is None:
        raise InputError(
            "fixed_components",
            "must be a file without names of columns where the data have none",
            f"{Path(path).name} with {listed(names)}",
            "Save it as .npy or as CSV without a header, columns in the order of the data.",
        )
    file = read_data(path, ColumnChoice(dims=tuple(dims)) if names and dims else EVERYTHING)
    if np.isnan(file.values).any():
        row = int(np.flatnonzero(np.isnan(file.values).any(axis=1))[0])
        raise StorageError(
            file.path, f"has a missing entry in {file.place(row)}", "Known features are complete."
        )
    features: list[list[float]] = file.values.tolist()
    return features
