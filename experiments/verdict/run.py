"""Run it: `python -m experiments.verdict.run`; `--quick` for a look.

Short fits (two chains, 150 sweeps thrown away and 150 kept in each) of data that the model fits and
of data that it does not; what the verdict says of each.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from experiments.shared import parse, table, write_results, write_text
from experiments.verdict.cases import MISFITS, Case, misfit, well
from ribp import counts
from ribp.fitting import fit
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.moments import moments
from ribp.likelihoods.units import Units
from ribp.likelihoods.validation import as_data
from ribp.model import Model

SWEEPS = 150
TUNED, FRESH, SEEDS = range(1000, 1030), range(100), range(10)
"""Seeds of data that the model fits, looked at while thresholds were chosen, and not; misfits."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    given = parse("verdict", arguments)
    sweeps = 20 if given.quick else SWEEPS
    runs = {"well fitted, seeds tuned on": (well, TUNED), "well fitted, fresh seeds": (well, FRESH)}
    runs |= {name: (partial(misfit, name), SEEDS) for name in MISFITS}
    numbers: dict[str, dict[str, Any]] = {}
    seconds: dict[str, float] = {}
    for name, (make, seeds) in runs.items():
        began = time.perf_counter()
        chosen = seeds[:1] if given.quick else seeds
        numbers[name] = {str(seed): judged(make(seed), seed, sweeps) for seed in chosen}
        seconds[name] = time.perf_counter() - began
        write_results(
            given,
            seeds=[TUNED[0], FRESH[0], SEEDS[0]],
            setting={"sweeps": sweeps},
            numbers=numbers,
            timing={"minutes": sum(seconds.values()) / 60, "seconds": seconds},
        )
    for file, lines in tables(numbers).items():
        write_text(given.out / file, lines)


def judged(case: Case, seed: int, sweeps: int) -> dict[str, Any]:
    """Return the three levels of a fit, and what was found."""
    laws, data = counts.as_row_counts(case.counts, len(case.data)), as_data(case.data)
    likelihood = case.likelihood
    if isinstance(likelihood, LinearGaussian):  # as the estimators do
        likelihood = replace(likelihood, units=Units.of(moments(data), shared=likelihood.shared))
    result = fit(
        Model(laws, case.max_features, likelihood), data, case.method,
        n_chains=2, n_warmup=sweeps, n_draws=sweeps, seed=seed, n_jobs=1, progress=False,
    )  # fmt: skip
    found, judgement = result.summary().verdict, result.judgement
    assert judgement is not None
    levels = {name: part.level for name, part in found.parts.items()}
    return levels | {
        "reasons": [reason.code for reason in found.fits.reasons],
        "lowest": min((one.p_value for one in judgement.checks.values()), default=None),
        "gain": None if judgement.gain is None else judgement.gain.mean,
    }


def tables(numbers: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the table of levels."""
    rows = []
    for name, runs in numbers.items():
        fits = [one["fits"] for one in runs.values()]
        worth = [one["worth"] for one in runs.values()]
        caught = sum(one["fits"] != "good" or one["worth"] != "good" for one in runs.values())
        rows.append([
            name, str(len(runs)), *(str(fits.count(level)) for level in ("good", "careful", "bad")),
            str(sum(level != "good" for level in worth)), f"{caught} of {len(runs)}",
        ])  # fmt: skip
    head = (
        "data", "fits", "the model fits", "careful", "does not fit", "not shown to be worth it",
        "caught, or alarmed",
    )  # fmt: skip
    return {"table.md": table(head, rows)}


if __name__ == "__main__":
    main()
