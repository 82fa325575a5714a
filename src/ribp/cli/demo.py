"""`ribp demo`: the notes of 232 chords, from their spectra and the number of notes in each.

Four models are given the same spectra. The restricted buffet knows that chords have three notes and
single notes one; the unrestricted buffet knows nothing of counts; NMF does not know what on and off
are, so each row is given its k largest activations, and it must be told how many features there
are: once the truth, twelve, and once as many as the restricted buffet had room for. One entry in a
hundred is hidden from the two buffets and scored; NMF takes no missing entries, has no density.

A note is found if the feature matched to it has the note's rows: F1 of at least 0.95.
"""

from __future__ import annotations

import io
import time
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ribp.cli.fit import fit
from ribp.cli.report import write_page
from ribp.cli.show import say

if TYPE_CHECKING:
    from rich.table import Table

    from ribp.datasets.chords import Chords

_FOUND = 0.95
_MAX_FEATURES = 24
_OPTIONS: dict[str, Any] = {"holdout": 0.01, "seed": 1}
_LENGTH: dict[str, Any] = {"n_chains": 4, "n_warmup": 200, "n_draws": 400}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for all that is made.")] = Path("ribp-demo"),
) -> None:
    """Find the notes of 232 piano chords, beside other models, and make a report."""
    from rich.console import Console

    from ribp.cli.run_folder import RunFolder
    from ribp.datasets import load_chords

    console, chords, run = Console(), load_chords(), out / "run"
    console.print(
        "\n232 spectra of a piano: 220 chords of three notes and 12 single notes.\nWhich notes are"
        " there, and which sound in which chord? Known is only how many sound at once.\n"
    )
    out.mkdir(parents=True, exist_ok=True)
    _write_data(chords, out / "chords.csv")
    began = time.perf_counter()
    with redirect_stdout(io.StringIO()):  # the summary is in the report
        fit(
            out / "chords.csv", run, counts="column:notes", max_features=str(_MAX_FEATURES),
            overwrite=True, **_OPTIONS, **_LENGTH,
        )  # fmt: skip
    seconds = time.perf_counter() - began
    console.print("Restricted buffet: done. The unrestricted one and NMF follow.")
    models = _compared(chords, run, seconds)
    RunFolder(run).write_comparison(models)
    write_page(run, out / "report.html")
    console.print(_table(models))
    console.print(_words(models))
    say(f"\nReport, to be opened in a browser: {out / 'report.html'}")
    say(f"All draws: {run}; look at them with: ribp summary {run}\n")


def _write_data(chords: Chords, path: Path) -> None:
    """Write spectra and numbers of notes as a user would bring them."""
    import numpy as np

    from ribp.datasets import scaled
    from ribp.io.write_files import write_table

    names = [
        "-".join(name for name, on in zip(chords.note_names, row, strict=True) if on)
        for row in chords.notes
    ]
    values = np.column_stack([chords.counts, np.round(scaled(chords.spectra), 6)])
    columns = ["notes", *(f"{hertz:g} Hz" for hertz in chords.frequencies)]
    write_table(path, values, dim_names=columns, row_names=names, overwrite=True)


def _compared(chords: Chords, run: Path, seconds: float) -> dict[str, dict[str, Any]]:
    """Return the scores of each model on notes and on hidden entries."""
    from ribp.cli.model_scores import compare_run
    from ribp.cli.run_folder import RunFolder

    scores, buffet = compare_run(run, announce=True)
    probs = RunFolder(run).model().row_probs_
    restricted = scores["restricted"] | {"seconds": seconds} | _recovered(probs > 0.5, chords)
    models: dict[str, dict[str, Any]] = {
        "restricted buffet": restricted,
        "unrestricted buffet": scores["unrestricted"] | _recovered(buffet.row_probs_ > 0.5, chords),
    }
    for features in (len(chords.note_names), _MAX_FEATURES):
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
    import numpy as np
    from sklearn.decomposition import NMF

    from ribp.datasets import scaled

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may want more iterations
        model = NMF(features, init="nndsvda", max_iter=3000, random_state=_OPTIONS["seed"])
        activations = model.fit_transform(scaled(chords.spectra))
    ranks = np.argsort(np.argsort(-activations, axis=1, kind="stable"), axis=1)
    return ranks < chords.counts[:, None]


def _recovered(rows: Any, chords: Chords) -> dict[str, float]:
    """Return how many notes were found, and F1 of all entries."""
    from ribp.testing.recovery import f1, feature_f1

    n_notes = int((feature_f1(rows, chords.notes) >= _FOUND).sum())
    return {"found": n_notes, "f1": f1(rows, chords.notes)}


def _table(models: dict[str, dict[str, Any]]) -> Table:
    from rich.table import Table

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
        f" are twelve; without them {free['found']}, among {free['features']:.0f} features.",
        "What the counts buy shows in F1: more rows have their notes, and nothing else."
        if ours["f1"] > free["f1"]
        else "Here the counts were not needed to find the answer.",
        f"NMF finds {told['found']} if it is told that there are twelve, and {roomy['found']} if it"
        f" is given room for {_MAX_FEATURES}, as the restricted buffet was.",
        "F1: share of right entries among the notes of chords. A higher log density is better.",
    ]
    return "\n".join(said)
