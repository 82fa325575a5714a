"""MOFA+ (mofapy2), by an interpreter that has it (`experiments.rivals.others`).

Of zeros and ones (Bernoulli) it has no intercepts and shrinks: each column gets an intercept and a
slope of its logit, fitted to what was observed. Of numbers (Gaussian) it takes the means of columns
off, which are added here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from experiments.rivals.masked import LEAST_RIDGE, Normal, Predict, newton_step, normal
from experiments.rivals.others import ask


class Factors(NamedTuple):
    """Scores, shape (rows, factors), and weights, shape (dims, factors)."""

    scores: Any
    weights: Any


def factors(python: Path, values: Any, likelihood: str, number: int, seed: int) -> Factors:
    """Return so many factors; likelihood is "bernoulli" or "gaussian", and NaN were hidden."""
    return Factors(
        **ask(python, "mofa", values=values, likelihood=likelihood, factors=number, seed=seed)
    )


def bernoulli(python: Path, seed: int) -> Predict:
    """Return a way to predict zeros and ones by so many factors."""

    def predict(values: Any, observed: Any, number: int) -> Any:
        shown = np.where(observed, values, np.nan)
        found = factors(python, shown, "bernoulli", number, seed)
        logits = found.scores @ found.weights.T
        fitted = [_line(*column) for column in zip(logits.T, values.T, observed.T, strict=True)]
        return expit(np.column_stack(fitted))

    return predict


def gaussian(python: Path, seed: int) -> Predict:
    """Return a way to predict numbers by so many factors."""

    def predict(values: Any, observed: Any, number: int) -> Normal:
        shown = np.where(observed, values, np.nan)
        found = factors(python, shown, "gaussian", number, seed)
        mean = found.scores @ found.weights.T + np.nanmean(shown, axis=0)
        return normal(mean, values, observed)

    return predict


def _line(logits: Any, values: Any, observed: Any) -> Any:
    """Return logits after intercept and slope were fitted to what was observed."""
    inputs = np.column_stack([np.ones(len(logits)), logits])
    line, ridge = np.array([[0.0, 1.0]]), np.full(2, LEAST_RIDGE)
    for _ in range(20):
        line = newton_step(
            inputs, line, np.zeros((1, len(logits))), values[None], observed[None], ridge
        )
    return inputs @ line[0]
