"""The prior given expectations of the rows: weights, mass and concentration, learned laws.

**Weights** are points. With m_i = sum_n E[z_ni] and N_k = sum_n P(|z_n| = k) they maximise

    m.theta - sum_k N_k log e_k(exp theta) + log p(theta | alpha, c) + log p(log alpha, log c),

which is concave in theta, with gradient m - sum_k N_k eta_k + prior'. One update improves theta (by
a quasi-Newton method in units of the curvature), then alpha and c, each where it is learned, by a
search along its logarithm; a step that does not improve is not made, so the bound never falls.

**Learned count laws** have q(f) = Dirichlet(base + N): rows see E log f(k) = psi(base_k + N_k) -
psi(sum of it), and the bound loses KL(q(f) | Dirichlet(base)).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import digamma, gammaln

from ribp.checks import FloatArray
from ribp.counts import Learned, RowCounts
from ribp.model import Model
from ribp.weights import hyper_prior
from ribp.weights.density import row_gradient, row_log_density

_LEAST_BASE = 1e-300
_LOWEST = -30.0  # of the logarithms of mass and concentration
_HIGHEST = 10.0


class PointWeights(NamedTuple):
    """Log-odds of the features, and the parameters of their prior."""

    log_odds: FloatArray
    mass: float
    concentration: float


def update(
    model: Model, weights: PointWeights, sizes: FloatArray, histogram: FloatArray
) -> PointWeights:
    """Return better weights, mass and concentration.

    Parameters
    ----------
    model, weights
        The prior, and where to begin.
    sizes, histogram
        m, shape (features,), and N, shape (counts,): expected numbers of rows.
    """
    weights = weights._replace(log_odds=_best_log_odds(model, weights, sizes, histogram))
    if model.mass is None:
        weights = _with_best(model, weights, "mass", math.log(model.n_features))
    if model.concentration is None:
        weights = _with_best(model, weights, "concentration", _HIGHEST)
    return weights


def log_prior(model: Model, weights: PointWeights) -> float:
    """Return log p(theta, log alpha, log c), as in `Model.log_prior`."""
    log_odds, mass, concentration = weights
    value = model.weight_prior(mass, concentration).log_density(log_odds)
    if model.mass is None:
        value += hyper_prior.log_mass_density(mass)
    if model.concentration is None:
        value += hyper_prior.log_concentration_density(concentration)
    return value


def _best_log_odds(
    model: Model, weights: PointWeights, sizes: FloatArray, histogram: FloatArray
) -> FloatArray:
    """Return the best theta, or the present one if there is no better one."""
    prior = model.weight_prior(weights.mass, weights.concentration)
    share = np.clip(sizes / max(float(histogram.sum()), 1.0), 0.0, 1.0)
    unit = np.sqrt(sizes * (1.0 - share) + prior.precision(sizes < 0.5))

    def lost(x: FloatArray) -> tuple[float, FloatArray]:
        theta = x / unit
        value = row_log_density(theta, sizes, histogram) + prior.log_density(theta)
        slope = row_gradient(theta, sizes, histogram) + prior.gradient(theta)
        return -value, -slope / unit

    start = weights.log_odds * unit
    before = lost(start)[0]
    options = {"maxiter": 500, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-9}
    best = minimize(lost, start, jac=True, method="L-BFGS-B", options=options)
    better = np.isfinite(best.fun) and best.fun < before
    return np.asarray(best.x / unit) if better else weights.log_odds


def _with_best(model: Model, weights: PointWeights, name: str, top: float) -> PointWeights:
    """Return weights with a mass or concentration of a higher density, by a line search."""

    def moved(x: float) -> PointWeights:
        change: dict[str, Any] = {name: math.exp(x)}
        return weights._replace(**change)

    here = math.log(getattr(weights, name))
    best = minimize_scalar(
        lambda x: -log_prior(model, moved(x)),
        bounds=(max(here - 3.0, _LOWEST), min(here + 3.0, top - 1e-9)),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return moved(best.x) if -best.fun > log_prior(model, moved(here)) else weights


# Learned laws


def expected_log_probs(counts: RowCounts, law_counts: FloatArray) -> FloatArray:
    """Return E log f of each law; `law_counts` (laws, features + 1) are the expected N_k."""
    tables = np.full(law_counts.shape, -np.inf)
    for law, numbers, table in zip(counts.laws, law_counts, tables, strict=True):
        if isinstance(law, Learned):
            base = _base(law, table.size)
            on = base > 0
            table[on] = digamma(base[on] + numbers[on]) - digamma((base + numbers)[on].sum())
        else:
            table[:] = law.restricted_log_probs(0, table.size - 1)
    return tables


def law_divergence(counts: RowCounts, law_counts: FloatArray) -> float:
    """Return the sum over learned laws of KL(Dirichlet(base + N) | Dirichlet(base))."""
    value = 0.0
    for law, numbers in zip(counts.laws, law_counts, strict=True):
        if isinstance(law, Learned):
            base = _base(law, numbers.size)
            on = base > 0
            a, b = base[on] + numbers[on], base[on]
            value += float(gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()))
            value += float(gammaln(b).sum() + numbers[on] @ (digamma(a) - digamma(a.sum())))
    return value


def _base(law: Learned, size: int) -> FloatArray:
    """Return the base of the counts below `size`; it is an error if none is possible."""
    law.restricted_log_probs(0, size - 1)
    base = np.zeros(size)
    base[: len(law.base)] = law.base[:size]
    return np.where(base > 0, np.maximum(base, _LEAST_BASE), 0.0)
