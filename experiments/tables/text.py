"""The tables as text: medians with quartiles over seeds, and the paper's numbers beside ours.

The paper gives sums over entries. They are divided by the number of entries that they seem to be
of: 1332 x 100 chords, 730 x 1964 NPR stories, and of the newsgroups all 16242 x 100 (with the 5000
documents that the paper names, the numbers would be far below those of independent normal
columns). One per cent of these is held out.

A mean log density below `_BROKEN` is that of a model that has broken down: its noise is nearly zero
and its guesses are wrong. Such numbers are given with two digits.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.chains import MOST_FEATURES
from experiments.shared import table, write_text
from experiments.study import Study, median
from experiments.tables import rivals
from experiments.tables.cases import NAMES
from experiments.tables.methods import FAR, METHODS, NO_FEATURES, NOISES

_PAPER_ENTRIES = {"chord": 1332 * 100, "newsgroups": 16242 * 100, "digest": 730 * 1964}
_PAPER = {  # sums: training, held out; and seconds
    "hybrid R-IBP": {
        "chord": (-1.25e5, -2.11e3, 1.43e3),
        "newsgroups": (-2.33e6, -2.38e4, 1.56e5),
        "digest": (-1.65e7, -1.77e5, 1.02e4),
    },
    "hybrid IBP": {
        "chord": (-2.13e5, -2.12e3, 9.68e2),
        "newsgroups": (-2.38e6, -2.43e4, 3.21e4),
        "digest": (-6.49e6, -7.07e4, 1.65e4),
    },
    "variational IBP": {
        "chord": (-2.13e5, -2.12e3, 1.05e3),
        "newsgroups": (-2.39e6, -2.43e4, 3.69e4),
        "digest": (-6.90e6, -7.28e4, 1.50e4),
    },
    "Gibbs R-IBP": {
        "chord": (-1.33e5, -2.26e3, 3.56e3),
        "newsgroups": (-2.34e6, -2.37e4, 2.04e4),
        "digest": (-4.89e6, -5.46e4, 9.97e3),
    },
    "Gibbs IBP": {
        "chord": (-1.25e5, -2.32e3, 2.01e3),
        "newsgroups": (-2.34e6, -2.37e4, 1.33e4),
        "digest": (-5.15e6, -5.79e4, 7.39e3),
    },
}
_TITLES = {
    "training": "Training: log density of an entry that was seen",
    "held_out": "Held out: log density of a hidden entry",
    "median": "Held out: log density of the median hidden entry",
    "far": f"Held out: per cent of hidden entries whose log density is below {FAR:.0f}",
    "seconds": "Seconds of one core",
}
_DIGITS = {"far": 2, "seconds": 0}
_FOR_LEARNED_NOISE = ("median", "far", "seconds")
_BROKEN = -100.0


def paper(method: str, name: str, quantity: str) -> float | None:
    """Return the paper's number, likelihoods per entry; None where it has none."""
    known = _PAPER.get(method, {}).get(name.split(",")[0])
    if known is None:
        return None
    entries = _PAPER_ENTRIES[name.split(",")[0]]
    return {
        "training": known[0] / (0.99 * entries),
        "held_out": known[1] / (0.01 * entries),
        "seconds": known[2],
    }.get(quantity)


def write_tables(path: Path, study: Study) -> None:
    """Write all tables as Markdown; some with noise learned only."""
    lines = []
    for quantity, title in _TITLES.items():
        for noise in NOISES[:1] if quantity in _FOR_LEARNED_NOISE else NOISES:
            lines += [f"**{title}; noise {noise}.**", "", *_table(study, quantity, noise)]
    write_text(path, [*lines, _runs(study)])


def _table(study: Study, quantity: str, noise: str) -> list[str]:
    names = [name for name in NAMES if noise != "by column" or name.startswith("chord")]
    if quantity in ("median", "far"):
        names = [name for name in names if _known(study, quantity, noise, name)]
    others = [m for m in rivals.NAMES if any(_run(study, name, noise, m) for name in names)]
    rows = [
        [m, *(_cell(study, name, noise, m, quantity) for name in names)]
        for m in (*METHODS, *others)
    ]
    if quantity == "held_out":
        alone = [median(study.values(name, NO_FEATURES, of=quantity)) for name in names]
        rows.append([NO_FEATURES, *alone])
    return table(("method", *names), rows)


def _run(study: Study, name: str, noise: str, method: str) -> bool:
    """Return whether there are runs."""
    return bool(study.values(name, noise, method, of="seconds").size)


def _known(study: Study, quantity: str, noise: str, name: str) -> bool:
    """Return whether any run has this number."""
    return any(np.isfinite(study.values(name, noise, m, of=quantity)).any() for m in METHODS)


def _cell(study: Study, name: str, noise: str, method: str, quantity: str) -> str:
    ours, theirs = study.values(name, noise, method, of=quantity), paper(method, name, quantity)
    digits = _DIGITS.get(quantity, 3)
    beside = "" if theirs is None or noise != "learned" else f" [{theirs:.{digits}f}]"
    ended = ours[np.isfinite(ours)] * (100.0 if quantity == "far" else 1.0)
    if ours.size == 0:
        text = "not run"
    elif ended.size == 0:
        text = f"over {MOST_FEATURES} features"
    elif np.median(ended) < _BROKEN:
        text = f"breaks down: {median(ended, 1, 'e')}"
    else:
        text = median(ended, digits)
    if 0 < ended.size < ours.size:
        text += f"; {ours.size - ended.size} of {ours.size} over {MOST_FEATURES} features"
    return text + beside


def _runs(study: Study) -> str:
    """Say how many runs each column rests on."""
    parts = []
    for name in NAMES:
        sizes = [study.values(name, n, "Gibbs R-IBP", of="seconds").size for n in NOISES]
        parts.append(f"{name} {', '.join(map(str, sizes))}")
    return f"Runs, noise {', '.join(NOISES)}: {'; '.join(parts)}."
