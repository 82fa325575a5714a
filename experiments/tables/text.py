"""The tables as text: medians with quartiles over seeds, and the paper's numbers beside ours.

The paper gives sums over entries. They are divided by the number of entries that they seem to be
of: 1332 x 100 chords, 730 x 1964 NPR stories, and of the newsgroups all 16242 x 100 (with the 5000
documents that the paper names, the numbers would be far below those of independent normal
columns). One per cent of these is held out.
"""

from __future__ import annotations

from pathlib import Path

from experiments.chains import MOST_FEATURES
from experiments.study import Study, median
from experiments.tables.cases import NAMES
from experiments.tables.methods import METHODS, NO_FEATURES, NOISES

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
    "seconds": "Seconds of one core",
}


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
    }[quantity]


def write_tables(path: Path, study: Study) -> None:
    """Write all tables as Markdown; seconds with noise learned only."""
    lines = []
    for quantity, title in _TITLES.items():
        for noise in NOISES[:1] if quantity == "seconds" else NOISES:
            lines += [f"**{title}; noise {noise}.**", "", *_table(study, quantity, noise), ""]
    path.write_text("\n".join([*lines, _runs(study)]) + "\n")


def _table(study: Study, quantity: str, noise: str) -> list[str]:
    names = [name for name in NAMES if noise != "by column" or name.startswith("chord")]
    lines = [f"| method | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    for method in METHODS:
        cells = [_cell(study, name, noise, method, quantity) for name in names]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    if quantity == "held_out":
        cells = [median(study.values(name, NO_FEATURES, of=quantity)) for name in names]
        lines.append(f"| {NO_FEATURES} | {' | '.join(cells)} |")
    return lines


def _cell(study: Study, name: str, noise: str, method: str, quantity: str) -> str:
    ours, theirs = study.values(name, noise, method, of=quantity), paper(method, name, quantity)
    digits = 0 if quantity == "seconds" else 3
    beside = "" if theirs is None or noise != "learned" else f" [{theirs:.{digits}f}]"
    text = median(ours, digits)
    if not text:
        text = "not run" if ours.size == 0 else f"over {MOST_FEATURES} features"
    return text + beside


def _runs(study: Study) -> str:
    """Say how many runs each column rests on."""
    parts = []
    for name in NAMES:
        sizes = [study.values(name, n, "Gibbs R-IBP", of="seconds").size for n in NOISES]
        parts.append(f"{name} {', '.join(map(str, sizes))}")
    return f"Runs, noise {', '.join(NOISES)}: {'; '.join(parts)}."
