"""Whether the features of simulated tables are found: default settings, and a chain at the truth.

Tables of zeros and ones are fitted "as numbers" too: the Gaussian likelihood, all else by default.

A feature counts as used if at least one row in a hundred has it on average. Rows that fit badly may
have a feature of their own, and the prior allows it: a chain that begins at the truth has a ninth
feature, in a row or two, in up to half of its draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.kinds.simulated import Simulated
from ribp import RestrictedIBP, counts
from ribp.kinds import Kind
from ribp.likelihoods.columns_of_kinds import ColumnsOfKinds
from ribp.likelihoods.data import complete
from ribp.likelihoods.kind_columns import Column
from ribp.mcmc import gibbs_rows
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.search.given_rows import drawn_given
from ribp.testing.recovery import f1
from ribp.threads import one_blas_thread

USED = 0.01
_SPARE = 4  # features that the truth does not need


def by_default(made: Simulated, seed: int, sweeps: int | None) -> dict[str, float]:
    """Return what a fit finds that is told kinds and counts; `sweeps` None for the usual number."""
    return _fit(dict(enumerate(made.kinds)), made, seed, sweeps)


def as_numbers(made: Simulated, seed: int, sweeps: int | None) -> dict[str, float]:
    """Return what a fit finds that takes zeros and ones for numbers, and is told counts."""
    return _fit("gaussian", made, seed, sweeps)


def _fit(likelihood: Any, made: Simulated, seed: int, sweeps: int | None) -> dict[str, float]:
    few: dict[str, Any] = {} if sweeps is None else {"n_warmup": sweeps, "n_draws": sweeps}
    model = RestrictedIBP(
        "gibbs-rows", likelihood=likelihood, counts=made.rows.sum(axis=1), random_state=seed,
        progress=False, **few,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(made.values)
    in_use = float(model.result_.tree["posterior"]["active_features"].mean())
    reached = model.result_.search
    found = _numbers(model.row_probs_, made, in_use)
    return found | {"best starts": reached.n_best / max(reached.n_starts, 1)}


def from_truth(made: Simulated, seed: int, sweeps: int | None) -> dict[str, float]:
    """Return what a chain finds that begins at the truth: more cannot be asked for."""
    n_sweeps, n_rows = 300 if sweeps is None else sweeps, len(made.rows)
    columns = enumerate(made.kinds)
    law = ColumnsOfKinds(
        tuple(Column.of(kind, kind.look(made.values[:, d])) for d, kind in columns)
    )
    laws = counts.as_row_counts(made.rows.sum(axis=1), n_rows)
    model = Model(laws, made.rows.shape[1] + _SPARE, law)
    data, rng = law.standard(complete(made.values)), np.random.default_rng(seed)
    probs, in_use = np.zeros((n_rows, model.n_features)), 0.0
    with one_blas_thread():
        state = drawn_given(rng, model, data, np.pad(made.rows, ((0, 0), (0, _SPARE))))
        key, n_kept = kernel_seed(rng), n_sweeps - n_sweeps // 3
        for at in range(n_sweeps):
            state, _ = gibbs_rows.update_in_memory(rng, key, state, model, data)
            if at >= n_sweeps // 3:
                probs += state.rows / n_kept
                in_use += np.count_nonzero(state.rows.any(axis=0)) / n_kept
    return _numbers(probs, made, in_use)


def _numbers(probs: Any, made: Simulated, in_use: float) -> dict[str, float]:
    sizes = probs.sum(axis=0)
    spare = np.sort(sizes)[::-1][made.rows.shape[1] :]
    return {
        "f1": f1(probs > 0.5, made.rows),
        "used": float((sizes >= USED * len(made.rows)).sum()),
        "in some row": in_use,
        "rows of the largest spare feature": float(spare.max(initial=0.0)),
    }


BY_DEFAULT, AS_NUMBERS, FROM_TRUTH = "default settings", "as numbers", "begun at the truth"
FITS = {BY_DEFAULT: by_default, AS_NUMBERS: as_numbers, FROM_TRUTH: from_truth}


def fits(kinds: Sequence[Kind]) -> list[str]:
    """Return the fits that can be tried on columns of such kinds."""
    binary = all(kind.name == "binary" for kind in kinds)
    return [name for name in FITS if binary or name != AS_NUMBERS]
