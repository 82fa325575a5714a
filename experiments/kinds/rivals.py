"""Other models of tables of zeros and ones: log densities of hidden entries.

- logistic PCA: logit p = b + U V', a penalty on U and V, by alternating Newton steps for rows and
  columns (each a ridge-penalised logistic regression);
- NMF: p = W H by multiplicative updates for the Kullback-Leibler divergence, hidden entries left
  out; p is kept between 1/(2N) and 1 - 1/(2N);
- MOFA+ (mofapy2), Bernoulli entries, in an environment of its own (`experiments.kinds.others`). It
  has no intercepts and shrinks: each column gets an intercept and a slope of its logit, fitted to
  what was observed.

Numbers of factors, and the penalty, are chosen on a tenth of what was observed; MOFA+ has eight
factors, and switches off those that it does not need.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

FACTORS = (1, 2, 4, 8)
PENALTIES = (1.0, 4.0)
_ROUNDS, _UPDATES = 15, 300
_LEAST = 1e-3  # of the ridge of intercepts and slopes

Predict = Callable[[Any, Any, Any], Any]
"""From values, which are observed, and a setting to probabilities of ones."""


def scored(probs: Any, values: Any, where: Any) -> float:
    """Return the mean log probability of entries."""
    return float(np.log(np.where(values > 0, probs, 1.0 - probs))[where].mean())


def chosen(predict: Predict, settings: Any, values: Any, hidden: Any, seed: int) -> Any:
    """Return probabilities by the setting that predicts a tenth of what was observed best."""
    rng = np.random.default_rng([seed, 7])
    inner = ~hidden & (rng.random(values.shape) < 0.1)
    tried = [scored(predict(values, ~hidden & ~inner, one), values, inner) for one in settings]
    return predict(values, ~hidden, settings[int(np.argmax(tried))])


def logistic_pca(values: Any, observed: Any, setting: tuple[int, float]) -> Any:
    """Return probabilities of ones."""
    factors, penalty = setting
    rng, (n, dims) = np.random.default_rng(0), values.shape
    left = np.column_stack([np.ones(n), 0.1 * rng.normal(size=(n, factors))])
    right = np.zeros((dims, factors + 1))
    ridge = np.r_[_LEAST, np.full(factors, penalty)]
    for _ in range(_ROUNDS):
        right = _newton(left, right, np.zeros((dims, n)), values.T, observed.T, ridge)
        left[:, 1:] = _newton(
            right[:, 1:], left[:, 1:], np.tile(right[:, 0], (n, 1)), values, observed, ridge[1:]
        )
    return expit(left @ right.T)


def _newton(inputs: Any, now: Any, offset: Any, values: Any, observed: Any, ridge: Any) -> Any:
    """Return a Newton step of all logistic regressions of lines of values on the same inputs."""
    p = expit(now @ inputs.T + offset)
    weights = np.where(observed, np.maximum(p * (1 - p), 0.02), 0.0)
    slope = np.where(observed, values - p, 0.0) @ inputs - now * ridge
    bend = np.einsum("ld,dj,dk->ljk", weights, inputs, inputs, optimize=True) + np.diag(ridge)
    return now + np.clip(np.linalg.solve(bend, slope[..., None])[..., 0], -2.0, 2.0)


def nmf(values: Any, observed: Any, factors: int) -> Any:
    """Return probabilities of ones."""
    rng, seen = np.random.default_rng(0), observed.astype(float)
    x, (n, dims) = np.where(observed, values, 0.0), values.shape
    left, right = rng.random((n, factors)) + 0.1, rng.random((factors, dims)) + 0.1
    right *= x.sum() / max(float((left @ right)[observed].sum()), 1e-9)
    for _ in range(_UPDATES):
        left *= (x / np.maximum(left @ right, 1e-9)) @ right.T / np.maximum(seen @ right.T, 1e-9)
        right *= left.T @ (x / np.maximum(left @ right, 1e-9)) / np.maximum(left.T @ seen, 1e-9)
    least = 0.5 / n
    return np.clip(left @ right, least, 1.0 - least)


def mofa(python: Path, seed: int) -> Predict:
    """Return MOFA+ as a way to predict, by an interpreter that has it."""

    def predict(values: Any, observed: Any, factors: int) -> Any:
        script = Path(__file__).with_name("others.py")
        with tempfile.TemporaryDirectory() as folder:
            given, out = Path(folder) / "in.npz", Path(folder) / "out.npz"
            shown = np.where(observed, values, np.nan)
            np.savez(given, values=shown, factors=factors, seed=seed)
            command = [str(python), str(script), "mofa", str(given), str(out)]
            subprocess.run(command, check=True, capture_output=True)
            probs = np.load(out)["probs"]
        logits = np.log(probs) - np.log1p(-probs)
        fitted = [_line(*column) for column in zip(logits.T, values.T, observed.T, strict=True)]
        return expit(np.column_stack(fitted))

    return predict


def _line(logits: Any, values: Any, observed: Any) -> Any:
    """Return logits after intercept and slope were fitted to what was observed."""
    inputs = np.column_stack([np.ones(len(logits)), logits])
    line, ridge = np.array([[0.0, 1.0]]), np.full(2, _LEAST)
    for _ in range(20):
        line = _newton(
            inputs, line, np.zeros((1, len(logits))), values[None], observed[None], ridge
        )
    return inputs @ line[0]
