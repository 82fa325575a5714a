"""Rows of features as a file: what `ribp simulate` and `ribp transform` write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ribp.cli.show import print_json, say
from ribp.io.write_files import write_table
from ribp.results.feature_names import default_name


def write_features(
    path: Path,
    rows: Any,
    *,
    overwrite: bool,
    as_json: bool,
    names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    labels: Mapping[str, Sequence[str | None]] | None = None,
    **numbers: float | None,
) -> None:
    """Write rows, shape (rows, features), and print how many; in JSON other numbers as well."""
    n_rows, n_features = rows.shape
    names = names or [default_name(at) for at in range(n_features)]
    write_table(
        path, rows, dim_names=names, row_names=row_names, labels=labels, overwrite=overwrite
    )
    if as_json:
        print_json({"out": str(path), "rows": n_rows, "features": n_features, **numbers})
    else:
        say(f"{n_rows} rows, {n_features} features: {path}")
