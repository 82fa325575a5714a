"""Models of tables of which some entries are hidden.

Zeros and ones:

- logistic PCA: logit p = b + U V', a penalty on U and V, by alternating Newton steps for rows and
  columns (each a ridge-penalised logistic regression);
- NMF: p = W H by multiplicative updates for the Kullback-Leibler divergence, hidden entries left
  out; p is kept between 1/(2N) and 1 - 1/(2N).

Numbers that are not negative:

- NMF: x = W H + noise by multiplicative updates for least squares, hidden entries left out.

Noise of numbers is that of each column's residuals. Settings, such as the number of factors, are
chosen on a tenth of what was observed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

PENALTIES = (1.0, 4.0)
LEAST_RIDGE = 1e-3
"""Of intercepts and slopes."""
_ROUNDS, _UPDATES = 15, 300
_LEAST = 1e-9


class Normal(NamedTuple):
    """Means of entries, and a standard deviation for each column."""

    mean: Any
    noise: Any

    def log_density(self, values: Any) -> Any:
        """Return log densities of entries."""
        error = (values - self.mean) / self.noise
        return -0.5 * error**2 - np.log(self.noise * np.sqrt(2.0 * np.pi))


Predict = Callable[[Any, Any, Any], Any]
"""From values, which are observed, and a setting to probabilities of ones, or `Normal`."""


def scored(predicted: Any, values: Any, where: Any) -> float:
    """Return the mean log probability, or density, of entries."""
    if isinstance(predicted, Normal):
        return float(predicted.log_density(values)[where].mean())
    return float(np.log(np.where(values > 0, predicted, 1.0 - predicted))[where].mean())


def best_setting(predict: Predict, settings: Any, values: Any, hidden: Any, seed: int) -> Any:
    """Return the setting that predicts a tenth of what was observed best."""
    rng = np.random.default_rng([seed, 7])
    inner = ~hidden & (rng.random(values.shape) < 0.1)
    tried = [scored(predict(values, ~hidden & ~inner, one), values, inner) for one in settings]
    return settings[int(np.argmax(tried))]


def chosen(predict: Predict, settings: Any, values: Any, hidden: Any, seed: int) -> Any:
    """Return what the best setting predicts."""
    return predict(values, ~hidden, best_setting(predict, settings, values, hidden, seed))


def normal(mean: Any, values: Any, observed: Any) -> Normal:
    """Return means with the noise of each column's residuals."""
    squares = np.where(observed, values - mean, 0.0) ** 2
    return Normal(mean, np.sqrt(squares.sum(axis=0) / observed.sum(axis=0)) + _LEAST)


def logistic_pca(values: Any, observed: Any, setting: tuple[int, float]) -> Any:
    """Return probabilities of ones by a number of factors and a penalty."""
    left, right = logistic_factors(values, observed, setting)
    return expit(left @ right.T)


def logistic_factors(values: Any, observed: Any, setting: tuple[int, float]) -> tuple[Any, Any]:
    """Return scores (rows, 1 + factors) and weights (dims, 1 + factors), intercepts first."""
    factors, penalty = setting
    rng, (n, dims) = np.random.default_rng(0), values.shape
    left = np.column_stack([np.ones(n), 0.1 * rng.normal(size=(n, factors))])
    right = np.zeros((dims, factors + 1))
    ridge = np.r_[LEAST_RIDGE, np.full(factors, penalty)]
    for _ in range(_ROUNDS):
        right = newton_step(left, right, np.zeros((dims, n)), values.T, observed.T, ridge)
        left[:, 1:] = newton_step(
            right[:, 1:], left[:, 1:], np.tile(right[:, 0], (n, 1)), values, observed, ridge[1:]
        )
    return left, right


def newton_step(inputs: Any, now: Any, offset: Any, values: Any, observed: Any, ridge: Any) -> Any:
    """Return a Newton step of all logistic regressions of lines of values on the same inputs."""
    p = expit(now @ inputs.T + offset)
    weights = np.where(observed, np.maximum(p * (1 - p), 0.02), 0.0)
    slope = np.where(observed, values - p, 0.0) @ inputs - now * ridge
    bend = np.einsum("ld,dj,dk->ljk", weights, inputs, inputs, optimize=True) + np.diag(ridge)
    return now + np.clip(np.linalg.solve(bend, slope[..., None])[..., 0], -2.0, 2.0)


def bernoulli_nmf(values: Any, observed: Any, factors: int) -> Any:
    """Return probabilities of ones by a number of factors."""
    seen, x, left, right = _begun(values, observed, factors)
    for _ in range(_UPDATES):
        left *= (
            (x / np.maximum(left @ right, _LEAST)) @ right.T / np.maximum(seen @ right.T, _LEAST)
        )
        right *= left.T @ (x / np.maximum(left @ right, _LEAST)) / np.maximum(left.T @ seen, _LEAST)
    least = 0.5 / len(values)
    return np.clip(left @ right, least, 1.0 - least)


def gaussian_nmf(values: Any, observed: Any, factors: int) -> Normal:
    """Return means, and noise by column, by a number of factors."""
    seen, x, left, right = _begun(values, observed, factors)
    for _ in range(_UPDATES):
        left *= x @ right.T / np.maximum((seen * (left @ right)) @ right.T, _LEAST)
        right *= left.T @ x / np.maximum(left.T @ (seen * (left @ right)), _LEAST)
    return normal(left @ right, values, observed)


def _begun(values: Any, observed: Any, factors: int) -> tuple[Any, Any, Any, Any]:
    """Return what is seen, zeros for what is hidden, and random W and H of the right size."""
    rng, (n, dims) = np.random.default_rng(0), values.shape
    x = np.where(observed, values, 0.0)
    left, right = rng.random((n, factors)) + 0.1, rng.random((factors, dims)) + 0.1
    right *= x.sum() / max(float((left @ right)[observed].sum()), _LEAST)
    return observed.astype(float), x, left, right
