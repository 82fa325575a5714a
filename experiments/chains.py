"""One Gibbs chain: a search with few starts, a warm-up, and means over draws.

On texts the search of the unrestricted buffet explodes: there it begins with no features at all,
and above `MOST_FEATURES` it is stopped and not scored.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import BoolArray, Data, Rows
from ribp.mcmc import gibbs, gibbs_rows, rows_buffet
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search.following import best_start
from ribp.threads import one_blas_thread

MOST_FEATURES = 200


class Found(NamedTuple):
    """What a chain found; seconds are those of the processor."""

    row_probs: FloatArray
    held_out: float
    """Mean log density of a hidden entry; NaN if none was hidden."""
    features: float
    """In use, on average."""
    start: State
    seconds: float


def chain(
    seed: int,
    model: Model,
    data: Data,
    n_sweeps: int,
    *,
    n_starts: int = 2,
    values: FloatArray | None = None,
    hidden: BoolArray | None = None,
) -> Found:
    """Run one chain and keep the second half of its sweeps.

    Features are integrated out for Gaussian data and kept for counts. `values` are the data with
    the entries that are `hidden` from the chain.
    """
    began, rng = time.process_time(), np.random.default_rng(seed)
    integrated = isinstance(model.likelihood, LinearGaussian)
    update = gibbs.update if integrated else gibbs_rows.update_in_memory
    with one_blas_thread():
        state = first = best_start(rng, model, data, n_starts)
        key, n_kept = kernel_seed(rng), n_sweeps - n_sweeps // 2
        probs, used = np.zeros(state.rows.shape), 0.0
        held_out = np.full(0 if hidden is None else int(hidden.sum()), -np.inf)
        for at in range(n_sweeps):
            state, _ = update(rng, key, state, model, data)
            if at < n_sweeps // 2:
                continue
            probs += (state.rows != 0) / n_kept
            used += np.count_nonzero(state.rows.any(axis=0)) / n_kept
            if hidden is not None and values is not None:
                np.logaddexp(held_out, log_density(state, values, hidden), out=held_out)
    score = float((held_out - math.log(n_kept)).mean()) if held_out.size else math.nan
    return Found(probs, score, used, first, time.process_time() - began)


def no_features(rng: np.random.Generator, model: BuffetModel, data: Data) -> State:
    """Return a state of a buffet that has none."""
    rows = np.zeros((len(data.values), 0), np.int8)
    given = rows_buffet.featureless(rng, model.likelihood, data)
    return model.with_weights(rng, model.buffet.state(rows, 1.0, given))


def log_density(state: State, values: FloatArray, hidden: BoolArray) -> FloatArray:
    """Return log p(x | Z, A, noise) of hidden entries."""
    given: Any = state.parameters
    mean = (state.rows.astype(np.float64) @ given.features + given.background)[hidden]
    x = values[hidden]
    if not hasattr(given, "noise_scale"):
        return np.asarray(xlogy(x, mean) - mean - gammaln(x + 1.0))
    scale = np.broadcast_to(given.noise_scale, values.shape)[hidden]
    return np.asarray(-0.5 * ((x - mean) / scale) ** 2 - np.log(scale * math.sqrt(2 * math.pi)))


def largest(scores: FloatArray, k: IntArray) -> Rows:
    """Return 0/1 rows: the k_n largest scores of row n."""
    order = np.argsort(-scores, axis=1, kind="stable")
    rows = np.zeros(scores.shape, np.int8)
    np.put_along_axis(rows, order, np.arange(scores.shape[1]) < k[:, None], axis=1)
    return rows
