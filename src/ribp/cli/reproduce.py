"""`ribp reproduce`: run the experiments behind the evaluation pages again.

They are in the source tree, not in the wheel: `experiments/` beside `src/`, or in the folder that
the command is run in.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

from ribp import checks
from ribp.cli.show import say
from ribp.errors import InputError, StorageError
from ribp.threads import one_blas_thread

__all__ = ["list_experiments", "reproduce"]

_ALL = "all"
_DATA = "RIBP_DATA"


def list_experiments() -> None:
    """Print what can be run."""
    say(f"{'name':16} {'minutes':>7}  about")
    for name, experiment in _registry().EXPERIMENTS.items():
        needs = f" (data: {', '.join(experiment.needs)})" if experiment.needs else ""
        say(f"{name:16} {experiment.minutes:7g}  {experiment.title}{needs}")


def reproduce(name: str, *, quick: bool, data: Path | None, out: Path) -> None:
    """Run one experiment, or all that have their data, and say what was written."""
    registry = _registry()
    known = registry.EXPERIMENTS
    checks.one_of("NAME", name, [*known, _ALL])
    folder = data or (Path(os.environ[_DATA]) if os.environ.get(_DATA) else None)
    chosen = list(known) if name == _ALL else [name]
    lines = []
    for at, one in enumerate(chosen, start=1):
        missing = _missing(known[one].needs, folder)
        if missing and name != _ALL:
            raise InputError(
                "--data", f"must be a folder with {', '.join(known[one].needs)}",
                f"{folder or 'nothing'} without {missing[0]}",
                f"Name the folder with --data or {_DATA}; docs/datasets.md says what they are.",
            )  # fmt: skip
        if missing:
            lines.append(f"{one:16} {'skipped':>7}  no {missing[0]}: use --data or {_DATA}")
            say(lines[-1])
            continue
        say(f"[{at}/{len(chosen)}] {one}: {known[one].title}")
        arguments = ["--out", str(out / one), *["--quick"] * quick]
        arguments += ["--data", str(folder)] if known[one].needs else []
        lines.append(_run(registry, one, arguments, out / one))
    say("")
    say(f"{'experiment':16} {'minutes':>7}  written")
    for line in lines:
        say(line)


def _run(registry: Any, name: str, arguments: list[str], out: Path) -> str:
    """Run an experiment; return its line of the table."""
    began = time.perf_counter()
    with one_blas_thread():
        registry.run(name, arguments)
    minutes = (time.perf_counter() - began) / 60
    written = ", ".join(sorted(path.name for path in out.iterdir()))
    return f"{name:16} {minutes:7.1f}  {out}: {written}"


def _missing(needs: tuple[str, ...], folder: Path | None) -> list[str]:
    return [file for file in needs if folder is None or not (folder / file).is_file()]


def _registry() -> Any:
    """Return the module that knows the experiments."""
    beside = Path(__file__).resolve().parents[3]
    for root in (beside, Path.cwd()):
        if (root / "experiments" / "registry.py").is_file():
            if str(root) not in sys.path:
                sys.path.insert(0, str(root))
            return importlib.import_module("experiments.registry")
    raise StorageError(
        beside / "experiments",
        "is not there: experiments come with the source, not with an installed package",
        "Get the source of ribp and run the command in its folder.",
    )
