"""`ribp simulate`: rows from the prior, written to a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ribp.cli.show import print_json, say
from ribp.counts import parse
from ribp.io.write_files import check_target, write_table
from ribp.measures import BetaProcess
from ribp.prior.simulation import simulate as draw_rows

__all__ = ["simulate"]


def simulate(
    out: Path,
    *,
    n_rows: int,
    counts: str,
    mass: float,
    concentration: float,
    discount: float,
    method: str,
    seed: int | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Draw rows and write them; columns are features in order of first appearance."""
    check_target(out, overwrite)
    measure = BetaProcess(mass, concentration, discount)
    rng = np.random.default_rng(seed)
    draw = draw_rows(rng, n_rows=n_rows, counts=parse(counts), measure=measure, method=method)
    names = [f"feature{at}" for at in range(draw.rows.shape[1])]
    write_table(out, draw.rows, dim_names=names, overwrite=overwrite)
    if as_json:
        print_json(
            {
                "out": str(out),
                "rows": n_rows,
                "features": draw.rows.shape[1],
                "tv_bound_row": draw.tv_bound_row,
            }
        )
    else:
        say(f"{n_rows} rows, {draw.rows.shape[1]} features: {out}")
