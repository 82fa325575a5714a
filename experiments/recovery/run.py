"""Run the study: `python -m experiments.recovery.run`, 20 minutes; `--quick` for a look.

For every case and seed the search of a default fit (the starts of four chains), and one chain from
its best start: 100 sweeps of warm-up, 50 draws. Rows are read off where a feature is on in more
than half of the draws; F1 of their entries after matching features one to one (Hungarian method). A
chain that begins at the truth shows whether the posterior prefers another answer: its log joint
stands beside.

Seeds 30 to 39 are fresh; on some of seeds 0 to 29 the search was developed. Then the parts of the
search are left out one at a time, and the noise prior is made stronger.

Every run is written when it ends, and a study that was stopped goes on. Files that are not there
(`--data`, or the variable RIBP_DATA) are said to be missing, and their cases skipped.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from experiments import study
from experiments.recovery import chains, images, waiting
from experiments.recovery.cases import ALL_CHORDS, NAMES, NOISE, load
from experiments.recovery.parts import WITHOUT, without
from experiments.shared import table, write_text

FRESH, LOOKED_AT = "fresh", "looked at"
ALL = "chords-power-1332"
SEEDS = {FRESH: range(30, 40), LOOKED_AT: range(20, 25)}
FEW = range(30, 35)
TAKEN_APART = ("chords-exact", "missing-one", "bars", "signed", "ibp-20")
PRIORS = {"chords-power": (1, 4, 16), "ibp-20": (1, 16)}
"""v of the noise prior, standard units; 1 is the library's."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = _options(arguments)
    sweeps = chains.Sweeps(10, 10, 10) if options.quick else chains.Sweeps()
    found = study.Study(options, {"sweeps": sweeps._asdict(), "n_chains": chains.N_CHAINS})
    for variant, seeds in SEEDS.items():
        for name in (*NAMES, *_there(options, ALL, ALL_CHORDS)):
            most = 5 if name == ALL else len(seeds)
            for seed in seeds[: 1 if options.quick else most]:
                _add(found, variant, name, seed, sweeps)
        if options.quick:
            break
    for kind in (waiting.SEARCHED, waiting.FROM_PRIOR):
        for name in NAMES[: 1 if options.quick else None]:
            for seed in SEEDS[FRESH][: 1 if options.quick else 5]:
                _wait(found, kind, name, seed, sweeps)
    few = FEW[: 1 if options.quick else None]
    for part in WITHOUT:
        for name in TAKEN_APART[: 1 if options.quick else None]:
            for seed in few:
                with without(part):
                    _add(found, part, name, seed, sweeps)
    for name, variances in list(PRIORS.items())[: 1 if options.quick else None]:
        for variance in variances[1:]:
            for seed in few:
                _add(found, _prior(variance), name, seed, sweeps, variance)
    for name in _there(options, "cambridge-10k", images.FILE):
        for kind in images.MODELS:
            for seed in few:
                if found.wants(kind, name, seed):
                    numbers, seconds = images.run(kind, seed, options.data)
                    found.add(kind, name, seed, numbers=numbers, seconds=seconds)
    written = tables(found.numbers) | timed({"seconds": found.seconds})
    for file, lines in written.items():
        write_text(options.out / file, lines)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made, folder = study.parser("recovery", data=False), os.environ.get("RIBP_DATA")
    made.add_argument(
        "--data",
        type=Path,
        default=folder and Path(folder),
        help="folder of files that cannot ship; the variable RIBP_DATA says it too",
    )
    return study.parse(made, arguments)


def _there(options: argparse.Namespace, case: str, file: str) -> list[str]:
    """Return a large case if its file is there; otherwise say that it is skipped."""
    there = options.data is not None and (options.data / file).exists()
    if there and not options.quick:
        return [case]
    why = "too large for a quick run" if there else f"no {file} (--data, RIBP_DATA)"
    Console().print(f"{case}: skipped, {why}", highlight=False)
    return []


def _prior(variance: float) -> str:
    return f"v = {variance:g}"


def _add(
    found: study.Study,
    variant: str,
    name: str,
    seed: int,
    sweeps: chains.Sweeps,
    variance: float = 1.0,
) -> None:
    if found.wants(variant, name, seed):
        case = load(name, seed, found.options.data)
        run, seconds = chains.run(case, seed, sweeps, variance)
        found.add(variant, name, seed, numbers=run._asdict(), seconds=seconds)


def _wait(found: study.Study, kind: str, name: str, seed: int, sweeps: chains.Sweeps) -> None:
    of = found.numbers.get(study.key(FRESH, name, seed))
    if of is not None and found.wants(kind, name, seed):
        best = max(of["log_joint"], of["truth_log_joint"])
        case = load(name, seed, found.options.data)
        numbers, seconds = waiting.run(kind, case, seed, sweeps, best)
        found.add(kind, name, seed, numbers=numbers, seconds=seconds)


Runs = list[dict[str, Any]]
_COLUMNS = (
    "F1, median (least)",
    "from the truth",
    "features",
    "of them right",
    "log joint less that at the truth",
    "starts at the best score",
)


def tables(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables as Markdown, by the name of a file."""
    lines = []
    for variant, title in ((FRESH, "Fresh seeds"), (LOOKED_AT, "Seeds 20 to 24")):
        rows = [
            [name, *_cells(runs)] for name in (*NAMES, ALL) if (runs := _of(numbers, variant, name))
        ]
        if rows:
            lines += [f"**{title}.**", "", *table(("case", *_COLUMNS), rows)]
    return {
        "table.md": lines,
        "parts.md": _parts(numbers),
        "noise-prior.md": _noise_prior(numbers),
        "images.md": _images(numbers),
        **_waiting(numbers),
    }


def _of(numbers: dict[str, Any], variant: str, name: str, seeds: Sequence[int] = ()) -> Runs:
    keys = [key for key in numbers if key.startswith(study.key(variant, name, ""))]
    wanted = {study.key(variant, name, seed) for seed in seeds} or set(keys)
    return [numbers[key] for key in keys if key in wanted]


def _above(runs: Runs) -> list[float]:
    return [run["log_joint"] - run["truth_log_joint"] for run in runs]


def _f1(runs: Runs) -> str:
    f1 = [run["f1"] for run in runs]
    return f"{np.median(f1):.3f} ({min(f1):.3f})"


def _each(runs: Runs, name: str) -> str:
    """Return a number of each run, those that are the same once."""
    values = [run[name] for run in runs]
    return str(values[0]) if len(set(values)) == 1 else " ".join(map(str, values))


def _range(values: Sequence[float], form: str = ".0f") -> str:
    return f"{min(values):{form}} to {max(values):{form}}"


def _cells(runs: Runs) -> list[str]:
    return [
        _f1(runs),
        f"{np.median([run['truth_f1'] for run in runs]):.3f}",
        _each(runs, "features"),
        f"{sum(run['right'] for run in runs)} of {sum(run['true_features'] for run in runs)} true",
        _range(_above(runs)),
        f"{sum(run['n_best'] for run in runs)} of {sum(run['n_made'] for run in runs)}",
    ]


def _parts(numbers: dict[str, Any]) -> list[str]:
    """Return a table: F1 and log joint with parts left out."""
    rows = []
    for name in TAKEN_APART:
        for part in (FRESH, *WITHOUT):
            runs = _of(numbers, part, name, FEW)
            if runs:
                best = f"{sum(run['n_best'] for run in runs)} of {sum(r['n_made'] for r in runs)}"
                label = "default" if part == FRESH else part
                rows.append([name, label, _f1(runs), _range(_above(runs)), best])
    return table(("case", "search", *(_COLUMNS[at] for at in (0, 4, 5))), rows)


def _noise_prior(numbers: dict[str, Any]) -> list[str]:
    """Return a table: what a stronger noise prior does."""
    rows = []
    for name, variances in PRIORS.items():
        for variance in variances:
            runs = _of(numbers, FRESH if variance == 1 else _prior(variance), name, FEW)
            if runs:
                noise = np.median([run["noise"] for run in runs]) / NOISE
                rows.append([
                    name, f"{variance:g}", _f1(runs), _each(runs, "features"),
                    _range(_above(runs)), f"{noise:.2f}" if name == "ibp-20" else "",
                ])  # fmt: skip
    return table(("case", "v", *(_COLUMNS[at] for at in (0, 2, 4)), "noise / true noise"), rows)


def _waiting(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """Return a table, if there is one: sweeps to the answer, with a search and without."""
    rows = []
    for name in NAMES:
        searched, prior = (
            _of(numbers, kind, name) for kind in (waiting.SEARCHED, waiting.FROM_PRIOR)
        )
        if searched:
            rows.append([name, *_reached(searched), *_reached(prior), _short_of(prior)])
    heads = (
        "case", "with a search: answers", "sweeps after it", "without: answers", "sweeps",
        "short of the best by (median)",
    )  # fmt: skip
    return {"waiting.md": table(heads, rows)} if rows else {}


def timed(timing: dict[str, Any]) -> dict[str, list[str]]:
    """Return the table of processor seconds as Markdown, if there is one, by its file."""
    seconds, rows = timing["seconds"], []
    if not any(key.startswith(waiting.SEARCHED) for key in seconds):
        return {}
    for name in (*NAMES, ALL):
        cells = []
        for kind in (FRESH, waiting.SEARCHED, waiting.FROM_PRIOR):
            of = [seconds[key] for key in seconds if key.startswith(study.key(kind, name, ""))]
            cells.append(f"{np.median(of):.1f} ({max(of):.1f})" if of else "")
        if any(cells):
            rows.append([name, *cells])
    heads = ("case", "the search", "search and sweeps to the answer", "as many sweeps, no search")
    return {"seconds.md": table(heads, rows)}


def _reached(runs: Runs) -> list[str]:
    """Return how many runs had the answer, and the median of their sweeps."""
    sweeps = [run["sweeps"] for run in runs if run["sweeps"] is not None]
    middle = f"{np.median(sweeps):.0f}" if sweeps else ""
    return [f"{len(sweeps)} of {len(runs)}", middle]


def _short_of(runs: Runs) -> str:
    return f"{np.median([run['short of the best by'] for run in runs]):.0f}" if runs else ""


def _images(numbers: dict[str, Any]) -> list[str]:
    """Return a table: features of the images."""
    rows = []
    for kind in images.MODELS:
        runs = _of(numbers, kind, "cambridge-10k")
        if runs:
            rows.append([
                kind,
                _each(runs, "features"),
                _each(runs, "all_features"),
                " ".join("on" if run["background"] else "off" for run in runs),
                _range([run["log_joint"] for run in runs]),
                f"{sum(run['n_best'] for run in runs)} of {sum(run['n_made'] for run in runs)}",
            ])  # fmt: skip
    heads = ("model", f"features of more than {images.MANY} rows", "all features", "background")
    return table((*heads, "log joint of the best chain", _COLUMNS[5]), rows)


if __name__ == "__main__":
    main()
