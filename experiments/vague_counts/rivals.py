"""Rivals of the chain that knows the counts: as much processor time as it had, and all entries.

- K-SVD told: the number of features, and the exact count of every row;
- K-SVD given more: the counts, and room for as many features as the chain has;
- NMF told, NMF given more: the same, and a row gets its k_n largest parts;
- NMF, no counts: a row has the parts that are above a share of their feature's largest, the one
  share of all that gives the highest F1: nobody could know it.

Each starts again and again as long as the chain took, and its best residual counts. K-SVD gets data
as they are and codes that are not negative, which was better than centred data on real sets
(`experiments.real_features`); NMF gets what is not negative only.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from experiments.chains import largest
from experiments.rivals.pursuit import ksvd
from experiments.vague_counts.cases import Case
from ribp.checks import FloatArray
from ribp.testing.recovery import f1
from ribp.threads import one_blas_thread

_SHARES = np.linspace(0.05, 0.95, 19)
_STARTS = 1000  # that do not end before the time does are not to be expected


class Found(NamedTuple):
    """How good the rows are, and the processor seconds."""

    numbers: dict[str, float]
    seconds: float


Fit = Callable[[FloatArray, int, Case, int], tuple[FloatArray, FloatArray]]
"""From values, a number of features, the case and a seed to codes and features."""


def _ksvd(values: FloatArray, number: int, case: Case, seed: int) -> tuple[FloatArray, FloatArray]:
    return ksvd(values, number, case.k, seed)


def _nmf(values: FloatArray, number: int, case: Case, seed: int) -> tuple[FloatArray, FloatArray]:
    model = NMF(number, init="random", max_iter=1000, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        codes = model.fit_transform(values)
    return codes, model.components_


def run(fit: Fit, told: bool, counts: bool, case: Case, seed: int, ours: float) -> Found | None:
    """Return what a rival finds in as many seconds as ours took; None if data are not for it."""
    values = case.data
    if not np.isfinite(values).all() or (fit is _nmf and values.min() < 0.0):
        return None
    number = case.rows.shape[1] if told else case.max_features
    began, best, n_starts = time.process_time(), np.inf, 0
    with one_blas_thread():
        while n_starts < _STARTS and (n_starts == 0 or time.process_time() - began < ours):
            codes, features = fit(values, number, case, seed * _STARTS + n_starts)
            left, n_starts = float(((values - codes @ features) ** 2).sum()), n_starts + 1
            if left < best:
                best, parts = left, np.abs(codes) * np.linalg.norm(features, axis=1)
    seconds = time.process_time() - began
    rows = largest(parts, np.minimum(case.k, number))
    scores = [f1(rows, case.rows)]
    if not counts:
        scores = [f1(parts > share * parts.max(axis=0), case.rows) for share in _SHARES]
    return Found({"f1": max(scores), "features": float(number)}, seconds)


RIVALS: dict[str, Callable[[Case, int, float], Found | None]] = {
    name: partial(run, fit, told, counts)
    for name, (fit, told, counts) in {
        "K-SVD told": (_ksvd, True, True),
        "K-SVD given more": (_ksvd, False, True),
        "NMF told": (_nmf, True, True),
        "NMF given more": (_nmf, False, True),
        "NMF given more, no counts": (_nmf, False, False),
    }.items()
}
