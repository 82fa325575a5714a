"""What all experiments share: their options, the file of results, tables, pictures.

`results.json` keeps what a re-run must give again (`numbers`) apart from what it cannot
(`timing`); seeds, setting and versions say what made them.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy
from PIL import Image

import ribp
from ribp.files import write_atomically

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#888888"


def parser(name: str, *, data: bool = False) -> argparse.ArgumentParser:
    """Return the options that every experiment has: --out, --quick and, for some, --data."""
    made = argparse.ArgumentParser(prog=f"python -m experiments.{name}.run")
    default = Path(__file__).parent / name / "results"
    made.add_argument("--out", type=Path, default=default, help="folder for what is found")
    made.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    if data:
        folder = os.environ.get("RIBP_DATA")
        made.add_argument(
            "--data",
            type=Path,
            default=folder and Path(folder),
            required=folder is None,
            help="folder of the .npz files; the variable RIBP_DATA says it too",
        )
    return made


def parse(
    name: str, arguments: Sequence[str] | None = None, *, data: bool = False
) -> argparse.Namespace:
    """Return the options of a run, and make its folder."""
    options = parser(name, data=data).parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def write_results(
    options: argparse.Namespace,
    *,
    seeds: int | Sequence[int],
    setting: Mapping[str, Any],
    numbers: Any,
    timing: Mapping[str, Any],
    made_by: Mapping[str, str] | None = None,
    older: Sequence[Mapping[str, Any]] = (),
    verified: Mapping[str, Any] | None = None,
) -> Any:
    """Write results.json: whole or not at all, six digits, one line per list.

    Returns the numbers as they were written.

    Parameters
    ----------
    options
        As `parse` gives them.
    seeds, setting
        What the run was asked for.
    numbers
        What was found, the same in every run with these seeds and versions.
    timing
        Minutes and seconds, which differ from run to run.
    made_by
        Versions that made the numbers; None for those of today.
    older
        Runs that other versions have made, and these versions.
    verified
        Versions by which some of the numbers were made again, and which of them are the same.
    """
    whole: dict[str, Any] = {
        "quick": options.quick,
        "seeds": seeds,
        "setting": setting,
        "versions": made_by or versions(),
        "numbers": numbers,
        "timing": timing,
        **({"older": older} if older else {}),
        **({"verified": verified} if verified else {}),
    }
    whole = as_stored(whole)
    text = json.dumps(whole, indent=1)
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found.group().split()), text) + "\n"
    write_atomically(options.out / "results.json", lambda file: file.write(text.encode()))
    return whole["numbers"]


def as_stored(value: Any) -> Any:
    """Return what JSON gives back: six digits."""
    return json.loads(json.dumps(_short(value), allow_nan=False))


def versions() -> dict[str, str]:
    """Return the versions of what made the numbers."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "ribp": ribp.__version__,
    }


def _short(value: Any) -> Any:
    """Return what JSON has, numbers with six digits; None for what is not a number."""
    if isinstance(value, Mapping):
        return {str(key): _short(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_short(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, and an empty one."""
    lines = [columns, ["---"] * len(columns), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def write_text(path: Path, lines: Sequence[str]) -> None:
    """Write lines: whole or not at all."""
    text = "\n".join(lines).rstrip() + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def save(figure: Any, path: Path, colours: int = 0) -> None:
    """Write a picture, whole or not at all; a large one with so many colours only."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110, format="png")
    if colours:
        few = Image.open(drawn).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
        drawn = io.BytesIO()
        few.save(drawn, "png", optimize=True)
    write_atomically(path, lambda file: file.write(drawn.getvalue()))
