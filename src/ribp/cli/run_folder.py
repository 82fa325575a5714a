"""A run is a folder: what was asked, checkpoints, the result, held-out entries and a log.

    config.json     what was asked, and of which file
    holdout.npz     entries that were hidden from the fit, if any
    checkpoints/    where chains are
    result.nc       the result, once there is one
    compare.json    how other models did on the hidden entries, after ribp compare RUN
    report.html     a page that shows it all, after ribp report
    log.txt         what was said, with times

A folder that is not a run is never written to, and a run only with --overwrite.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ribp import checks
from ribp.checks import FloatArray
from ribp.counts import RowCounts
from ribp.errors import InputError, StorageError
from ribp.files import read_arrays, read_described, write_atomically, write_described
from ribp.io.count_options import count_columns, counts_from
from ribp.io.formats import read_data
from ribp.likelihoods.data import BoolArray, Data
from ribp.likelihoods.validation import as_data
from ribp.rows.local import in_memory
from ribp.running.checkpoint import Checkpoint

__all__ = ["RunFolder", "Source", "read_source"]

SCHEMA = 3
_KIND = "ribp run"
_COMPARISON = "ribp comparison"


class Source(NamedTuple):
    """The data of a run."""

    data: Data
    """What the fit sees."""
    values: Any
    """All entries, also those that are hidden from the fit."""
    hidden: BoolArray
    """Which entries are hidden, shape (rows, dims)."""
    counts: RowCounts | None
    row_names: list[str] | None
    dim_names: list[str] | None


def read_source(
    path: str | Path, counts: str | None, holdout: float = 0.0, seed: int = 0
) -> Source:
    """Read data and count laws, and hide a share of the observed entries."""
    aside = () if counts is None else count_columns(counts)
    file = read_data(path, exclude=aside)
    laws = None if counts is None else counts_from(counts, file, len(file.values))
    if not 0.0 <= holdout < 1.0:
        raise InputError(
            "--holdout", "must be a share from 0 up to 1", holdout, "Write for example 0.01."
        )
    seen = ~np.isnan(file.values)
    rng = np.random.default_rng([seed, 1])
    hidden = seen & (rng.random(seen.shape) < holdout)
    data = as_data(np.where(hidden, np.nan, file.values))
    return Source(data, file.values, hidden, laws, file.row_names, file.dim_names)


class RunFolder:
    """The folder of a run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def checkpoints(self) -> Path:
        """Where chains are written down."""
        return self.path / "checkpoints"

    @property
    def result(self) -> Path:
        """The file of the result."""
        return self.path / "result.nc"

    def create(self, config: dict[str, Any], overwrite: bool) -> None:
        """Begin a run in a new or empty folder, or, with `overwrite`, in place of another run."""
        try:
            if self.path.exists() and not self.path.is_dir():
                raise StorageError(self.path, "is a file", "Choose another name for --out.")
            if self.path.exists() and any(self.path.iterdir()):
                self._clear(overwrite)
            self.path.mkdir(parents=True, exist_ok=True)
            asked = {"created": _now(), **config}
            write_described(self.path / "config.json", _KIND, SCHEMA, asked)
        except OSError as error:
            raise StorageError(
                self.path, f"cannot be written ({error.strerror})", "Choose another folder."
            ) from None

    def _clear(self, overwrite: bool) -> None:
        if not (self.path / "config.json").exists():
            raise StorageError(
                self.path, "is not empty and not a run of ribp", "Choose another folder for --out."
            )
        if not overwrite:
            raise StorageError(
                self.path,
                "holds a run already",
                "Add --overwrite to replace it, or go on with it: ribp resume.",
            )
        self.config()  # it is a run of ours
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        for name in ("result.nc", "holdout.npz", "compare.json", "report.html", "log.txt"):
            (self.path / name).unlink(missing_ok=True)

    def config(self) -> dict[str, Any]:
        """Return what was asked."""
        path = self.path / "config.json"
        found = read_described(path, _KIND, SCHEMA)
        if found is None:
            raise StorageError(
                self.path, "is not a run of ribp", "Name the folder given to ribp fit --out."
            )
        if not all(isinstance(found.get(key), dict) for key in ("source", "estimator")):
            raise StorageError(path, "lacks what was asked", "Fit again into a new folder.")
        try:
            checks.seeds("seed", found["source"].get("seed", 0))
        except InputError as error:
            raise StorageError(path, f"cannot be: {error}", "Fit again.") from None
        return found

    def source(self) -> Source:
        """Read the data again; they must be those that were fitted."""
        asked = self.config()["source"]
        try:
            found = read_source(asked["path"], asked["counts"], asked["holdout"], asked["seed"])
        except (KeyError, TypeError):
            raise StorageError(
                self.path / "config.json", "asks for settings that ribp does not know", "Fit again."
            ) from None
        checkpoint = Checkpoint(self.checkpoints)
        known = checkpoint.settings().get("data") if checkpoint.exists() else None
        if known is not None and known != in_memory(found.data).look().digest:
            raise StorageError(
                Path(asked["path"]), f"has changed since the run in {self.path}", "Fit again."
            )
        return found

    def write_hidden(self, source: Source) -> None:
        """Write which entries are hidden, and their values."""
        rows, columns = np.nonzero(source.hidden)
        values = source.values[rows, columns]
        write_atomically(
            self.path / "holdout.npz",
            lambda file: np.savez(file, rows=rows, columns=columns, values=values),
        )

    def hidden(self, shape: tuple[int, int]) -> tuple[FloatArray, BoolArray] | None:
        """Return values and places of hidden entries, shape (rows, dims) each, if there are any."""
        path = self.path / "holdout.npz"
        if not path.exists():
            return None
        mask, values = np.zeros(shape, bool), np.zeros(shape)
        try:
            found = read_arrays(path)
            mask[found["rows"], found["columns"]] = True
            values[found["rows"], found["columns"]] = found["values"]
        except Exception:  # whatever is wrong with it, it is of no use
            raise StorageError(path, "is damaged", "Fit again.") from None
        return values, mask

    def write_comparison(self, models: dict[str, Any]) -> None:
        """Write how models did on the hidden entries."""
        write_described(self.path / "compare.json", _COMPARISON, SCHEMA, {"models": models})

    def comparison(self) -> dict[str, Any] | None:
        """Return how models did on the hidden entries; None if they were not compared."""
        path = self.path / "compare.json"
        found = read_described(path, _COMPARISON, SCHEMA)
        if found is None:
            return None
        models = found.get("models")
        if not isinstance(models, dict) or not all(isinstance(m, dict) for m in models.values()):
            raise StorageError(path, "is damaged", "Compare again: ribp compare RUN.")
        return models

    def log(self, text: str) -> None:
        """Add a line to the log; a log that cannot be written is not worth an error."""
        try:
            with (self.path / "log.txt").open("a", encoding="utf-8") as file:
                file.write(f"{_now()} {text}\n")
        except OSError:
            pass


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
