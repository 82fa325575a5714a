"""The models that are compared, and what is read off a fit.

All have one noise scale for all columns, as in the paper, and learn it with the mass. Chains begin
the library's way: restricted models by a search that uses the counts (rows with few features
first), buffets by the same search as if their count law were learned. Two controls tell what the
start is worth: an R-IBP whose search does not begin with rows of few features, and an IBP that
begins at the truth. The log joint of the two IBP chains is that of one model, and can be compared.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ribp
from experiments.recovery.parts import without
from ribp.baselines import ibp_gibbs
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.checks import FloatArray
from ribp.datasets import Toy
from ribp.errors import FitWarning
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.search import capacity, following
from ribp.testing.recovery import f1, n_recovered
from ribp.threads import one_blas_thread


class Scale(NamedTuple):
    """How much is run: sweeps of samplers, iterations of variational methods, draws of each."""

    warmup: int = 200
    iterations: int = 250
    draws: int = 100


class Fit(NamedTuple):
    """What was found: mean features (features, dims) and P(row has feature) (rows, features)."""

    components: FloatArray
    row_probs: FloatArray
    log_joint: float
    """Its mean over draws; of variational methods the bound."""
    seconds: float


def scores(fit: Fit, toy: Toy) -> dict[str, Any]:
    """Return the numbers of one fit."""
    on = fit.row_probs > 0.5
    ones, truth = on.sum(axis=1), toy.rows.sum(axis=1)
    single = truth == 1
    return {
        "f1": f1(on, toy.rows),
        "alike": n_recovered(fit.components, toy.components),
        "features": int(on.any(axis=0).sum()),
        "rows with the right count": float((ones == truth).mean()),
        "single rows left empty": float((ones[single] == 0).mean()),
        "mean count of busy rows": float(ones[~single].mean()),
        "log joint": fit.log_joint,
        "histogram": np.bincount(ones).tolist(),
    }


def _estimated(make: Callable[[Toy, int, Scale], Any]) -> Callable[[Toy, int, Scale], Fit]:
    """Return a fit by an estimator."""

    def run(toy: Toy, seed: int, scale: Scale) -> Fit:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)  # one chain: nothing to compare it with
            model = make(toy, seed, scale).fit(toy.data)
        height = float(model.result_.tree["posterior"]["log_joint"].mean())
        return Fit(model.components_, model.row_probs_, height, time.perf_counter() - began)

    return run


def _restricted(method: str) -> Callable[[Toy, int, Scale], Fit]:
    return _estimated(
        lambda toy, seed, scale: ribp.RestrictedIBP(
            method, counts=toy.counts, **_options(method, seed, scale)
        )
    )


def _buffet(method: str) -> Callable[[Toy, int, Scale], Fit]:
    return _estimated(
        lambda toy, seed, scale: ribp.IndianBuffet(method, **_options(method, seed, scale))
    )


def _options(method: str, seed: int, scale: Scale) -> dict[str, Any]:
    return {
        "noise": "shared",
        "n_chains": 1,
        "n_warmup": scale.warmup if method == "gibbs" else scale.iterations,
        "n_draws": scale.draws,
        "progress": False,
        "random_state": seed,
    }


def _not_staged(toy: Toy, seed: int, scale: Scale) -> Fit:
    """Return an R-IBP chain whose search does not begin with rows of few features."""
    began, rng, data = time.perf_counter(), np.random.default_rng(seed), as_data(toy.data)
    model = Model(toy.counts, capacity.first_guess(toy.counts), _likelihood(toy))
    with one_blas_thread():
        with without("annealed only"):
            state = following.best_start(rng, model, data)
        seed64 = kernel_seed(rng)
        for _ in range(scale.warmup):
            state, _ = gibbs.update(rng, seed64, state, model, data)
        rows, height = np.zeros(state.rows.shape), 0.0
        features: Any = 0.0
        for _ in range(scale.draws):
            state, info = gibbs.update(rng, seed64, state, model, data)
            rows += state.rows / scale.draws
            features = features + state.parameters.features / scale.draws
            height += info.log_joint / scale.draws
    used = (rows > 0.5).any(axis=0)
    return Fit(features[used], rows[:, used], height, time.perf_counter() - began)


def _buffet_from_truth(toy: Toy, seed: int, scale: Scale) -> Fit:
    """Return the last state of an IBP chain that begins at the true rows."""
    began, rng, data = time.perf_counter(), np.random.default_rng(seed), as_data(toy.data)
    model = BuffetModel(len(toy.rows), _likelihood(toy))
    rows = np.ascontiguousarray(toy.rows)
    given = model.likelihood.first_guess(data, rows.shape[1])
    with one_blas_thread():
        for _ in range(5):
            given = model.likelihood.update(rng, data, rows, given)
        state = model.with_weights(rng, model.buffet.state(rows, 1.0, given))
        seed64 = kernel_seed(rng)
        for _ in range(scale.warmup + scale.draws):
            state = ibp_gibbs.update(rng, seed64, state, model, data)
    height, seconds = model.log_joint(state, data), time.perf_counter() - began
    return Fit(state.parameters.features, state.rows.astype(float), height, seconds)


def _likelihood(toy: Toy) -> LinearGaussian:
    variance = float(toy.data.var())
    return LinearGaussian(shared=True, noise_variance=variance, feature_variance=variance)


MODELS: dict[str, Callable[[Toy, int, Scale], Fit]] = {
    "R-IBP, hybrid variational": _restricted("hybrid"),
    "R-IBP, structured variational": _restricted("structured"),
    "R-IBP, Gibbs": _restricted("gibbs"),
    "IBP, variational": _buffet("variational"),
    "IBP, hybrid variational": _buffet("hybrid"),
    "IBP, Gibbs": _buffet("gibbs"),
    "R-IBP, Gibbs, search without counts": _not_staged,
    "IBP, Gibbs, begun at the truth": _buffet_from_truth,
}
