"""Rows of the unrestricted Indian buffet, features integrated out: one sweep over all of them.

The baseline `ribp.baselines.ibp_gibbs` is made of this, and so is one of the starts of the
restricted samplers.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ribp.kernels.sweep_buffet import sweep
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc.rows_collapsed import filled, summarise
from ribp.model import State

_ROOM = 2  # columns for new dishes, to begin with


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: State,
    likelihood: LinearGaussian,
    data: Data,
) -> Rows:
    """Return new rows; columns are added whenever a row finds no room for its new dishes."""
    scaled = filled(rng, data, state.rows, state.parameters)
    scale = likelihood.relative_scale(state.parameters)
    rows, first, room = state.rows, 0, _ROOM
    while first < len(rows):
        rows = np.hstack([rows, np.zeros((len(rows), room), np.int8)])
        wide = np.ascontiguousarray(likelihood.with_background(rows))
        first = sweep(
            seed, state.number, first, scaled, data.observed, wide, rows.shape[1],
            *summarise(scaled, wide.astype(np.float64), scale * likelihood.widths(wide.shape[1])),
            state.mass, state.concentration, scale**2,
        )  # fmt: skip
        rows = wide[:, : rows.shape[1]]
        room = max(room, rows.shape[1])
    return np.ascontiguousarray(rows[:, rows.any(axis=0)])


def featureless(
    rng: np.random.Generator, likelihood: LinearGaussian, data: Data
) -> GaussianParameters:
    """Return parameters without features, all spread taken for noise."""
    rows = np.zeros((len(data.values), 0), np.int8)
    parameters: GaussianParameters = likelihood.update(
        rng, data, rows, likelihood.first_guess(data, 0)
    )
    if likelihood.feature_scale is None:
        spread = float(parameters.noise_scale.mean()) if likelihood.shared else 1.0
        parameters = parameters._replace(feature_scale=spread)
    return parameters


def log_prior(rows: Rows, mass: float, concentration: float) -> float:
    """Return log p(Z | alpha) of a buffet, Z up to the order of its columns; all are in use."""
    n, c, sizes = len(rows), concentration, rows.sum(axis=0)
    each = gammaln(sizes) + gammaln(n - sizes + c) - gammaln(n + c)
    _, repeats = np.unique(rows, axis=1, return_counts=True)
    total = sizes.size * np.log(c * mass) + each.sum() - gammaln(repeats + 1.0).sum()
    return float(total - mass * harmonic(n, c))


def draw_mass(rng: np.random.Generator, n_rows: int, n_dishes: int, concentration: float) -> float:
    """Draw alpha ~ Gamma(1, 1) given the number of dishes."""
    rate = 1.0 + harmonic(n_rows, concentration)
    return float(rng.standard_gamma(1.0 + n_dishes)) / rate


def harmonic(n_rows: int, concentration: float) -> float:
    """Return sum_j c/(c+j-1) over rows: the expected number of dishes for mass one."""
    return float((concentration / (concentration + np.arange(n_rows))).sum())
