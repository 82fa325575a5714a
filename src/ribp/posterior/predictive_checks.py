"""Could the model have made these data: posterior predictive checks.

Data are drawn anew from draws of the posterior, with the same rows and the same entries missing.
For a statistic T the p-value is P(T(replicate) > T(data)) + P(equal)/2: near 0 if the data have
more of it than the model makes, near 1 if they have less. Statistics: the mean and the standard
deviation of each column, the largest entry, and the sum of each row. Replicates use the rows that
were fitted to the data, so these p-values lie nearer to the middle than uniform ones: extreme ones
count, middling ones prove little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ribp.checks import FloatArray
from ribp.likelihoods import Data, Likelihood
from ribp.posterior.draws import Draws
from ribp.posterior.predict import posterior_predictive

__all__ = ["Checks", "checks"]

_EXTREME = 0.01


@dataclass(frozen=True)
class Checks:
    """Posterior predictive p-values of statistics; `print` it."""

    p_values: dict[str, FloatArray]
    """By statistic: one for each column or row, or a single one."""

    def extreme(self, name: str) -> float:
        """Return the share of p-values below 0.01 or above 0.99."""
        p = self.p_values[name]
        return float(((p < _EXTREME) | (p > 1.0 - _EXTREME)).mean())

    def __str__(self) -> str:
        lines = ["statistic         number   lowest  median  highest  extreme"]
        for name, p in self.p_values.items():
            lines.append(
                f"{name:16} {p.size:7d}  {p.min():7.3f} {np.median(p):7.3f}  {p.max():7.3f}"
                f"  {self.extreme(name):7.0%}"
            )
        return "\n".join([*lines, "(p-values; extreme: below 0.01 or above 0.99)"])


def checks(
    rng: np.random.Generator,
    draws: Draws,
    likelihood: Likelihood[Any],
    data: Data,
    n_draws: int = 200,
) -> Checks:
    """Return p-values of the statistics above."""
    seen = np.ones(data.values.shape, bool) if data.complete else data.observed
    real = _statistics(data.values, seen)
    above = {name: np.zeros(np.shape(value)) for name, value in real.items()}
    for values in posterior_predictive(rng, draws, likelihood, n_draws):
        for name, value in _statistics(values, seen).items():
            above[name] += (value > real[name]) + 0.5 * (value == real[name])
    return Checks({name: total / n_draws for name, total in above.items()})


def _statistics(values: FloatArray, seen: Any) -> dict[str, FloatArray]:
    """Return the statistics of the observed entries; columns never observed are left out."""
    number = seen.sum(axis=0)
    columns = number > 0
    x = np.where(seen, values, 0.0)
    mean = x.sum(axis=0)[columns] / number[columns]
    around = np.where(seen[:, columns], values[:, columns] - mean, 0.0)
    return {
        "column mean": mean,
        "column deviation": np.sqrt((around**2).sum(axis=0) / number[columns]),
        "largest entry": np.where(seen, values, -np.inf).max(keepdims=True).ravel(),
        "row sum": x.sum(axis=1)[seen.any(axis=1)],
    }
