"""What a run will take, before it is begun: seconds from a timed sweep, bytes from shapes."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ribp.rows.store import RowStore
from ribp.running.chain import Plan
from ribp.running.progress import duration
from ribp.running.samplers import Sampler
from ribp.threads import one_blas_thread

BUDGET = 10**8
"""Bytes for features and rows of all stored draws, unless that would leave too few."""
_LEAST_STORED = 20  # draws of a chain, however large
_LEAST_OF_A_FILE = 3  # if the data are not in memory either
_USUAL_FEATURES = 30  # where there is no limit
_TRIAL_SECONDS = 0.2
_FIRST_SWEEPS = 50  # what it takes to begin a chain, about; the search is over by then


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


def draw_bytes(n_rows: int, n_features: int, n_dims: int, n_bytes: int = 0) -> int:
    """Return how large a stored draw is, `n_bytes` those of what else a row has."""
    return n_rows * (-(-n_features // 8) + n_bytes) + 8 * (n_features + 1) * (n_dims + 1)


def _size_bytes(model: Any, n_features: int) -> int:
    """Return about how many bytes sizes and learned exposure of a row take; 0 without them."""
    own = 4 if model.likelihood.exposure == "learn" else 0
    if model.likelihood.entries == "binary":
        return own
    most = [n_features if law.largest is None else law.largest for law in model.counts.laws]
    return own + int(model.sizes_type.itemsize) * min(max(most), n_features)


def _n_components(model: Any, n_dims: int) -> int:
    """Return how many numbers a feature has: one a column, or one a latent column."""
    latent = model.likelihood.latent_names(range(n_dims))
    return n_dims if latent is None else len(latent)


def thinning(plan: Plan, model: Any, store: RowStore) -> int:
    """Return the least thinning for which stored draws are not too large, or too few."""
    n_features = getattr(model, "n_features", _USUAL_FEATURES)
    width = _n_components(model, store.shape[1])
    draw = draw_bytes(store.shape[0], n_features, width, _size_bytes(model, n_features))
    whole = plan.n_chains * plan.n_draws * draw
    least = _LEAST_STORED if store.is_memory else _LEAST_OF_A_FILE
    return max(1, min(-(-whole // BUDGET), plan.n_draws // least))


def estimate(sampler: Sampler, store: RowStore, plan: Plan, n_jobs: int) -> Estimate:
    """Time a sweep or two from a draw of the prior, and add up."""
    rng, (n_rows, n_dims) = np.random.default_rng(0), store.shape
    times: list[float] = []
    with one_blas_thread():
        rows = sampler.rows(store)
        state = sampler.trial(rng, rows)
        key, model = np.uint64(0), sampler.model
        state, _ = sampler.update(rng, key, state, model, rows)  # compiled code is loaded
        while not times or (sum(times) < _TRIAL_SECONDS and len(times) < 5):
            began = time.perf_counter()
            state, _ = sampler.update(rng, key, state, model, rows)
            times.append(time.perf_counter() - began)
    seconds = min(times)
    rounds = -(-plan.n_chains // n_jobs)
    n_features = sampler.shown(state).log_odds.size
    width = _n_components(model, n_dims)
    draw = draw_bytes(n_rows, n_features, width, _size_bytes(model, n_features))
    stored = 2 * plan.n_chains * -(-plan.n_draws // plan.thin) * draw
    data = 8 * n_rows * n_dims if store.is_memory else 0
    n_bytes = data + stored + min(n_jobs, plan.n_chains) * (2 * data + 3 * draw)
    return Estimate(rounds * (plan.n_sweeps + _FIRST_SWEEPS) * seconds, float(n_bytes), seconds)
