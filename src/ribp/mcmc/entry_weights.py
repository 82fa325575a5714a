"""Weights of entries that count, with mass and concentration, given the rows.

One call of `ribp.kernels.entry_slices`: a Dirichlet draw for Poisson entries whose sum is
restricted, slice steps for the others. Rows tell their units of each feature, and the histogram of
what is restricted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ribp.checks import IntArray
from ribp.kernels.entry_slices import update_entry_weights
from ribp.mcmc.hyper import Hyper
from ribp.model import Model
from ribp.rng import kernel_seed


def update(
    rng: np.random.Generator, model: Model, state: Any, units: IntArray, histogram: IntArray
) -> Hyper:
    """Return new weights, mass and concentration; the last two if the model learns them.

    Parameters
    ----------
    rng
    model
    state
        Has the present ones.
    units, histogram
        The sum of each feature over rows, and how many rows have each count.
    """
    law = model.entry_law
    theta, sums, counts = (np.array(x, np.float64) for x in (state.log_odds, units, histogram))
    mass, concentration = update_entry_weights(
        kernel_seed(rng), theta, sums, counts, law.growth, law.restriction,
        float(state.mass), float(state.concentration),
        model.mass is None, model.concentration is None,
    )  # fmt: skip
    return Hyper(theta, mass, concentration)
