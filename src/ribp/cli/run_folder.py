"""A run is a folder: settings, checkpoints, the result, hidden entries and a log.

    config.json     the settings of the fit, and its file
    holdout.npz     entries that were hidden from the fit, if any
    checkpoints/    where chains are
    result.nc       the result, once there is one
    compare.json    how other models did on the hidden entries, after ribp compare RUN
    report.html     a page that shows it all, after ribp report
    log.txt         what was done, with times
    replaced/       the run that was there before, until it is sure that the new one begins

A folder that is not a run is never written to, and a run only with --overwrite; other files in it
stay where they are. Heavy modules are imported by the methods that need them: a mistake in the name
of a run is told at once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ribp import checks
from ribp.checks import FloatArray
from ribp.counts import RowCounts
from ribp.errors import InputError, StorageError
from ribp.files import read_arrays, read_described, write_atomically, write_described
from ribp.io.input_options import InputFile, InputOptions, read_input

if TYPE_CHECKING:
    from ribp.kinds import Kind
    from ribp.likelihoods.data import BoolArray, Data
    from ribp.results import Result

SCHEMA = 5
_KIND = "ribp run"
_COMPARISON = "ribp comparison"
_FILES = (
    "config.json", "holdout.npz", "checkpoints", "result.nc", "compare.json", "report.html",
    "log.txt",
)  # fmt: skip


class InputTable(NamedTuple):
    """The data of a run, in memory."""

    data: Data
    """What is fitted."""
    values: FloatArray
    """All entries, also those that are hidden from the fit."""
    hidden: BoolArray
    """Which entries are hidden, shape (rows, dims)."""
    counts: RowCounts | None
    row_names: list[str] | None
    dim_names: list[str] | None
    labels: dict[str, list[str | None]]
    """Columns that go with the rows and are not fitted, by name."""
    kinds: tuple[Kind, ...] | None = None
    """Of the columns, if they have any."""
    exposure: Any = None
    """A number for each row, "learn", or None."""


def read_table(
    path: str | Path,
    options: InputOptions,
    holdout: float = 0.0,
    seed: int = 0,
    likelihood: Any = None,
) -> InputTable:
    """Return the data in a file and their count laws, with a share of the entries hidden."""
    return as_table(read_input(path, options), holdout, seed, likelihood)


def as_table(given: InputFile, holdout: float, seed: int, likelihood: Any = None) -> InputTable:
    """Return a file that was read, with a share of its entries hidden.

    Columns have kinds if the likelihood says so.
    """
    from ribp.likelihoods.validation import as_data

    file, laws, labels, exposure = given
    kinds = None
    if likelihood not in (None, "gaussian", "poisson"):
        from ribp.io.kind_columns import coded
        from ribp.kinds.choice import is_choice

        if is_choice(likelihood):
            file, kinds = coded(file, likelihood)
    if not 0.0 <= holdout < 1.0:
        raise InputError(
            "--holdout", "must be a share from 0 up to 1", holdout, "Write for example 0.01."
        )
    rng = np.random.default_rng([seed, 1])
    hidden = ~np.isnan(file.values) & (rng.random(file.values.shape) < holdout)
    data = as_data(np.where(hidden, np.nan, file.values))
    return InputTable(
        data, file.values, hidden, laws, file.row_names, file.dim_names, labels, kinds, exposure
    )


def stored_options(source: dict[str, Any]) -> InputOptions:
    """Return what the file of a run holds, as its settings say."""
    given = (source[name] for name in InputOptions._fields)
    return InputOptions._make(tuple(one) if isinstance(one, list) else one for one in given)


def _move_run(old: Path, new: Path) -> None:
    """Move the files of a run, and nothing else, to another folder."""
    for name in _FILES:
        if (old / name).exists():
            (old / name).rename(new / name)


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

    def check_free(self, overwrite: bool) -> bool:
        """Return whether another run is to be replaced; raise an error where nothing may be."""
        if self.path.exists() and not self.path.is_dir():
            raise StorageError(self.path, "is a file", "Choose another name for --out.")
        if not self.path.exists() or not any(self.path.iterdir()):
            return False
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
        return True

    def create(self, config: dict[str, Any], overwrite: bool) -> None:
        """Begin a run in a new or empty folder, or, with `overwrite`, in place of another run."""
        try:
            if self.check_free(overwrite):
                self._set_aside()
            self.path.mkdir(parents=True, exist_ok=True)
            stamped = {"created": _now(), **config}
            write_described(self.path / "config.json", _KIND, SCHEMA, stamped)
        except OSError as error:
            raise StorageError(
                self.path, f"cannot be written ({error.strerror})", "Choose another folder."
            ) from None

    def _set_aside(self) -> None:
        """Move the run that is here to a folder of its own."""
        if self._replaced.exists():  # two runs that never began: the first one is worth keeping
            self.withdraw()
        self._replaced.mkdir()
        _move_run(self.path, self._replaced)

    def keep(self) -> None:
        """Forget the run that was here before: this one begins."""
        shutil.rmtree(self._replaced, ignore_errors=True)

    def withdraw(self) -> None:
        """Take back a run that did not begin; what was here before is here again."""
        for name in _FILES:
            one = self.path / name
            if one.is_dir():
                shutil.rmtree(one)
            else:
                one.unlink(missing_ok=True)
        if self._replaced.exists():
            _move_run(self._replaced, self.path)
            self._replaced.rmdir()
        elif not any(self.path.iterdir()):
            self.path.rmdir()

    @property
    def _replaced(self) -> Path:
        return self.path / "replaced"

    def config(self) -> dict[str, Any]:
        """Return the settings of the run: `source`, its data, and `estimator`, its arguments."""
        path = self.path / "config.json"
        config = read_described(path, _KIND, SCHEMA)
        if config is None:
            raise StorageError(
                self.path, "is not a run of ribp", "Name the folder given to ribp fit --out."
            )
        if not all(isinstance(config.get(key), dict) for key in ("source", "estimator")):
            raise StorageError(path, "lacks its settings", "Fit again into a new folder.")
        try:
            checks.seeds("seed", config["source"].get("seed", 0))
        except InputError as error:
            raise StorageError(path, f"cannot be: {error}", "Fit again.") from None
        return config

    @contextmanager
    def known_settings(self) -> Iterator[None]:
        """Raise a `StorageError` where settings of the run are missing or not known."""
        try:
            yield
        except (KeyError, TypeError):
            raise StorageError(
                self.path / "config.json", "asks for settings that ribp does not know", "Fit again."
            ) from None

    def check_result(self) -> None:
        """Raise a `StorageError` unless this is a run that has a result."""
        self.config()
        if not self.result.exists():
            raise StorageError(
                self.path,
                "has no result yet",
                f"It was stopped before its end; go on: ribp resume {self.path}",
            )

    def stored_result(self) -> Result:
        """Return the result of the run, which is quicker to read than its estimator."""
        self.check_result()
        from ribp.results import Result

        return Result.load(self.result)

    def model(self) -> Any:
        """Return the fitted estimator of the run."""
        self.check_result()
        from ribp.estimators import load

        model = load(self.result)
        if not hasattr(model, "result_"):
            raise StorageError(self.result, "is not of this run", "Fit again.")
        return model

    def options(self) -> InputOptions:
        """Return what the file of the run holds."""
        with self.known_settings():
            return stored_options(self.config()["source"])

    def table(self) -> InputTable:
        """Return the data, read again; they must be those that were fitted."""
        from ribp.rows.local import in_memory
        from ribp.running.checkpoint import Checkpoint

        config = self.config()
        source = config["source"]
        with self.known_settings():
            path = Path(source["path"])
            options, likelihood = stored_options(source), config["estimator"]["likelihood"]
            likelihood = None if source.get("large") else likelihood  # its levels are numbers
            table = read_table(path, options, source["holdout"], source["seed"], likelihood)
        checkpoint = Checkpoint(self.checkpoints)
        digest = checkpoint.settings().get("data") if checkpoint.exists() else None
        if digest is not None and digest != in_memory(table.data).look().digest:
            raise StorageError(path, f"has changed since the run in {self.path}", "Fit again.")
        return table

    def write_hidden(self, table: InputTable) -> None:
        """Write which entries are hidden, and their values."""
        rows, columns = np.nonzero(table.hidden)
        values = table.values[rows, columns]
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
            arrays = read_arrays(path)
            mask[arrays["rows"], arrays["columns"]] = True
            values[arrays["rows"], arrays["columns"]] = arrays["values"]
        except Exception:  # whatever is wrong with it, it is of no use
            raise StorageError(path, "is damaged", "Fit again.") from None
        return values, mask

    def write_comparison(self, models: dict[str, Any]) -> None:
        """Write how models did on the hidden entries."""
        write_described(self.path / "compare.json", _COMPARISON, SCHEMA, {"models": models})

    def comparison(self) -> dict[str, Any] | None:
        """Return how models did on the hidden entries; None if they were not compared."""
        path = self.path / "compare.json"
        comparison = read_described(path, _COMPARISON, SCHEMA)
        if comparison is None:
            return None
        models = comparison.get("models")
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
