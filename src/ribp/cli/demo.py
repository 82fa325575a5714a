"""`ribp demo`: the notes of 232 chords, from their spectra and the number of notes in each.

Four models are given the same spectra. The restricted buffet knows that chords have three notes and
single notes one; the unrestricted buffet knows nothing of counts; NMF does not know what on and off
are, so each row is given its k largest activations, and it must be told how many features there
are: once the truth, twelve, and once as many as the restricted buffet had room for. One entry in a
hundred is hidden from the two buffets and scored; NMF takes no missing entries, has no density.

A note is found if the feature matched to it has the note's rows: F1 of at least 0.95.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ribp.cli import fit as commands
from ribp.cli.compare import compare_run
from ribp.cli.read_run import fitted
from ribp.cli.report import write
from ribp.cli.run_folder import RunFolder
from ribp.cli.show import say
from ribp.datasets import load_chords, scaled
from ribp.datasets.chords import Chords
from ribp.io.write_files import write_table
from ribp.testing.recovery import f1, feature_f1

__all__ = ["run"]

_FOUND = 0.95
_ROOM = 24
_OPTIONS = {
    "method": "gibbs",
    "max_features": _ROOM,
    "likelihood": "gaussian",
    "background": "auto",
    "n_chains": 4,
    "n_warmup": 200,
    "n_draws": 400,
}
_SEED = 1
_HIDDEN = 0.01


def run(out: Path) -> None:
    """Fit the chords in the folder `out`, print a table and write a report."""
    console, chords = Console(), load_chords()
    console.print(
        "\n232 spectra of a piano: 220 chords of three notes and 12 single notes.\nWhich notes are"
        " there, and which sound in which chord? Known is only how many sound at once.\n"
    )
    out.mkdir(parents=True, exist_ok=True)
    _write_data(chords, out / "chords.csv")
    began = time.perf_counter()
    commands.fit(
        out / "chords.csv", out / "run", counts="column:notes", options=_OPTIONS, holdout=_HIDDEN,
        seed=_SEED, overwrite=True, as_json=False, show=False,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    console.print("Restricted buffet: done. The unrestricted one and NMF follow.")
    models = _compared(chords, out / "run", seconds)
    RunFolder(out / "run").write_comparison(models)
    write(out / "run", out / "report.html")
    console.print(_table(models))
    console.print(_words(models))
    say(f"\nReport, to be opened in a browser: {out / 'report.html'}")
    say(f"All draws: {out / 'run'}; look at them with: ribp summary {out / 'run'}\n")


def _write_data(chords: Chords, path: Path) -> None:
    """Write spectra and numbers of notes as a user would bring them."""
    names = [
        "-".join(name for name, on in zip(chords.note_names, row, strict=True) if on)
        for row in chords.notes
    ]
    values = np.column_stack([chords.counts, np.round(scaled(chords.spectra), 6)])
    columns = ["notes", *(f"{hertz:g} Hz" for hertz in chords.frequencies)]
    write_table(path, values, dim_names=columns, row_names=names, overwrite=True)


def _compared(chords: Chords, folder: Path, seconds: float) -> dict[str, dict[str, Any]]:
    """Return what each model found, and how it did on hidden entries."""
    scores, buffet = compare_run(folder, progress=True)
    models: dict[str, dict[str, Any]] = {
        "restricted buffet": scores["restricted"]
        | {"seconds": seconds}
        | _recovered(fitted(folder).row_probs_ > 0.5, chords),
        "unrestricted buffet": scores["unrestricted"] | _recovered(buffet.row_probs_ > 0.5, chords),
    }
    for features in (len(chords.note_names), _ROOM):
        began = time.perf_counter()
        rows = _nmf(chords, features)
        models[f"NMF, told {features} features"] = {
            "features": features,
            "seconds": time.perf_counter() - began,
            **_recovered(rows, chords),
        }
    return models


def _nmf(chords: Chords, features: int) -> Any:
    """Return the k largest activations of every row, as 0 and 1."""
    from sklearn.decomposition import NMF

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may want more iterations
        model = NMF(features, init="nndsvda", max_iter=3000, random_state=_SEED)
        activations = model.fit_transform(scaled(chords.spectra))
    ranks = np.argsort(np.argsort(-activations, axis=1, kind="stable"), axis=1)
    return ranks < chords.counts[:, None]


def _recovered(rows: Any, chords: Chords) -> dict[str, float]:
    found = int((feature_f1(rows, chords.notes) >= _FOUND).sum())
    return {"found": found, "f1": f1(rows, chords.notes)}


def _table(models: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="What was found")
    for name in ("model", "notes found", "F1", "features", "log density of hidden", "seconds"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for name, row in models.items():
        density = (
            f"{row['log_density']:.2f} ± {row['standard_error']:.2f}"
            if "log_density" in row
            else "not defined"
        )
        table.add_row(
            name, f"{row['found']} of 12", f"{row['f1']:.3f}", f"{row['features']:.0f}", density,
            f"{row['seconds']:.1f}",
        )  # fmt: skip
    return table


def _words(models: dict[str, dict[str, Any]]) -> str:
    """Return what the table shows, in words that follow its numbers."""
    ours, free, told, roomy = models.values()
    said = [
        f"With the counts the notes found are {ours['found']} of 12, nobody having said that there"
        f" are twelve; without them {free['found']}.",
        "What the counts buy is the way to the right answer: both models can describe it, and one"
        " finds it."
        if ours["f1"] > free["f1"]
        else "Here the counts were not needed to find the answer.",
        f"NMF finds {told['found']} if it is told that there are twelve, and {roomy['found']} if it"
        f" is given room for {_ROOM}, as the restricted buffet was.",
        "F1: share of right entries among the notes of chords. A higher log density is better.",
    ]
    return "\n".join(said)
