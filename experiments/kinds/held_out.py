"""Mean log density of hidden entries of real tables, beside other models.

A tenth of what is known is hidden. Densities of ours are logarithms of means over draws. Those of
columns by themselves are smoothed frequencies, Student's law, and negative binomial laws.

For zeros and ones also: "as numbers", the Gaussian likelihood with the settings of "counts
learned", whose posterior mean of a hidden entry, kept between 1/(2N) and 1 - 1/(2N), is the
probability of a one; and other models (`experiments.rivals`), whose numbers of factors, and
penalty, are chosen on a tenth of what was observed. MOFA+ has eight factors, and switches off those
that it does not need.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments.kinds.real_tables import Table, by_ones
from experiments.rivals import masked, mofa
from ribp import RestrictedIBP

HIDDEN = 0.1
LEARNED, BY_ONES, ALONE = "counts learned", "counts by the number of ones", "columns alone"
AS_NUMBERS = "as numbers"
PCA, NMF, MOFA = "logistic PCA", "NMF", "MOFA+"
METHODS = (ALONE, LEARNED, BY_ONES, AS_NUMBERS, PCA, NMF, MOFA)
FACTORS = (1, 2, 4, 8)


def hidden(table: Table, seed: int) -> Any:
    """Return which entries are hidden."""
    known = np.argwhere(np.isfinite(table.values))
    rng = np.random.default_rng([seed, 99])
    some = known[rng.choice(len(known), round(HIDDEN * len(known)), replace=False)]
    where = np.zeros(table.values.shape, bool)
    where[tuple(some.T)] = True
    return where


def methods(table: Table, others: Path | None) -> list[str]:
    """Return the models that can be tried on a table."""
    some = METHODS if table.binary else METHODS[:2]
    return [name for name in some if name != MOFA or others is not None]


def score(
    name: str, table: Table, where: Any, seed: int, sweeps: int, others: Path | None
) -> dict[str, float]:
    """Return the mean log density of hidden entries by one of the models."""
    values, shown = table.values, np.where(where, np.nan, table.values)
    if name == ALONE:
        return {"held out": float(np.concatenate(_alone(table, where)).mean())}
    if name == AS_NUMBERS:
        return _as_numbers(table, where, seed, sweeps)
    if name in (LEARNED, BY_ONES):
        return _ours(name, table, where, seed, sweeps)
    settings: Any = FACTORS
    predict: masked.Predict = masked.bernoulli_nmf
    if name == PCA:
        predict = masked.logistic_pca
        settings = [(k, penalty) for k in FACTORS for penalty in masked.PENALTIES]
    elif name == MOFA:
        assert others is not None
        predict, settings = mofa.bernoulli(others, seed), FACTORS[-1:]
    probs = masked.chosen(predict, settings, np.nan_to_num(shown), np.isnan(shown), seed)
    return {"held out": masked.scored(probs, values, where)}


def _alone(table: Table, where: Any) -> list[Any]:
    """Return log densities of hidden entries of each column by itself."""
    found = []
    for d, kind in enumerate(table.kinds):
        x, out = table.values[:, d], where[:, d]
        found.append(kind.alone(kind.look(x[np.isfinite(x) & ~out]), x[out]))
    return found


def _ours(name: str, table: Table, where: Any, seed: int, sweeps: int) -> dict[str, float]:
    shown = np.where(where, np.nan, table.values)
    counts = None if name == LEARNED else by_ones(shown, 16)
    model = _fitted(dict(enumerate(table.kinds)), shown, counts, seed, sweeps)
    density = model.result_.held_out_log_density(table.values, where)
    return {"held out": float(np.asarray(density).mean()), "features": _in_use(model)}


def _as_numbers(table: Table, where: Any, seed: int, sweeps: int) -> dict[str, float]:
    shown, least = np.where(where, np.nan, table.values), 0.5 / len(table.values)
    model = _fitted("gaussian", shown, None, seed, sweeps)
    probs = np.clip(model.impute(shown), least, 1.0 - least)
    return {"held out": masked.scored(probs, table.values, where), "features": _in_use(model)}


def _fitted(likelihood: Any, shown: Any, counts: Any, seed: int, sweeps: int) -> RestrictedIBP:
    model = RestrictedIBP(
        "gibbs-rows", likelihood=likelihood, max_features=16, counts=counts, n_chains=1,
        n_warmup=sweeps, n_draws=sweeps, random_state=seed, progress=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(shown)


def _in_use(model: RestrictedIBP) -> float:
    return float(model.result_.tree["posterior"]["active_features"].mean())
