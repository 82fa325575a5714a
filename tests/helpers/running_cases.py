"""Small runs of every sampler, for tests of running, checkpoints and results."""

import numpy as np

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import with_missing
from ribp.model import Model
from ribp.rows.local import in_memory
from ribp.running.chain import Plan, new_chains
from ribp.running.progress import Progress
from ribp.running.run import run_chains
from ribp.running.samplers import sampler, searches
from ribp.search.pool import Search, settle

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
        sampler(method, model), in_memory(data), plan, chains, starts(method, model, data, plan),
        n_jobs=n_jobs, progress=progress or Progress(plan.n_chains), checkpoint=checkpoint,
    )  # fmt: skip
    return chains, ended


def starts(method, model, data, plan):
    """Return where the chains begin."""
    n_chains = plan.n_chains if searches(method) else 0
    return settle(Search(model, data, np.arange(ROWS), plan.seed, n_chains)).pool


def read_back(folder, name, plan):
    """Return the chains of a run that a checkpoint holds."""
    method, model, _ = case(name)
    chains = new_chains(plan)
    for chain in chains:
        folder.read(chain, sampler(method, model))
    return chains


def save_often(monkeypatch, sweeps=1):
    """Write a checkpoint every few sweeps, however short they are."""
    monkeypatch.setattr("ribp.running.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("ribp.running.run.CHECKPOINT_SWEEPS", sweeps)


SHORT = Plan(n_chains=2, n_warmup=6, n_draws=7, thin=3, seed=(3, 4))


class Heard(Progress):
    """Keeps what was said."""

    def __init__(self, n_chains):
        super().__init__(n_chains)
        self.said = []

    def say(self, text):
        self.said.append(text)
