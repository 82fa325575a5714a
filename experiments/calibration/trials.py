"""Small models that meet every option of every sampler which claims draws of the posterior.

They are those of the test suite, put together by what a reader would look for: the sampler, and the
law of data or entries. A trial draws states and data, updates a state given data, and has numbers
of finite variance that see all of it; its `start` is where a chain begins, which knows nothing of
the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ribp.mcmc import gibbs, gibbs_rows
from tests.helpers import buffet_trials as buffets
from tests.helpers import entry_cases as entries
from tests.helpers import gibbs_cases as cases
from tests.helpers import kind_cases as kinds


class Joint(NamedTuple):
    """A model whose joint law a sampler must keep."""

    sampler: str
    law: str
    """Of data, or of entries."""
    name: str
    trial: Any


def joint_trials() -> Iterator[Joint]:
    """Yield all of them."""
    rows = gibbs_rows.update_in_memory
    for name, case in cases.GAUSSIAN.items():
        yield Joint("gibbs", "Gaussian", name, cases.Trial(case, gibbs.update))
    for law, found, trial in (
        ("Gaussian", cases.GAUSSIAN, cases.Trial),
        ("Poisson", cases.POISSON, cases.Trial),
        ("known features", cases.KNOWN, cases.Trial),
        ("strengths", entries.STRENGTHS, cases.Trial),
        ("multiplicities", entries.MULTIPLICITIES, cases.Trial),
        ("counts with exposures", entries.EXPOSED, entries.Exposed),
        ("counts, exposures learned", entries.LEARNING, entries.Learning),
        ("noisy-OR", entries.NOISY_OR, cases.Trial),
    ):
        for name, case in found.items():
            yield Joint("gibbs-rows", law, name, trial(case, rows))
    for name in kinds.TABLES:
        yield Joint("gibbs-rows", "columns of kinds", name, kinds.joint(name))
    for learn, laws in ((False, buffets.MIXED), (True, buffets.FEW)):
        step, mass = buffets.augmented_sweep(learn_mass=learn), None if learn else 2.0
        made = buffets.AugmentedTrial(step, laws, mass)
        yield Joint("augmented", "Gaussian", f"mass {'learned' if learn else 'known'}", made)
    yield Joint("IndianBuffet", "Gaussian", "mass learned", buffets.BuffetTrial())
