"""What a run will take, before it is begun: seconds from a timed sweep, bytes from shapes."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ribp.draws import record_features
from ribp.likelihoods.base import Data
from ribp.running.chain import Plan
from ribp.running.progress import duration
from ribp.running.samplers import Sampler
from ribp.threads import one_blas_thread

__all__ = ["Estimate", "estimate", "thinning"]

BUDGET = 10**8
"""Bytes for features and rows of all kept draws, unless that would keep too few."""
_LEAST_KEPT = 20
_USUAL_FEATURES = 30  # where there is no limit
_TRIAL_SECONDS = 0.2
_SEARCH_SWEEPS = 700  # of a search, on at most _SEARCH_ROWS rows
_SEARCH_ROWS = 2000


class Estimate(NamedTuple):
    """What a run will take, about."""

    seconds: float
    n_bytes: float
    sweep_seconds: float

    def __str__(self) -> str:
        size = (
            f"{max(self.n_bytes / 1e6, 1):.0f} MB"
            if self.n_bytes < 1e9
            else (f"{self.n_bytes / 1e9:.1f} GB")
        )
        return f"about {duration(self.seconds)}, {size} of memory"


def kept_bytes(n_rows: int, n_features: int, n_dims: int) -> int:
    """Return how large a kept draw is."""
    return n_rows * -(-n_features // 8) + 8 * (n_features + 1) * (n_dims + 1)


def thinning(plan: Plan, model: Any, shape: tuple[int, ...]) -> int:
    """Return the least thinning for which kept draws are not too large, or too few."""
    n_features = getattr(model, "n_features", _USUAL_FEATURES)
    whole = plan.n_chains * plan.n_draws * kept_bytes(shape[0], n_features, shape[1])
    return max(1, min(-(-whole // BUDGET), plan.n_draws // _LEAST_KEPT))


def estimate(sampler: Sampler, data: Data, plan: Plan, n_jobs: int) -> Estimate:
    """Time a sweep or two from a draw of the prior, and add up."""
    rng = np.random.default_rng(0)
    times: list[float] = []
    with one_blas_thread():
        state = sampler.trial(rng, data)
        state, _ = sampler.sweep(rng, np.uint64(0), state, data)  # compiled code is loaded
        while not times or (sum(times) < _TRIAL_SECONDS and len(times) < 5):
            began = time.perf_counter()
            state, _ = sampler.sweep(rng, np.uint64(0), state, data)
            times.append(time.perf_counter() - began)
    sweep = min(times)
    search = _SEARCH_SWEEPS * min(1.0, _SEARCH_ROWS / data.shape[0]) + 50
    rounds = -(-plan.n_chains // n_jobs)
    draw = sum(
        np.asarray(part).nbytes for part in record_features(sampler.shown(state), 0).values()
    )
    kept = 2 * plan.n_chains * -(-plan.n_draws // plan.thin) * draw
    running = min(n_jobs, plan.n_chains) * (2 * data.nbytes + 3 * draw)
    n_bytes = data.nbytes + kept + running
    return Estimate(rounds * (plan.n_sweeps + search) * sweep, float(n_bytes), sweep)
