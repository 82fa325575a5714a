"""Run it: `python -m experiments.tables.run --data FOLDER`; `--quick` for a look.

Six methods on four sets, noise learned and fixed, 300 iterations each; beside noise by column also
other models (`experiments.tables.rivals`, `--others PYTHON` for MOFA+). Every run is written to
results.json when it ends, and a study that was stopped goes on where it was: first seed 0 of
everything, then seed 1. `--minutes` stops it before the next run begins.

Training: log p(X seen | Z, A, noise) of a draw, mean over the second half of the iterations; draws
of variational methods are drawn from q, so that this is the expectation under q. Held out: the log
of the density averaged over the same draws. Both per entry. Seconds are those of the processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from experiments.rivals.others import add_option
from experiments.study import Study, parse, parser
from experiments.tables import rivals
from experiments.tables.cases import HIDDEN, NAMES, POSTINGS, load
from experiments.tables.methods import (
    FIXED_FEATURES,
    FIXED_NOISE,
    METHODS,
    NO_FEATURES,
    NOISES,
    Scores,
    Starts,
    columns_only,
    run,
    task,
)
from experiments.tables.pictures import draw
from experiments.tables.text import write_tables


class Scale(NamedTuple):
    """How much is run."""

    seeds: tuple[int, int, int, int] = (5, 5, 5, 5)
    """Of each set, in the order of NAMES."""
    n_iterations: int = 300
    n_rows: int | None = None
    n_dims: int | None = None


QUICK = Scale((1, 0, 1, 1), 12, 80, 60)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    made = parser("tables")
    made.add_argument("--only", default="", help="only sets whose names begin so")
    add_option(made)
    given = parse(made, arguments)
    scale = QUICK if given.quick else Scale()
    study = Study(
        given,
        {
            **{name: value for name, value in scale._asdict().items() if name != "seeds"},
            "hidden": HIDDEN,
            "postings": POSTINGS,
            "fixed noise": FIXED_NOISE,
            "fixed features": FIXED_FEATURES,
        },
    )
    for name, noise, seed in _order(scale, given.only):
        wanted = [method for method in METHODS if study.wants(name, noise, method, seed)]
        theirs = [
            one for one in rivals.names(noise, given.others) if study.wants(name, noise, one, seed)
        ]
        if not wanted and not theirs:
            continue
        case = load(name, given.data)
        if scale.n_rows is not None and scale.n_dims is not None:
            case = case.part(scale.n_rows, scale.n_dims)
        starts = Starts(task(case, noise, seed))
        if study.wants(name, NO_FEATURES, seed):
            score = columns_only(starts.task)
            study.add(name, NO_FEATURES, seed, numbers={"held_out": score}, seconds=0.0)
        for method in wanted:
            if study.wants(name, noise, method, seed):
                _add(study, (name, noise, method, seed), run(starts, method, scale.n_iterations))
        for method in theirs:
            if study.wants(name, noise, method, seed):
                found = rivals.run(method, starts.task, given.others)
                _add(study, (name, noise, method, seed), found)
    write_tables(given.out / "tables.md", study)
    draw(given.out / "scores.png", study)


def _add(study: Study, parts: tuple[str | int, ...], found: Scores) -> None:
    numbers = found._asdict()
    seconds = numbers.pop("seconds")
    study.add(*parts, numbers=numbers, seconds=seconds)


def _order(scale: Scale, only: str) -> Iterator[tuple[str, str, int]]:
    """Yield sets, noises and seeds, the first seed of everything first; by column chords only."""
    for seed in range(max(scale.seeds)):
        for noise in NOISES:
            for name, n_seeds in zip(NAMES, scale.seeds, strict=True):
                known = noise != "by column" or name.startswith("chord")
                if known and seed < n_seeds and name.startswith(only):
                    yield name, noise, seed


if __name__ == "__main__":
    main()
