"""Run it: `python -m experiments.kinds.run --data FOLDER --others PYTHON`; `--quick` for a look.

Two questions. Are features found that made a table, whatever its kinds
(`experiments.kinds.recovered`)? And how well are hidden entries of real tables predicted, beside
other models (`experiments.kinds.held_out`)?
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from experiments.kinds import held_out, real_tables, recovered
from experiments.kinds.real_tables import Table
from experiments.kinds.simulated import DESIGNS, FEATURES, simulated
from experiments.rivals.others import add_option
from experiments.shared import table, write_text
from experiments.study import Study, compared, median, parse, parser


class Scale(NamedTuple):
    """How much is run."""

    seeds: tuple[int, ...] = (100, 101, 102, 103, 104)
    n_rows: int = 600
    n_columns: int = 60
    sweeps: int | None = None
    """Of a simulated table; None for the usual number."""
    real_seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    real_sweeps: int = 100


QUICK = Scale((100,), 60, 12, 10, (1,), 5)
_QUICK_ROWS = 100
"""Of a real table."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    options = parser("kinds")
    add_option(options)
    options.add_argument("--part", choices=("simulated", "real"), help="run one part only")
    given = parse(options, arguments)
    scale = QUICK if given.quick else Scale()
    study = Study(given, scale._asdict())
    if given.part != "real":
        for seed in scale.seeds:
            for name in DESIGNS:
                _recover(study, name, seed, scale)
    if given.part != "simulated":
        tables = real_tables.load(given.data, given.others)
        if given.quick:
            tables = {
                name: Table(one.values[:_QUICK_ROWS], one.kinds) for name, one in tables.items()
            }
        for seed in scale.real_seeds:
            for name in tables:
                _hold_out(study, name, tables[name], seed, scale)
    write_text(given.out / "recovered.md", _recovered(study))
    write_text(given.out / "held-out.md", _held_out(study))


def _hold_out(study: Study, name: str, table: Table, seed: int, scale: Scale) -> None:
    others, where = study.options.others, held_out.hidden(table, seed)
    for method in held_out.methods(table, others):
        if study.wants(name, method, seed):
            began = time.process_time()
            numbers = held_out.score(method, table, where, seed, scale.real_sweeps, others)
            study.add(name, method, seed, numbers=numbers, seconds=time.process_time() - began)


def _recover(study: Study, name: str, seed: int, scale: Scale) -> None:
    made = simulated(name, seed, scale.n_rows, scale.n_columns)
    for fit in recovered.fits(made.kinds):
        if study.wants(name, fit, seed):
            began = time.process_time()
            numbers = recovered.FITS[fit](made, seed, scale.sweeps)
            study.add(name, fit, seed, numbers=numbers, seconds=time.process_time() - began)


def _recovered(study: Study) -> list[str]:
    """Return the table of what was found."""
    rows = []
    for name in DESIGNS:
        for fit in recovered.FITS:
            scores, used = (study.values(name, fit, of=one) for one in ("f1", "used"))
            if not scores.size:
                continue
            right = f"{int((used == FEATURES).sum())} of {used.size}"
            least = f"{scores.min():.4f}"
            of = ("in some row", "rows of the largest spare feature")
            cells = [median(study.values(name, fit, of=one), 2) for one in of]
            seconds = median(study.values(name, fit, of="seconds"), 0)
            rows.append([name, fit, median(scores, 4), least, right, *cells, seconds])
    columns = [
        "table", "chain", "F1", "least F1", "8 features used", "in some row of a draw",
        "rows of the largest spare feature", "processor seconds",
    ]  # fmt: skip
    return table(columns, rows)


def _held_out(study: Study) -> list[str]:
    """Return the table of mean log densities, compared seed by seed."""
    rows = []
    for name in real_tables.NAMES:
        scores = {one: study.by_seed(name, one, of="held out") for one in held_out.METHODS}
        alone, ours = scores[held_out.ALONE], scores[held_out.LEARNED]
        for method, those in scores.items():
            if not those:
                continue
            better = sum(those[seed] > alone[seed] for seed in those)
            gains = (compared(those, alone, 4), f"{better} of {len(those)}")
            less = "" if method == held_out.LEARNED else compared(ours, those, 4)
            rows.append([
                name, method, median(study.values(name, method, of="held out")),
                *(("", "") if method == held_out.ALONE else gains), less,
                median(study.values(name, method, of="features"), 1),
            ])  # fmt: skip
    columns = [
        "table", "model", "log density of an entry", "less that of columns alone",
        "better than columns alone", f"{held_out.LEARNED}, less it", "features in use",
    ]  # fmt: skip
    return table(columns, rows)


if __name__ == "__main__":
    main()
