"""Whole sweeps of the samplers against bare products and clocks, and how well weights mix."""

from __future__ import annotations

import json

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, best_times, process_output
from benchmarks.sweeps import ALONE
from ribp.baselines import ibp_gibbs
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.mcmc import gibbs, gibbs_rows, rows_collapsed, weight_moves
from ribp.model import Model
from ribp.weights import WeakLimitPrior

RATIOS = ALONE.replace("sweeps", "samplers") + "import json; print(json.dumps(samplers.found()))"
N_ROWS, FEATURES, DIMS = 5000, 50, 100


def found() -> dict[str, float]:
    """Return all figures: for a process of its own, on one thread."""
    return {**_against_a_product(), **_chords(), **_buffet(), **_weights()}


def _against_a_product() -> dict[str, float]:
    rng = np.random.default_rng(0)
    laws = ribp.counts.as_row_counts(ribp.counts.exactly(3), N_ROWS)
    model = Model(laws, FEATURES, LinearGaussian(), mass=5.0)
    state = model.draw_prior(rng, DIMS)
    given = state.parameters
    features = rng.normal(size=(FEATURES, DIMS))
    state = state._replace(
        parameters=given._replace(
            features=features, noise_scale=np.full(DIMS, 0.5), feature_scale=2.0
        )
    )
    data = complete(model.likelihood.draw_data(rng, state.rows, state.parameters))
    seed, other = np.uint64(1), rng.normal(size=(FEATURES, DIMS))

    def five_kept() -> None:
        here = state
        for _ in range(5):  # in one of five rows are proposed as a whole
            here, _ = gibbs_rows.update_in_memory(rng, seed, here, model, data)

    product, rows, whole, kept = best_times(
        lambda: data.values @ other.T,
        lambda: rows_collapsed.update(rng, seed, state, model, data),
        lambda: gibbs.update(rng, seed, state, model, data),
        five_kept,
        repeat=20,
    )
    return {"collapsed": rows / product, "gibbs": whole / product, "gibbs-rows": kept / product / 5}


def _chords() -> dict[str, float]:
    """Return seconds for 300 sweeps of 1332 chords."""
    rng = np.random.default_rng(0)
    chords = ribp.datasets.load_chords()
    many = np.arange(1332) % 232
    spectra = ribp.datasets.scaled(chords.spectra)[many]
    data = complete(spectra + 0.02 * rng.normal(size=spectra.shape))
    laws = ribp.counts.as_row_counts(chords.counts[many], 1332)
    model = Model(laws, 24, LinearGaussian())
    state = model.draw_prior(rng, 100)

    def sweeps() -> None:
        here = state
        for _ in range(300):
            here, _ = gibbs.update(rng, np.uint64(1), here, model, data)

    return {"chords": best_times(sweeps, repeat=1)[0]}


def _buffet() -> dict[str, float]:
    """Return the error of held-out entries above the noise floor, and milliseconds a sweep."""
    rng = np.random.default_rng(0)
    rows = rng.random((1000, 8)) < 0.4
    clean = rows @ rng.normal(size=(8, 100))
    values = clean + 0.5 * rng.normal(size=clean.shape)
    held = rng.random(values.shape) < 0.1
    data = with_missing(np.where(held, np.nan, values))
    variance = float(values[~held].var())
    model = ibp_gibbs.BuffetModel(1000, LinearGaussian(noise_variance=variance))
    state, mean = ibp_gibbs.best_start(rng, model, data), np.zeros(held.sum())
    for number in range(200):
        state = ibp_gibbs.update(rng, np.uint64(1), state, model, data)
        if number >= 100:
            mean += (state.rows.astype(float) @ state.parameters.features)[held] / 100
    error = np.sqrt(((mean - values[held]) ** 2).mean())
    floor = np.sqrt(((clean - values)[held] ** 2).mean())
    (sweep,) = best_times(
        lambda: ibp_gibbs.update(rng, np.uint64(1), state, model, data), repeat=30
    )
    return {"buffet error": error / floor - 1.0, "buffet sweep": 1000.0 * sweep}


def _weights() -> dict[str, float]:
    """Return effective draws an update of the slowest difference, and the joint step's chance."""
    rng, prior = np.random.default_rng(0), WeakLimitPrior(10.0, 1.0, FEATURES)
    law = ribp.RestrictedBernoulli(prior.sample(rng, FEATURES), ribp.counts.exactly(3))
    rows = law.sample(rng, N_ROWS)
    sums = rows.sum(axis=0, dtype=np.int64)
    histogram = np.bincount(rows.sum(axis=1), minlength=FEATURES + 1)
    theta, draws, chances, gradients = law.log_odds, [], [], 0
    for _ in range(2000):
        theta, info = weight_moves.update(rng, theta, sums, histogram, prior)
        draws.append(theta[sums > 20])
        gradients = max(gradients, info.n_gradients)
    here = theta
    for _ in range(200):
        here, chance = weight_moves.independence_step(rng, here, sums, histogram, prior)
        chances.append(chance)
    series = np.array(draws) - np.array(draws)[:, :1]
    slowest = min(_effective(column) for column in series[:, 1:].T)
    return {
        "effective": slowest / len(draws),
        "gradients": float(gradients),
        "joint": float(np.mean(chances)),
    }


def _effective(series: np.ndarray) -> float:
    """Return the effective number of draws, by batch means over 40 batches."""
    batches = np.array([part.mean() for part in np.array_split(series, 40)])
    return float(series.var() / batches.var(ddof=1)) * 40


def measures() -> Measures:
    """Yield the measures of whole sweeps."""
    figures = json.loads(process_output(RATIOS))
    yield Measure("gibbs rows N=5000 I=50 D=100 / X A'", figures["collapsed"], 20.0)
    yield Measure("  the whole gibbs sweep / X A'", figures["gibbs"], 25.0)
    yield Measure("  the whole gibbs-rows sweep / X A'", figures["gibbs-rows"], 12.0)
    yield Measure("300 sweeps of 1332 chords / 10 s", figures["chords"] / 10.0, 1.0)
    yield Measure("buffet: held-out error above floor / 1.5%", figures["buffet error"] / 0.015, 1.0)
    yield Measure("buffet: a sweep / 7 ms", figures["buffet sweep"] / 7.0, 1.0)
    name = f"0.2 / effective draws of weights (joint: {figures['joint']:.3f})"
    yield Measure(name, 0.2 / figures["effective"], 1.0)
    yield Measure("  gradients of an update / 40", figures["gradients"] / 40.0, 1.0)
