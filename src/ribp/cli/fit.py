"""`ribp fit` and `ribp resume`: from a file to a run folder with a result."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from ribp.cli import options


def fit(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for everything the run makes.")],
    counts: options.Counts = None,
    method: options.Method = "gibbs",
    max_features: options.MaxFeatures = "auto",
    likelihood: Annotated[
        str, typer.Option(help="gaussian, poisson for counts, or the name of a plug-in.")
    ] = "gaussian",
    background: options.Background = "auto",
    chains: options.Chains = 4,
    warmup: options.Warmup = 500,
    draws: options.Draws = 500,
    holdout: options.Holdout = 0.0,
    seed: options.Seed = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Read a .npy or .parquet file in parts, within so much: 1GiB."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers have the file.")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Find the features of the rows of a file."""
    from ribp import fitting
    from ribp.cli import run_steps

    seed = secrets.randbits(32) if seed is None else seed
    source = {
        "path": str(data.resolve()), "counts": counts, "holdout": holdout, "seed": seed,
        "memory": memory, "scheduler": scheduler,
    }  # fmt: skip
    arguments = options.estimator_arguments(method, max_features, background, chains, warmup, draws)
    arguments |= {"likelihood": likelihood, "random_state": seed}
    run = run_steps.begin(out, source, arguments, overwrite)
    progress, checkpoints = options.show_progress(json), run.folder.checkpoints
    with run_steps.guarded(run.folder), run_steps.opened(run) as rows:
        prepared = run.prepared or run.model.prepare(*rows)
        result = fitting.run(prepared, progress=progress, checkpoint=checkpoints)
    run_steps.finish(run, result, rows.dim_names, json)


def resume(
    run: options.Run,
    draws: Annotated[int | None, typer.Option(min=1, help="More draws than at first.")] = None,
    json: options.Json = False,
) -> None:
    """Go on with a run that was stopped, or make it longer."""
    from ribp import fitting
    from ribp.cli import run_steps
    from ribp.running.checkpoint import Checkpoint

    begun = run_steps.read_again(run)
    checkpoints, model = begun.folder.checkpoints, begun.model
    progress = options.show_progress(json)
    with run_steps.guarded(begun.folder), run_steps.opened(begun) as rows:
        if Checkpoint(checkpoints).exists():
            result = fitting.resume(checkpoints, rows.store, n_draws=draws, progress=progress)
        else:  # it was stopped before its first checkpoint
            model.set_params(n_draws=draws or model.n_draws)
            result = fitting.run(model.prepare(*rows), progress=progress, checkpoint=checkpoints)
    run_steps.finish(begun, result, rows.dim_names, json)
