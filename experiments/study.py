"""A study of many runs: each is written when it ends, and a study that was stopped goes on.

Runs have keys. `results.json` holds what is known; another setting, or a quick study in the same
folder, begins anew. Runs by other versions are kept, and listed as older, until they have been made
again, one by one.

`--missing` makes only runs that no version has made, `--minutes` begins none after so many (-1 for
tables and pictures only). Parts of a study that ran side by side in folders of their own are put
together by `--join`. `--verify 5` makes five of the stored runs again, by the code of today, and
writes down which numbers are the same.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from experiments import shared

BETWEEN = " | "
"""Parts of the key of a run."""


def parser(name: str, *, data: bool = True) -> argparse.ArgumentParser:
    """Return the options of a study, and of its files of data if it needs any."""
    made = shared.parser(name, data=data)
    made.add_argument("--minutes", type=float, default=1e9, help="begin no run after so many")
    made.add_argument(
        "--missing", action="store_true", help="make only runs that no version has made"
    )
    made.add_argument(
        "--join",
        type=Path,
        nargs="+",
        default=[],
        help="folders of the same study, whose runs are taken over",
    )
    made.add_argument("--verify", type=int, default=0, help="make so many stored runs again")
    return made


def parse(made: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what was asked for, and make the folder for what is found."""
    given = made.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    return given


class Study:
    """What is known, and the time that is left.

    Attributes
    ----------
    numbers, seconds
        Of each run, by its key; NaN where nobody wrote down how long it took.
    """

    def __init__(self, given: argparse.Namespace, setting: Mapping[str, Any]) -> None:
        self.options, self.setting = given, json.loads(json.dumps(setting))
        self.numbers: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self._began, self._console = time.perf_counter(), Console()
        self._made_by, self._verified = shared.versions(), dict[str, Any]()
        self._older: list[dict[str, Any]] = []
        self._again: set[str] = set()
        stored = _read(given.out)
        if given.verify and stored:
            self._made_by = stored["versions"]
            self._verified = {"versions": shared.versions(), "same": [], "other": []}
        if self._same(stored):
            self._take(stored)
            self._older = _older(stored, self._made_by)
            self._verified = self._verified or stored.get("verified", {})
        if given.verify:
            some = np.random.default_rng(given.verify).permutation(sorted(self.numbers))
            self._again = set(some[: given.verify].tolist())
        for folder in given.join:
            if not self._same(stored := _read(folder)) or stored["versions"] != self._made_by:
                raise SystemExit(f"{folder} has no results of this setting and these versions")
            self._take(stored)
        if given.join:
            self._write()

    def _same(self, stored: dict[str, Any]) -> bool:
        """Return whether stored results answer what this study asks."""
        mine = {"quick": self.options.quick, "setting": self.setting}
        return {name: stored.get(name) for name in mine} == mine

    def _take(self, stored: dict[str, Any]) -> None:
        """Take over runs, but older ones only where there are no others."""
        old, seconds = _keys(_older(stored, self._made_by)), stored["timing"].get("seconds", {})
        for name, numbers in stored["numbers"].items():
            if name not in old or name not in self.numbers:
                taken = seconds.get(name)
                self._put(name, numbers, math.nan if taken is None else taken)

    def _put(self, name: str, numbers: dict[str, Any], seconds: float) -> None:
        self.numbers[name], self.seconds[name] = numbers, seconds
        for group in self._older:
            group["runs"] = [one for one in group["runs"] if one != name]
        self._older = [group for group in self._older if group["runs"]]

    def wants(self, *parts: str | float) -> bool:
        """Return whether a run has not been made, and there is time for it."""
        if self.options.verify:
            return key(*parts) in self._again
        late = (time.perf_counter() - self._began) / 60 > self.options.minutes
        old = key(*parts) in _keys(self._older) and not self.options.missing
        return (old or key(*parts) not in self.numbers) and not late

    def add(self, *parts: str | float, numbers: dict[str, Any], seconds: float) -> None:
        """Write down a run; the last part of its key is the seed."""
        name = key(*parts)
        numbers = shared.as_stored(numbers)  # what tables show is what is stored
        if self.options.verify:
            same = numbers == self.numbers[name]
            self._verified["same" if same else "other"].append(name)
            self._console.print(f"{name}: {'the same' if same else 'OTHER'}", highlight=False)
            self._write()
            return
        self._put(name, numbers, seconds)
        shown = ", ".join(f"{k} {v:.3f}" for k, v in numbers.items() if isinstance(v, float))
        self._console.print(f"{name}: {shown}, {seconds:.1f} s", highlight=False)
        self._write()

    def _write(self) -> None:
        minutes = float(np.nansum([*self.seconds.values()])) / 60
        shared.write_results(
            self.options,
            seeds=sorted({int(one.split(BETWEEN)[-1]) for one in self.numbers}),
            setting=self.setting,
            numbers=self.numbers,
            timing={"minutes": minutes, "seconds": self.seconds},
            made_by=self._made_by,
            older=self._older,
            verified=self._verified,
        )

    def values(self, *parts: str | float, of: str) -> np.ndarray[Any, Any]:
        """Return a number, or "seconds", of all seeds of a run."""
        return np.array(list(self.by_seed(*parts, of=of).values()), dtype=float)

    def by_seed(self, *parts: str | float, of: str) -> dict[int, float]:
        """Return a number, or "seconds", of each seed of a run; NaN where there is none."""
        begins, found = key(*parts) + BETWEEN, {}
        for name in [one for one in self.numbers if one.startswith(begins)]:
            value = self.seconds[name] if of == "seconds" else self.numbers[name].get(of)
            found[int(name.removeprefix(begins))] = np.nan if value is None else float(value)
        return found


def _read(folder: Path) -> dict[str, Any]:
    path = folder / "results.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _older(stored: Mapping[str, Any], versions: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return which runs were made by other versions, by these versions."""
    groups = [dict(group) for group in stored.get("older", [])]
    if stored["versions"] != versions:
        runs = [name for name in stored["numbers"] if name not in _keys(groups)]
        groups.append({"versions": stored["versions"], "runs": runs})
    return groups


def _keys(groups: Sequence[Mapping[str, Any]]) -> set[str]:
    return {name for group in groups for name in group["runs"]}


def key(*parts: str | float) -> str:
    """Return the name of a run."""
    return BETWEEN.join(map(str, parts))


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> tuple[float, float, str]:
    """Return the mean of our number less theirs, its standard error, and a verdict.

    Both have a number for each seed; seeds that both have are compared. We are "ahead" or "behind"
    if the mean is more than two standard errors from zero, else "level". The error and the verdict
    of fewer than two seeds are unknown: NaN, and "".
    """
    gains = np.array([ours[seed] - theirs[seed] for seed in ours if seed in theirs])
    gains = gains[np.isfinite(gains)]
    mean = float(gains.mean()) if gains.size else math.nan
    if gains.size < 2:
        return mean, math.nan, ""
    error = float(gains.std(ddof=1)) / math.sqrt(gains.size)
    if abs(mean) <= 2.0 * error:
        return mean, error, "level"
    return mean, error, "ahead" if mean > 0.0 else "behind"


def compared(ours: Mapping[int, float], theirs: Mapping[int, float], digits: int = 3) -> str:
    """Return the mean difference, its standard error and the verdict of `paired` as text.

    With a digit more where a difference that is not level would be zero.
    """
    mean, error, verdict = paired(ours, theirs)
    if not math.isfinite(mean):
        return ""
    if verdict not in ("", "level") and round(mean, digits) == 0.0:
        digits += 1
    text = f"{mean:+.{digits}f}"
    return f"{text} ± {error:.{digits}f}, {verdict}" if verdict else f"{text}, one seed"


def median(values: np.ndarray[Any, Any], digits: int = 3, form: str = "f") -> str:
    """Return the median and, if they differ, the quartiles as text; nothing where is nothing."""
    v = values[np.isfinite(values)]
    if v.size == 0:
        return ""
    low, middle, high = (f"{q:.{digits}{form}}" for q in np.quantile(v, (0.25, 0.5, 0.75)))
    return middle if low == high else f"{middle} ({low}, {high})"
