"""One run: the search of a default fit, a chain from its best start, a chain from the truth."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from experiments.recovery.cases import Case
from ribp.checks import FloatArray
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data
from ribp.likelihoods.moments import moments
from ribp.likelihoods.units import Units
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search import capacity, pool
from ribp.testing.recovery import f1, feature_f1
from ribp.threads import one_blas_thread

N_CHAINS = 4
RIGHT = 0.95
_KEY = 77


class Sweeps(NamedTuple):
    """How long chains are."""

    warmup: int = 100
    truth_warmup: int = 50
    draws: int = 50


class Found(NamedTuple):
    """What a search and a chain from its best start found."""

    f1: float
    truth_f1: float
    """Of the chain that begins at the truth."""
    features: int
    """Of which some row has each in more than half of the draws."""
    true_features: int
    right: int
    """True features whose rows were found: F1 of at least 0.95."""
    log_joint: float
    truth_log_joint: float
    n_best: int
    n_made: int
    noise: float
    """Median over columns of the mean noise scale, in the units of the data."""


class Means(NamedTuple):
    """Means along a chain."""

    rows: FloatArray
    log_joint: float
    noise: FloatArray


class Searched(NamedTuple):
    """A search that is over."""

    model: Model
    data: Data
    """In standard units."""
    starts: pool.Pool
    seconds: float
    """Of the processor."""


def search(case: Case, seed: int, noise_variance: float = 1.0) -> Searched:
    """Run the search of a default fit."""
    data = as_data(case.data)
    likelihood = LinearGaussian(
        background=case.background,
        units=Units.of(moments(data)),
        noise_variance=noise_variance,
    )
    size = case.max_features or capacity.first_guess(case.counts)
    asked = pool.Search(
        Model(case.counts, size, likelihood), data, np.arange(len(data.values)), (seed, _KEY),
        N_CHAINS, grow=case.max_features is None,
    )  # fmt: skip
    began = time.process_time()
    model, _, starts = pool.settle(asked)
    seconds = time.process_time() - began
    return Searched(model, model.likelihood.standard(data), starts, seconds)


def run(case: Case, seed: int, sweeps: Sweeps, noise_variance: float = 1.0) -> tuple[Found, float]:
    """Return what was found, and the processor seconds of the search."""
    model, data, starts, seconds = search(case, seed, noise_variance)
    rng = np.random.default_rng([seed, _KEY])
    with one_blas_thread():
        first = pool.from_rows(rng, model, data, starts.starts[0].rows)
        found = _means(rng, model, first, data, sweeps.warmup, sweeps.draws)
        more = max(model.n_features - case.rows.shape[1], 0)
        used = case.rows if more else case.rows[:, case.rows.any(axis=0)]
        truth = np.pad(used, ((0, 0), (0, model.n_features - used.shape[1])))
        at_truth = pool.from_rows(rng, model, data, np.ascontiguousarray(truth))
        kept = _means(rng, model, at_truth, data, sweeps.truth_warmup, sweeps.draws)
    on = found.rows > 0.5
    return Found(
        f1(on, case.rows), f1(kept.rows > 0.5, case.rows), int(on.any(axis=0).sum()),
        int(case.rows.any(axis=0).sum()), int((feature_f1(on, case.rows) >= RIGHT).sum()),
        found.log_joint, kept.log_joint, int(starts.reached.n_best), starts.reached.n_starts,
        float(np.median(found.noise)),
    ), seconds  # fmt: skip


def _means(
    rng: np.random.Generator, model: Model, state: State, data: Data, n_warmup: int, n_draws: int
) -> Means:
    seed = kernel_seed(rng)
    for _ in range(n_warmup):
        state, _ = gibbs.update(rng, seed, state, model, data)
    rows, total, noise = np.zeros(state.rows.shape), 0.0, np.zeros(data.shape[1])
    for _ in range(n_draws):
        state, info = gibbs.update(rng, seed, state, model, data)
        rows += state.rows / n_draws
        total += info.log_joint / n_draws
        given: Any = model.likelihood.reported(state.parameters)
        noise += given.noise_scale / n_draws
    return Means(rows, total, noise)
