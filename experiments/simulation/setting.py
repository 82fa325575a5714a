"""What the study compares, and how much of it is run.

The paper's setting: a beta process with mass 5, rows with exactly J = 2, 5 or 8 features, 25 draws
of 100 rows from each sampler, truncated ones at 40 features. Every random number comes from the
seed and the place it is used at, so one part can be run again without the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import ribp
from ribp.measures import Truncation
from ribp.prior.draw import Draw

MASS = 5.0
MEASURE = ribp.BetaProcess(mass=MASS)
COUNTS = (2, 5, 8)
N_ROWS = 100
OURS = "certified"


@dataclass(frozen=True)
class Sampler:
    """A method of `ribp.simulate`, its truncation, and the name it has in the pictures."""

    label: str
    method: str
    truncation: Truncation | None = None

    def draw(
        self, rng: np.random.Generator, count: int, max_proposals: int, n_rows: int = N_ROWS
    ) -> Draw:
        """Draw rows with exactly `count` features each."""
        return ribp.simulate(
            rng,
            n_rows=n_rows,
            counts=f"exactly({count})",
            measure=MEASURE,
            method=self.method,
            truncation=self.truncation,
            max_proposals=max_proposals,
        )


SAMPLERS = {
    "collapsed": Sampler("collapsed (exact)", "collapsed"),
    "lazy": Sampler("lazy (exact)", "lazy"),
    "rejection": Sampler("rejection, 40 features", "rejection", ribp.SizeOrdered(40)),
    "esscher": Sampler("tilted rejection, 40 features", "esscher", ribp.SizeOrdered(40)),
    "inclusion": Sampler("inclusion, 40 features", "inclusion", ribp.SizeOrdered(40)),
    OURS: Sampler("inclusion, certified to $10^{-12}$", "inclusion", ribp.Certified(1e-12)),
}


@dataclass(frozen=True)
class Scale:
    """How much is run."""

    n_draws: int = 25
    max_proposals: int = 10**6
    n_long: int = 10
    n_approximate: int = 1000
    n_exact: int = 400
    n_measures: int = 20
    n_tails: int = 400


QUICK = Scale(
    n_draws=3,
    max_proposals=10**5,
    n_long=1,
    n_approximate=6,
    n_exact=3,
    n_measures=2,
    n_tails=40,
)


def generator(seed: int, *place: int) -> np.random.Generator:
    """Return the random numbers of one place in the study."""
    return np.random.default_rng([seed, *place])
