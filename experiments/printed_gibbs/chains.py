"""Chains that differ in nothing but the divisor of the Gibbs step, on data with known truth.

Both begin at the same state, which the library's search has found, and make the same number of
sweeps over rows (entry by entry, features kept), weights, features and scales. One per cent of the
entries is hidden and scored. The number of features is limited to a few more than there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from experiments.printed import gibbs as printed_gibbs
from ribp import counts
from ribp.checks import FloatArray
from ribp.datasets import load_chords, scaled, toy_missing_one, toy_one_inflated
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import BoolArray, Data
from ribp.likelihoods.validation import as_data
from ribp.model import Model, State
from ribp.search.following import best_start
from ribp.testing.recovery import f1
from ribp.threads import one_blas_thread

HIDDEN = 0.01


class Case(NamedTuple):
    """Data, what is known of the counts, and the true rows."""

    data: FloatArray
    counts: counts.RowCounts
    rows: Any
    shared_noise: bool


def _first_toy(seed: int) -> Case:
    toy = toy_missing_one(np.random.default_rng([seed, 1]))
    return Case(toy.data, toy.counts, toy.rows, True)


def _one_inflated(seed: int, noise: float = 0.5) -> Case:
    rng = np.random.default_rng([seed, 2])
    toy = toy_one_inflated(rng, 6.0)
    more = np.sqrt(noise**2 - toy.noise_scale**2)
    data = toy.data + more * rng.standard_normal(toy.data.shape)
    return Case(data, toy.counts, toy.rows, True)


def _busy(seed: int) -> Case:
    """Return 300 rows that have 3 to 5 of 10 features, in 12 columns of noise 2."""
    rng = np.random.default_rng([seed, 5])
    ones = rng.integers(3, 6, 300)
    rows = np.array([rng.permutation(np.arange(10) < k) for k in ones], np.int8)
    data = rows @ rng.normal(size=(10, 12)) + 2.0 * rng.normal(size=(300, 12))
    return Case(data, counts.as_row_counts(counts.uniform(3, 5), 300), rows, True)


def _chords(seed: int) -> Case:
    chords = load_chords()
    laws = counts.by_row([counts.window(k, 1) for k in chords.counts.tolist()])
    return Case(scaled(chords.spectra), laws, chords.notes, False)


CASES: dict[str, Callable[[int], Case]] = {
    "first toy set, counts to ± 1": _first_toy,
    "chords, counts to ± 1": _chords,
    "one-inflated, noise 0.5": _one_inflated,
    "one-inflated, noise 2": lambda seed: _one_inflated(seed, 2.0),
    "3 to 5 of 10 features, noise 2": _busy,
}


def compare(name: str, seed: int, n_sweeps: int) -> dict[str, dict[str, float]]:
    """Return what a chain with the right divisor and one with the printed one find."""
    case = CASES[name](seed)
    rng = np.random.default_rng([seed, 3])
    hidden = rng.random(case.data.shape) < HIDDEN
    data = as_data(np.where(hidden, np.nan, case.data))
    variance = float(data.values[~hidden].var())
    likelihood = LinearGaussian(
        shared=case.shared_noise, noise_variance=variance,
        feature_variance=variance if case.shared_noise else 1.0,
    )  # fmt: skip
    model = Model(case.counts, case.rows.shape[1] + 6, likelihood)
    with one_blas_thread():
        first = best_start(rng, model, data)
        return {
            kind: _chain(
                np.random.default_rng([seed, 4]), case, hidden, model, first, data, n_sweeps,
                printed=kind == "printed",
            )
            for kind in ("right", "printed")
        }  # fmt: skip


def _chain(
    rng: np.random.Generator,
    case: Case,
    hidden: BoolArray,
    model: Model,
    state: State,
    data: Data,
    n_sweeps: int,
    *,
    printed: bool,
) -> dict[str, float]:
    """Return the score of the second half of a chain, and what its rows are like."""
    truth = case.rows.sum(axis=1)
    kept = n_sweeps - n_sweeps // 2
    rows, right, total = np.zeros(state.rows.shape), 0.0, np.full(int(hidden.sum()), -np.inf)
    for sweep in range(n_sweeps):
        state, _ = printed_gibbs.update(rng, state, model, data, printed=printed)
        if sweep >= n_sweeps - kept:
            total = np.logaddexp(total, _log_density(state, case.data, hidden))
            rows += state.rows / kept
            right += float((state.rows.sum(axis=1) == truth).mean()) / kept
    return {
        "score": float(np.log(kept) - total.mean()),
        "mean count": float(rows.sum(axis=1).mean()),
        "true mean count": float(truth.mean()),
        "rows with the right count": right,
        "f1": f1(rows > 0.5, case.rows),
    }


def _log_density(state: State, values: FloatArray, hidden: BoolArray) -> FloatArray:
    """Return the log density of the hidden entries given a state."""
    given = state.parameters
    mean = (state.rows @ given.features + given.background)[hidden]
    noise = np.broadcast_to(given.noise_scale, values.shape)[hidden]
    return np.asarray(
        -0.5 * ((values[hidden] - mean) / noise) ** 2 - np.log(noise * np.sqrt(2 * np.pi))
    )
