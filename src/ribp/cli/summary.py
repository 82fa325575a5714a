"""`ribp summary`: what a run found, and whether to trust it."""

from __future__ import annotations

from ribp.cli.options import Json, Run
from ribp.cli.show import show_summary


def summary(run: Run, json: Json = False) -> None:
    """Show what a run found, and whether to trust it."""
    from ribp.cli.run_folder import RunFolder

    folder = RunFolder(run)
    result = folder.stored_result()
    hidden = folder.hidden((result.settings["n_rows"], result.settings["n_dims"]))
    scores = None if hidden is None else result.held_out_log_density(*hidden)
    show_summary(result, run, json, scores)
