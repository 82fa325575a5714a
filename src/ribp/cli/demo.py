"""`ribp demo`: eight notes of unequal popularity, in rows that hold one note or three.

Knowing how many notes a row holds changes which notes it is likely to hold. The table compares
independent coins with the restricted row law, and the restricted law with all 256 rows enumerated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from ribp import counts
from ribp.checks import FloatArray
from ribp.poisson_binomial import PoissonBinomial
from ribp.restricted_bernoulli import RestrictedBernoulli
from ribp.testing import exact

NOTES = ["C", "D", "E", "F", "G", "A", "B", "C'"]
POPULARITY = np.array([0.45, 0.10, 0.30, 0.08, 0.40, 0.15, 0.03, 0.20])
LAW = counts.mixture([(0.4, counts.exactly(1)), (0.6, counts.exactly(3))])


def run(out: Path) -> None:
    """Print the table and write the picture into the folder `out`."""
    log_odds = np.log(POPULARITY / (1 - POPULARITY))
    law = RestrictedBernoulli(log_odds, LAW)
    found = law.inclusion_probs()
    brute = exact.row_probs(log_odds, LAW) @ exact.all_rows(log_odds.size)
    console = Console()
    console.print(
        f"\nEight notes; every row holds one note or three: counts = [bold]{LAW}[/bold]\n"
    )
    console.print(_table(found, brute))
    worst = float(np.abs(found - brute).max())
    console.print(f"Largest difference to brute force over {2 ** len(NOTES)} rows: {worst:.1e}")
    rows = law.sample(np.random.default_rng(0), 5)
    drawn = ", ".join(" ".join(n for n, on in zip(NOTES, row, strict=True) if on) for row in rows)
    console.print(f"Five rows drawn from the law, none rejected: {drawn}")
    out.mkdir(parents=True, exist_ok=True)
    path = out / "row-law.png"
    _picture(log_odds, found, brute, path)
    console.print(f"Picture: {path}\n")


def _table(found: FloatArray, brute: FloatArray) -> Table:
    table = Table(title="How likely is each note?")
    for name in ("note", "as a coin", "in a row of one or three", "brute force"):
        table.add_column(name, justify="left" if name == "note" else "right")
    for note, coin, p, truth in zip(NOTES, POPULARITY, found, brute, strict=True):
        table.add_row(note, f"{coin:.3f}", f"{p:.6f}", f"{truth:.6f}")
    table.add_section()
    table.add_row("sum", f"{POPULARITY.sum():.3f}", f"{found.sum():.6f}", f"{brute.sum():.6f}")
    return table


def _picture(log_odds: FloatArray, found: FloatArray, brute: FloatArray, path: Path) -> None:
    from matplotlib.figure import Figure

    blue, orange = "#0072B2", "#E69F00"
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.6])
    k = np.arange(7)
    left.bar(k - 0.2, PoissonBinomial(log_odds).pmf(k), 0.4, color=orange, label="coins")
    left.bar(k + 0.2, LAW.probs(6), 0.4, color=blue, label="restricted")
    left.set(xlabel="notes in a row", ylabel="probability", title="How many notes")
    left.legend(frameon=False)
    at = np.arange(len(NOTES))
    right.bar(at - 0.2, POPULARITY, 0.4, color=orange, label="coins")
    right.bar(at + 0.2, found, 0.4, color=blue, label="restricted")
    right.plot(at + 0.2, brute, "k_", markersize=12, label="brute force")
    right.set_xticks(at, NOTES)
    right.set(ylabel="P(note in row)", title="Inclusion probabilities")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
