"""Who looks for notes, every row's number of notes known: ribp, and NMF with what may follow it.

- **strengths**, **binary**: `RestrictedIBP`, 24 features allowed, all else as it is by default but
  for short chains. A row has the k_n notes that most draws give it;
- **NMF told**, **NMF given more**: the best of five fits, from other starts, with 12 and with 24
  directions. A row has the k_n that add most to it;
- **then pursuit**: rows of the same directions by orthogonal matching pursuit, codes not negative;
- **K-SVD told**, **K-SVD given more**: 12 and 24 directions that are learned by such pursuits
  (`experiments.rivals.pursuit`), the best of five starts. The counts are used all the way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import NMF

from experiments.chains import largest
from experiments.rivals.pursuit import ksvd, pursuit
from experiments.strengths.data import Made
from ribp import RestrictedIBP
from ribp.checks import FloatArray
from ribp.likelihoods.data import Rows
from ribp.testing.recovery import f1, n_recovered

STRENGTHS, BINARY = "strengths", "binary"
_STARTS = 5  # of NMF


class Length(NamedTuple):
    """How many features are allowed, and how long chains are."""

    allowed: int = 24
    sweeps: int = 100


def fitted(
    values: FloatArray, counts: Any, seed: int, entries: str, length: Length
) -> RestrictedIBP:
    """Return a fit with entries of a kind."""
    model = RestrictedIBP(
        "gibbs-rows" if entries == STRENGTHS else "gibbs", entries=entries,
        max_features=length.allowed, n_chains=2, n_warmup=length.sweeps, n_draws=length.sweeps,
        random_state=seed, progress=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(values, counts=counts)


def spread(model: RestrictedIBP) -> float:
    """Return the mean of tau."""
    return float(model.result_.tree["posterior"]["strength_scale"].mean())


def restricted(entries: str, made: Made, seed: int, length: Length) -> dict[str, float]:
    """Return what a fit finds."""
    model = fitted(made.values, made.counts, seed, entries, length)
    numbers = _scores(largest(model.row_probs_, made.counts), model.components_, made)
    return numbers | {"tau": spread(model)} if entries == STRENGTHS else numbers


def nmf(number: int, pursued: bool, made: Made, seed: int, length: Length) -> dict[str, float]:
    """Return what so many directions find."""
    values = np.maximum(made.values, 0.0)
    codes, directions = best_nmf(values, number, seed)
    sizes = np.linalg.norm(directions, axis=1)
    codes, directions = (codes * sizes)[:, sizes > 0.0], directions[sizes > 0.0]
    if pursued:
        codes = pursuit(values, directions / sizes[sizes > 0.0, None], made.counts)
    return _scores(largest(codes, made.counts), directions, made)


def best_nmf(values: FloatArray, number: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return codes and directions of the best of some fits."""
    found = []
    for start in range(_STARTS):
        init = "random" if start else "nndsvda"
        model = NMF(number, init=init, max_iter=2000, random_state=seed * _STARTS + start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            codes = model.fit_transform(values)
        found.append((model.reconstruction_err_, codes, model.components_))
    _, codes, directions = min(found, key=lambda one: one[0])
    return codes, directions


def dictionary(number: int, made: Made, seed: int, length: Length) -> dict[str, float]:
    """Return what so many directions of a K-SVD find."""
    codes, directions = ksvd(made.values, number, made.counts, seed)
    return _scores(largest(codes, made.counts), directions, made)


def _scores(rows: Rows, features: FloatArray, made: Made) -> dict[str, float]:
    return {
        "F1": f1(rows, made.notes),
        "features": float(rows.any(axis=0).sum()),
        "notes found": float(n_recovered(features, made.spectra)),
    }


Method = Callable[[Made, int, Length], dict[str, float]]
METHODS: dict[str, Method] = {
    STRENGTHS: partial(restricted, STRENGTHS),
    BINARY: partial(restricted, BINARY),
    "NMF told 12": partial(nmf, 12, False),
    "NMF told 12, then pursuit": partial(nmf, 12, True),
    "NMF given 24": partial(nmf, 24, False),
    "NMF given 24, then pursuit": partial(nmf, 24, True),
    "K-SVD told 12": partial(dictionary, 12),
    "K-SVD given 24": partial(dictionary, 24),
}
