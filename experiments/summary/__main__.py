"""Write the tables and the picture of the page of all studies: `python -m experiments.summary`.

The best of a row has the highest mean over seeds. It is set in bold with all that are within two
standard errors of it, by differences seed by seed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import ribp
from experiments.shared import BLUE, GREEN, GREY, ORANGE, save, table, write_text
from experiments.study import paired
from experiments.summary import cells, questions
from experiments.summary.cells import FOUND, HELD_OUT, Row

OUT = Path(__file__).parent / "results"
_COLOURS = {
    cells.DEFAULT: (BLUE, "o"), cells.SHARED: (BLUE, "s"),
    cells.OWN: (BLUE, "D"), cells.UNTOLD: (BLUE, "x"),
    cells.NMF: (ORANGE, "o"), cells.NMF_MORE: (ORANGE, "x"),
    cells.KSVD: (GREEN, "o"), cells.KSVD_MORE: (GREEN, "x"), cells.BUFFET: ("black", "+"),
}  # fmt: skip
"""Of methods in the picture; all others are grey."""
_COLUMNS = (
    cells.DEFAULT, cells.SHARED, cells.OWN, cells.UNTOLD, cells.BUFFET, cells.NMF, cells.NMF_MORE,
    cells.KSVD, cells.KSVD_MORE, cells.DICTIONARY, cells.FACTORS, cells.CHOSEN, cells.MOFA,
    cells.PCA, cells.CHANCE, cells.ALONE,
)  # fmt: skip


def best(row: Row) -> set[str]:
    """Return the methods of a row that nobody beats by more than two standard errors."""
    found = {column: cell.values() for column, cell in row.cells.items()}
    found = {column: values for column, values in found.items() if values}
    if not found:
        return set()
    top = max(found, key=lambda column: float(np.mean(list(found[column].values()))))
    if len(found[top]) < 2:  # nobody knows by one seed
        return set()
    return {
        column
        for column, values in found.items()
        if column == top or paired(found[top], values)[2] == "level"
    }


def lines_of(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table."""
    found = [
        {name: list(cell.values().values()) for name, cell in row.cells.items()} for row in rows
    ]
    columns = [name for name in _COLUMNS if any(values.get(name) for values in found)]
    lines = []
    for row, values in zip(rows, found, strict=True):
        if not any(values.values()):
            continue
        marked = best(row)
        cells_ = [_text(values.get(name, []), bold=name in marked) for name in columns]
        lines.append([f"[{row.name}]({row.page}.md)", *cells_])
    return table(["data", *columns], lines)


def _text(values: list[float], *, bold: bool) -> str:
    """Return the median; of the best also the least and the most over seeds."""
    if not values:
        return ""
    middle = f"{np.median(values):.3f}"
    low, high = f"{min(values):.3f}", f"{max(values):.3f}"
    spread = f" ({low}, {high})" if bold and low != high else ""
    return f"**{middle}**{spread}" if bold else middle


def runs() -> list[str]:
    """Return the lines of a table of all studies: how much of them this version has made."""
    lines = []
    for path in sorted(cells.ROOT.glob("*/results/results.json")):
        whole, name = json.loads(path.read_text()), path.parts[-3]
        page = cells.ROOT.parent / "docs" / "evaluation" / f"{name}.md"
        older = sum(len(group["runs"]) for group in whole.get("older", []))
        number = len(whole["numbers"])
        if whole["versions"]["ribp"] != ribp.__version__:
            older = number
        minutes = f"{whole['timing']['minutes']:.0f}"
        shown = f"[{name}]({name}.md)" if page.exists() else name
        lines.append([shown, str(number), str(number - older), minutes])
    return table(["study", "stored results", f"of them by {ribp.__version__}", "minutes"], lines)


def draw(rows: Sequence[Row]) -> Figure:
    """Return the medians of all methods, a line a set of data."""
    rows = [row for row in rows if any(cell.values() for cell in row.cells.values())]
    figure = Figure(figsize=(9, 0.42 * len(rows) + 1.6), layout="constrained")
    axes = figure.subplots()
    for at, row in enumerate(rows):
        for name, cell in row.cells.items():
            if values := list(cell.values().values()):
                colour, marker = _COLOURS.get(name, (GREY, "."))
                axes.plot([min(values), max(values)], [at, at], color=colour, lw=1, alpha=0.4)
                axes.plot(np.median(values), at, marker, color=colour, ms=7, mew=1.6, mfc="none")
    for name, (colour, marker) in (_COLOURS | {"others": (GREY, ".")}).items():
        axes.plot([], [], marker, color=colour, ms=7, mew=1.6, mfc="none", label=name)
    axes.set(
        yticks=range(len(rows)), yticklabels=[row.name for row in rows], xlabel="F1 of rows",
        xlim=(-0.02, 1.03), ylim=(len(rows) - 0.4, -0.6),
    )  # fmt: skip
    axes.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return figure


def main() -> None:
    """Write all of it."""
    write_text(OUT / "found.md", lines_of(FOUND))
    write_text(OUT / "held-out.md", lines_of(HELD_OUT))
    write_text(OUT / "runs.md", runs())
    write_text(OUT / "questions.md", questions.lines_of(questions.QUESTIONS))
    save(draw(FOUND), OUT / "found.png")


if __name__ == "__main__":
    main()
