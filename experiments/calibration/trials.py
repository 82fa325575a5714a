"""Small models that meet every option of every sampler which claims draws of the posterior.

They are those of the test suite, put together by what a reader would look for: the sampler, and the
law of data or entries. A trial draws states and data, updates a state given data, and has numbers
of finite variance that see all of it; its `start` is where a chain begins, which knows nothing of
the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from ribp.mcmc import gibbs, gibbs_rows
from tests.helpers import buffet_trials as buffets
from tests.helpers import gibbs_cases as cases

FORGETS = 8
"""Sweeps after which most of what is looked at is correlated by less than a tenth."""


class Asked(NamedTuple):
    """A model under a sampler."""

    sampler: str
    law: str
    """Of data, or of entries."""
    name: str
    trial: Any
    ranked: Any = None
    """The trial whose chains are calibrated; None if only the joint test is made."""
    thin: int = FORGETS
    """Sweeps from draw to draw of these chains."""


def asked_for(some: int) -> Iterator[Asked]:
    """Yield all, or so many of each sampler and law; those with calibration first."""
    for _, group in groupby(_every(), key=lambda one: one[:2]):
        yield from sorted(group, key=lambda one: one.ranked is None)[:some]


def _every() -> Iterator[Asked]:
    gaussian = ["fixed scales", "gap, missing", "noise per column", "shared noise"]
    counts = ["counts", "counts, background"]
    rows = gibbs_rows.update_in_memory
    yield from _of_cases("gibbs", "Gaussian", gibbs.update, cases.GAUSSIAN, gaussian)
    yield from _of_cases("gibbs-rows", "Gaussian", rows, cases.GAUSSIAN, gaussian)
    yield from _of_cases("gibbs-rows", "Poisson", rows, cases.POISSON, counts)
    yield from _of_cases("gibbs-rows", "known features", rows, cases.KNOWN, ["known"])
    yield from _augmented()
    for mass, name in ((None, "mass learned"), (1.2, "mass known")):
        trial = buffets.BuffetTrial(mass=mass)
        yield Asked("IndianBuffet", "Gaussian", name, trial, trial if mass else None)


def _of_cases(
    sampler: str, law: str, update: Any, found: dict[str, cases.Case], ranked: list[str]
) -> Iterator[Asked]:
    """Yield cases under a sampler. Calibrated ones have a fixed mass: it is slow to forget."""
    for name, case in found.items():
        fixed = cases.Trial((replace(case.model, mass=1.2), case.missing), update)
        trial = cases.Trial(case, update)
        yield Asked(sampler, law, name, trial, fixed if name in ranked else None)


def _augmented() -> Iterator[Asked]:
    laws = {"laws of all kinds": buffets.MIXED, "few": buffets.FEW, "a hole": buffets.HOLE}
    for name, law in laws.items():
        trial = buffets.AugmentedTrial(buffets.augmented_sweep(learn_mass=False), law)
        yield Asked("augmented", "Gaussian", name, trial, trial)
    learned = buffets.AugmentedTrial(buffets.augmented_sweep(learn_mass=True), buffets.FEW, None)
    yield Asked("augmented", "Gaussian", "mass learned", learned)
