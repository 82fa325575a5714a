"""`ribp simulate`: rows from the prior, written to a file."""

from __future__ import annotations

from typing import Annotated

import typer

from ribp.cli import options


def simulate(
    out: options.OutTable,
    rows: Annotated[int, typer.Option(min=1, help="Number of rows.")],
    counts: Annotated[str, typer.Option(help="A law such as exactly(3) or poisson(2).")],
    mass: Annotated[float, typer.Option(help="alpha of the beta process.")] = 5.0,
    concentration: Annotated[float, typer.Option(help="c of the beta process.")] = 1.0,
    discount: Annotated[float, typer.Option(help="s of the beta process.")] = 0.0,
    method: Annotated[
        str, typer.Option(help="inclusion, esscher, rejection, collapsed or lazy.")
    ] = "inclusion",
    seed: options.Seed = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Draw rows from the prior."""
    import numpy as np

    import ribp
    from ribp.cli.feature_file import write_features
    from ribp.io.write_files import check_target

    check_target(out, overwrite)
    draw = ribp.simulate(
        np.random.default_rng(seed),
        n_rows=rows,
        counts=ribp.counts.parse(counts),
        measure=ribp.BetaProcess(mass, concentration, discount),
        method=method,
    )
    bound = draw.tv_bound_row
    write_features(out, draw.rows, overwrite=overwrite, as_json=json, tv_bound_row=bound)
