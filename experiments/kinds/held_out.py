"""Mean log density of hidden entries of real tables, beside other models.

A tenth of what is known is hidden. Densities of ours are logarithms of means over draws. Those of
columns by themselves are smoothed frequencies, Student's law, and negative binomial laws.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments.kinds import rivals
from experiments.kinds.real_tables import Table, by_ones
from ribp import RestrictedIBP

HIDDEN = 0.1
LEARNED, BY_ONES, ALONE = "counts learned", "counts by the number of ones", "columns alone"
PCA, NMF, MOFA = "logistic PCA", "NMF", "MOFA+"
METHODS = (ALONE, LEARNED, BY_ONES, PCA, NMF, MOFA)


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
    if name in (LEARNED, BY_ONES):
        return _ours(name, table, where, seed, sweeps)
    settings: Any = rivals.FACTORS
    predict: rivals.Predict = rivals.nmf
    if name == PCA:
        predict = rivals.logistic_pca
        settings = [(k, penalty) for k in rivals.FACTORS for penalty in rivals.PENALTIES]
    elif name == MOFA:
        assert others is not None
        predict, settings = rivals.mofa(others, seed), rivals.FACTORS[-1:]
    probs = rivals.chosen(predict, settings, np.nan_to_num(shown), np.isnan(shown), seed)
    return {"held out": rivals.scored(probs, values, where)}


def _alone(table: Table, where: Any) -> list[Any]:
    """Return log densities of hidden entries of each column by itself."""
    found = []
    for d, kind in enumerate(table.kinds):
        x, out = table.values[:, d], where[:, d]
        found.append(kind.alone(kind.look(x[np.isfinite(x) & ~out]), x[out]))
    return found


def _ours(name: str, table: Table, where: Any, seed: int, sweeps: int) -> dict[str, float]:
    shown = np.where(where, np.nan, table.values)
    model = RestrictedIBP(
        "gibbs-rows", likelihood=dict(enumerate(table.kinds)), max_features=16,
        counts=None if name == LEARNED else by_ones(shown, 16), n_chains=1, n_warmup=sweeps,
        n_draws=sweeps, random_state=seed, progress=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(shown)
    density = model.result_.held_out_log_density(table.values, where)
    in_use = float(model.result_.tree["posterior"]["active_features"].mean())
    return {"held out": float(np.asarray(density).mean()), "features": in_use}
