"""`ribp reproduce`: run the experiments behind the evaluation pages again.

They are in the source tree, not in the wheel: `experiments/` beside `src/`, or in the folder that
the command is run in.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer

from ribp.cli.show import say

_ALL = "all"
_DATA = "RIBP_DATA"


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An experiment, or all.", show_default=False)
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small runs, minutes in all.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and stop.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder of data files; the variable RIBP_DATA says it too.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = Path("reproduced"),
) -> None:
    """Run the experiments behind the evaluation pages again (from the source tree)."""
    from ribp import checks
    from ribp.errors import InputError

    registry = _registry()
    experiments = registry.EXPERIMENTS
    if list_:
        _print_list(experiments)
        return
    checks.one_of("NAME", name, [*experiments, _ALL])
    folder = data or (Path(os.environ[_DATA]) if os.environ.get(_DATA) else None)
    chosen = list(experiments) if name == _ALL else [name]
    lines, failed = [], list[str]()
    for at, one in enumerate(chosen, start=1):
        needs = experiments[one].needs
        missing = [file for file in needs if folder is None or not (folder / file).is_file()]
        if missing and name != _ALL:
            raise InputError(
                "--data", f"must be a folder with {', '.join(needs)}",
                f"{folder or 'nothing'} without {missing[0]}",
                f"Name the folder with --data or {_DATA}; docs/datasets.md says what they are.",
            )  # fmt: skip
        if missing:
            lines.append(f"{one:16} {'skipped':>7}  no {missing[0]}: use --data or {_DATA}")
            say(lines[-1])
            continue
        say(f"[{at}/{len(chosen)}] {one}: {experiments[one].title}")
        arguments = ["--out", str(out / one), *["--quick"] * quick]
        arguments += ["--data", str(folder)] if needs else []
        done, line = _run(registry, one, arguments, out / one)
        lines.append(line)
        failed += [] if done else [one]
    say(f"\n{'experiment':16} {'minutes':>7}  written")
    for line in lines:
        say(line)
    if failed:
        say(f"\nFailed: {', '.join(failed)}")
        raise typer.Exit(1)


def _print_list(experiments: Any) -> None:
    say(f"{'name':16} {'minutes':>7}  about")
    for name, experiment in experiments.items():
        needs = f" (data: {', '.join(experiment.needs)})" if experiment.needs else ""
        say(f"{name:16} {experiment.minutes:7g}  {experiment.title}{needs}")


def _run(registry: Any, name: str, arguments: list[str], out: Path) -> tuple[bool, str]:
    """Run an experiment; return whether it came to its end, and its line of the table."""
    from ribp.threads import one_blas_thread

    began, report = time.perf_counter(), out / "error.txt"
    report.unlink(missing_ok=True)
    try:
        with one_blas_thread():
            registry.run(name, arguments)
    except (Exception, SystemExit) as error:  # whatever it is, the others are run
        out.mkdir(parents=True, exist_ok=True)
        report.write_text(traceback.format_exc(), encoding="utf-8")
        return False, f"{name:16} {'failed':>7}  {type(error).__name__}: {error} ({report})"
    minutes = (time.perf_counter() - began) / 60
    written = ", ".join(sorted(path.name for path in out.iterdir()))
    return True, f"{name:16} {minutes:7.1f}  {out}: {written}"


def _registry() -> Any:
    """Return the module that lists the experiments."""
    from ribp.errors import StorageError

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
