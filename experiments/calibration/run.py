"""Run it: `python -m experiments.calibration.run`; `--quick` for a look.

Two tests of every sampler that claims draws of the posterior, on models small enough for thousands
of replicates (`experiments.calibration.trials`):

- *joint*: state and data are drawn from the model, the state is updated once given the data, and
  must then have the law it had (`ribp.testing.geweke`). Exact for every sampler, whether it mixes
  or not. The p-value of a statistic is that of its mean change.
- *calibration*: a chain from the prior is run on drawn data, and the truth must be one draw among
  the others (`ribp.testing.calibration`): its ranks are uniform. Three p-values for each number:
  centre, width, uniformity.

The least of n p-values is about 1/n if all is right: the table says which it is, and what was
expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from experiments.calibration.picture import rank_picture
from experiments.calibration.trials import Joint, joint_trials
from experiments.shared import save, table, write_text
from experiments.study import Study, parse, parser
from ribp.testing.calibration import chain_fit, p_values_of_ranks, ranks
from tests.helpers.calibration_cases import RANKED, ranked_trial

Key = tuple[str, str, str, str]  # test, sampler, law, name

SEED, DRAWS = 0, 19  # ranks 0 .. 19 are twenty bins


class Scale(NamedTuple):
    """How much is run."""

    joint: int = 5000
    """Replicates of a joint test."""
    ranked: int = 400
    """Replicates of a calibration."""


QUICK = Scale(40, 4)  # one model of each sampler and law


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    given = parse(parser("calibration", data=False), arguments)
    scale = QUICK if given.quick else Scale()
    study = Study(given, scale._asdict())
    works: dict[Key, Callable[[Scale], dict[str, Any]]] = {
        ("joint", *one[:3]): partial(_joint, one) for one in joint_trials()
    }
    works |= {("ranks", *name): partial(_ranks, name) for name in RANKED}
    for key in _first_of_each(works) if given.quick else works:
        if study.wants(*key, SEED):
            began = time.process_time()
            numbers = works[key](scale)
            study.add(*key, SEED, numbers=numbers, seconds=time.process_time() - began)
    _write(given.out, study, len(works))


def _first_of_each(keys: Iterable[Key]) -> list[Key]:
    """Return one model of each test, sampler and law."""
    return list({key[:3]: key for key in reversed(list(keys))}.values())[::-1]


def _joint(asked: Joint, scale: Scale) -> dict[str, Any]:
    found = asked.trial.one_sweep(scale.joint, SEED)
    return {"p": {name: float(f"{p:.3g}") for name, p in found.items()}}


def _ranks(name: tuple[str, str, str], scale: Scale) -> dict[str, Any]:
    """Return how often the truth had each rank, by name of what was ranked."""
    trial, thin = ranked_trial(*name)
    fit = chain_fit(trial.start, trial.update, n_warmup=3 * thin, n_thin=thin)
    found = ranks(
        trial.simulate, fit, trial.statistics, n_replicates=scale.ranked, n_draws=DRAWS, seed=SEED
    )
    return {"bins": {name: np.bincount(found[name], minlength=DRAWS + 1) for name in found}}


def _p_values(numbers: dict[str, Any]) -> dict[str, float]:
    """Return the p-values of a joint test, or of ranks that were seen so often each."""
    if "p" in numbers:
        return dict(numbers["p"])
    every = np.arange(DRAWS + 1)
    return {
        f"{name}, {test}": p
        for name, bins in numbers["bins"].items()
        for test, p in p_values_of_ranks(np.repeat(every, bins), DRAWS).items()
    }


def _write(folder: Any, study: Study, n_tests: int) -> None:
    rows: dict[tuple[str, str, str], list[tuple[str, str, float]]] = {}
    panels = {}
    for key, numbers in study.numbers.items():
        test, sampler, law, name, _ = key.split(" | ")
        found = [(name, what, p) for what, p in _p_values(numbers).items()]
        rows.setdefault((sampler, law, test), []).extend(found)
        if test == "ranks":
            panels[f"{sampler}: {law}\n{name}"] = numbers["bins"]
    lines = table(
        ["sampler", "data or entries", "test", "models", "numbers", "least p", "expected"],
        [_line(*key, found) for key, found in sorted(rows.items())],
    )
    every = [one for found in rows.values() for one in found]
    name, what, least = min(every, key=lambda one: one[2])
    low, high = stats.beta(1, len(every)).ppf([0.05, 0.95])
    lines += [
        f"Of all {len(every)} numbers the least p is {least:.1e} ({name}: {what}). Of so many "
        f"right ones it would be about {1 / (len(every) + 1):.1e}, with probability .9 between "
        f"{low:.1e} and {high:.1e}."
    ]
    if len(study.numbers) < n_tests:
        lines += ["", f"{len(study.numbers)} of {n_tests} tests have been run so far."]
    write_text(folder / "table.md", lines)
    if panels:
        in_order = {title: panels[title] for title in sorted(panels)}
        save(rank_picture(in_order), folder / "ranks.png", colours=48)


def _line(sampler: str, law: str, test: str, found: list[tuple[str, str, float]]) -> list[str]:
    name, what, least = min(found, key=lambda one: one[2])
    n_models = len({one[0] for one in found})
    expected = 1 / (len(found) + 1)
    return [
        sampler, law, test, str(n_models), str(len(found)), f"{least:.1e} ({name}: {what})",
        f"{expected:.1e}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
