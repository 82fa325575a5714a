"""The prior of mass and concentration, wherever they are learned.

    alpha ~ Gamma(1, 1),        c ~ Gamma(2, rate 2).

Densities are those of log alpha and log c, on which all samplers move. A prior of finitely many
features needs alpha below their number: such draws are made again, and the constant is left out.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.weight_density import log_concentration_density, log_mass_density

__all__ = ["draw_concentration", "draw_mass", "log_concentration_density", "log_mass_density"]


def draw_mass(rng: np.random.Generator, most: float = math.inf) -> float:
    """Draw alpha below `most`."""
    while True:
        mass = float(rng.standard_exponential())
        if mass < most:
            return mass


def draw_concentration(rng: np.random.Generator) -> float:
    """Draw c."""
    return 0.5 * float(rng.standard_gamma(2.0))
