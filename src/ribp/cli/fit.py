"""`ribp fit` and `ribp resume`: from a file to a run folder with a result."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from ribp.cli import options
from ribp.cli.parameters import estimator_arguments, with_parameters


@with_parameters()
def fit(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for everything the run makes.")],
    counts: options.Counts = None,
    exposure: options.Exposure = None,
    holdout: options.Holdout = 0.0,
    seed: options.Seed = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    id_: options.Id = None,
    label: options.Label = None,
    counts_missing: options.CountsMissing = None,
    kind: options.Kind = None,
    kinds: options.Kinds = None,
    memory: options.Memory = None,
    scheduler: options.Scheduler = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    **parameters: Any,
) -> None:
    """Find the features of the rows of a file."""
    from ribp.cli.run_folder import RunFolder
    from ribp.io.formats import is_large
    from ribp.io.input_options import OF_FLAGS, input_options, read_input

    seed = secrets.randbits(32) if seed is None else seed
    holds = input_options(counts, counts_missing, columns, exclude, label, id_, exposure)
    arguments = estimator_arguments(parameters) | {"random_state": seed}
    RunFolder(out).check_free(overwrite)
    in_parts = memory is not None or scheduler is not None or is_large(data)
    if kind or kinds or arguments["likelihood"] not in ("gaussian", "poisson"):
        from ribp.io.kind_columns import kind_options
        from ribp.kinds.choice import is_choice

        arguments["likelihood"] = kind_options(arguments["likelihood"], kind, kinds)
        holds = holds._replace(
            as_text=is_choice(arguments["likelihood"]) and not in_parts,
            flags=arguments["likelihood"] in OF_FLAGS,
        )
    file = None if in_parts else read_input(data, holds)  # a mistake in it is told at once

    from ribp import fitting
    from ribp.cli import run_steps

    source = {
        "path": str(data.resolve()), **holds._asdict(), "holdout": holdout, "seed": seed,
        "memory": memory, "scheduler": scheduler,
    }  # fmt: skip
    run = run_steps.begin(out, source, arguments, overwrite, file)
    progress = options.show_progress(json, run.model.progress)
    with (
        run_steps.guarded(run.folder),
        run_steps.withdrawn(run.folder),
        run_steps.opened(run) as rows,
    ):
        prepared = run.prepared or run.model.prepare(*rows)
        run.folder.keep()
        result = fitting.run(
            prepared,
            n_jobs=run.model.n_jobs,
            progress=progress,
            checkpoint=run.folder.checkpoints,
        )
    run_steps.finish(run, result, rows.dim_names, json)


def resume(
    run: options.Run,
    draws: Annotated[int | None, typer.Option(min=1, help="More draws than at first.")] = None,
    json: options.Json = False,
) -> None:
    """Go on with a run that was stopped, or make it longer."""
    from ribp.cli.run_folder import RunFolder

    RunFolder(run).config()  # a run that is not there is told at once

    from ribp import fitting
    from ribp.cli import run_steps
    from ribp.running.checkpoint import Checkpoint

    begun = run_steps.read_again(run)
    checkpoints, model = begun.folder.checkpoints, begun.model
    progress = options.show_progress(json, model.progress)
    with run_steps.guarded(begun.folder), run_steps.opened(begun) as rows:
        begun.folder.keep()  # of a run that was killed before it could say so
        if Checkpoint(checkpoints).exists():
            result = fitting.resume(
                checkpoints, rows.store, n_draws=draws, n_jobs=model.n_jobs, progress=progress
            )
        else:  # it was stopped before its first checkpoint
            model.set_params(n_draws=draws or model.n_draws)
            result = fitting.run(
                model.prepare(*rows),
                n_jobs=model.n_jobs,
                progress=progress,
                checkpoint=checkpoints,
            )
    run_steps.finish(begun, result, rows.dim_names, json)
