"""A start for the Gaussian sampler that finds the mode: rows with few features first.

Rows that hold one feature show it alone, and what they show explains rows that hold more. So rows
are grouped by their expected count c_n = round(mean of f_n), and groups enter from the lowest up.
While a group enters, its rows have exactly c_n ones, are filled greedily, and noise is high enough
to let them move: it starts low for the first group (splitting a feature can be mended later,
merging two cannot), and rises fourfold in variance with every group. Then the count laws are
opened, and the noise is lowered step by step from about the size of the features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray
from ribp.kernels import rows_collapsed as kernel
from ribp.mcmc.gaussian import summarise
from ribp.mcmc.gibbs import GibbsModel

__all__ = ["staged_rows"]

_FIRST_NOISE = 0.02  # share of the first group's variance
_RISE = 4.0  # of the variance with each later group
_FLOOR = 0.1  # of the overall standard deviation
_GROUP_SWEEPS = 10
_ANNEALING = 100
_HOT = 1.4  # times the scale of the features


def staged_rows(data: FloatArray, model: GibbsModel, seed: np.uint64) -> NDArray[np.int8]:
    """Return rows to start a chain from."""
    features = model.n_features
    index = model.counts.index
    centres = np.array([round(law.mean) for law in model.counts.laws])
    centres = np.clip(centres, 0, features)
    counts = centres[index]
    exact = np.full((features + 1, features + 1), -np.inf)
    np.fill_diagonal(exact, 0.0)
    theta = np.zeros(features)
    overall = data.std()
    rows = np.zeros((len(data), features), np.int8)
    here = np.zeros(len(data), bool)
    variance, number = 0.0, 0
    for level in np.unique(counts):
        new = counts == level
        here |= new
        variance = _FIRST_NOISE * data[new].var() if variance == 0.0 else _RISE * variance
        noise = max(np.sqrt(variance), _FLOOR * overall)
        at = np.flatnonzero(here)
        part, block = rows[at], data[at] / noise
        summary = summarise(block, part.astype(float), overall / noise)
        kernel.fill(seed, number, block, part, counts[at], *summary, theta)
        for _ in range(_GROUP_SWEEPS):
            number += 1
            summary = summarise(block, part.astype(float), overall / noise)
            kernel.sweep(seed, number, block, part, *summary, theta, exact, counts[at])
        rows[at] = part
        number += 1
    tables = model.tables(theta)
    for noise in np.geomspace(_HOT * overall, _FLOOR * overall, _ANNEALING):
        block = data / noise
        summary = summarise(block, rows.astype(float), overall / noise)
        kernel.sweep(seed, number, block, rows, *summary, theta, tables, index)
        number += 1
    return rows
