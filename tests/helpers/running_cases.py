"""Small runs of every sampler, for tests of running, checkpoints and results."""

import numpy as np

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.base import with_missing
from ribp.model import Model
from ribp.running.chain import Plan, new_chains
from ribp.running.progress import Progress
from ribp.running.run import run_chains
from ribp.running.samplers import sampler

ROWS, DIMS = 30, 6
LEARNED = counts.by_group(
    {"a": counts.learned([0.0, 1.0, 1.0]), "b": counts.table([0, 0.5, 0, 0.5])},
    list("ab") * (ROWS // 2),
)
FINITE = FiniteBuffetModel(ROWS, 5, LinearGaussian())
EXACT = counts.as_row_counts(np.arange(ROWS) % 2 + 1, ROWS)


def values(poisson=False, missing=0.0):
    rng = np.random.default_rng(5)
    rows = np.eye(4)[rng.integers(4, size=ROWS)]
    if poisson:
        data = rng.poisson(rows @ rng.gamma(2.0, 3.0, (4, DIMS)) + 0.5).astype(float)
    else:
        data = rows @ rng.normal(0, 2, (4, DIMS)) + 0.3 * rng.normal(size=(ROWS, DIMS))
    return np.where(rng.random(data.shape) < missing, np.nan, data)


def case(name):
    """Return method, model and data."""
    full, holes = with_missing(values()), with_missing(values(missing=0.2))
    return {
        "gibbs": ("gibbs", Model(EXACT, 6, LinearGaussian()), full),
        "gibbs, learned": (
            "gibbs",
            Model(LEARNED, 6, LinearGaussian(shared=True, background=True), concentration=None),
            holes,
        ),
        "gibbs-rows": ("gibbs-rows", Model(EXACT, 6, LinearGaussian(background=True)), holes),
        "poisson": (
            "gibbs-rows",
            Model(LEARNED, 6, PoissonCounts(background=True)),
            with_missing(values(poisson=True, missing=0.1)),
        ),
        "augmented": ("augmented", Model(EXACT, 8, LinearGaussian(), mass=2.0), full),
        "buffet": ("buffet", BuffetModel(ROWS, LinearGaussian()), holes),
        "structured": ("structured", Model(LEARNED, 6, LinearGaussian(background=True)), holes),
        "stochastic": ("stochastic", Model(LEARNED, 6, LinearGaussian(background=True)), holes),
        "hybrid": ("hybrid", Model(EXACT, 6, LinearGaussian()), full),
        "buffet-variational": ("buffet-variational", FINITE, holes),
        "buffet-hybrid": ("buffet-hybrid", FINITE, full),
    }[name]


SAMPLED = ["gibbs", "gibbs, learned", "gibbs-rows", "poisson", "augmented", "buffet"]
NAMES = [*SAMPLED, "structured", "stochastic", "hybrid", "buffet-variational", "buffet-hybrid"]


def run(name, plan, chains=None, checkpoint=None, n_jobs=2, progress=None):
    """Run chains and return them, and how it ended."""
    method, model, data = case(name)
    chains = new_chains(plan) if chains is None else chains
    ended = run_chains(
        sampler(method, model, n_starts=1), data, plan, chains, n_jobs=n_jobs,
        progress=progress or Progress(plan.n_chains), checkpoint=checkpoint,
    )  # fmt: skip
    return chains, ended


SHORT = Plan(n_chains=2, n_warmup=6, n_draws=7, thin=3, seed=(3, 4))


def assert_same_draws(first, second):
    """Assert that two chains recorded the same, bit for bit."""
    for one, other in zip(first.draws, second.draws, strict=True):
        assert len(one) == len(other)
        for here, there in zip(one, other, strict=True):
            assert here.keys() == there.keys()
            for key in here:
                np.testing.assert_array_equal(here[key], there[key])
                assert np.asarray(here[key]).dtype == np.asarray(there[key]).dtype
