"""Could the model have made these data: checks of what each draw leaves over.

Residuals e of a draw (`residuals`) are independent standard normal numbers if the model is right.
Every check is a statistic of e, and of the rows z and features A of the draw, whose law is then
known; a column of e that is larger than it should be is brought to mean square 1 first, so that one
fault does not set off all checks.

- column mean, column spread: sum e/sqrt(n) and sum e^2 of each column (the spread if too large);
- largest entry, entries beyond 3: max |e|, and how many |e| > 3;
- largest row: sum_d e_nd^2, as a normal score g_n, the largest of all rows;
- residuals together: the largest eigenvalue of E'E/N, beside noise with the same entries missing;
- neighbouring rows: sum e_nd e_{n+1,d};
- mean by count: means of e over the rows with k features, for each k and each column;
- spread by count: the slope of g_n over the count |z_n|;
- strength of features: sum over rows with feature i of (e_n . A_i)^2, standardised;
- features left out: the same over the rows without it.

A p-value is the median over draws; twice that is a p-value whatever the dependence of the draws
(Rueger 1978). That over several columns or features is multiplied by their number, and that of all
checks by the number of checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc, chdtr, chdtrc, gammaincc, ndtr, ndtri

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import Data, Likelihood, LinearGaussian
from ribp.likelihoods.base import BoolArray, Rows
from ribp.posterior.draws import Draws
from ribp.posterior.residuals import Seen, residuals, seen

__all__ = ["Checks", "checks"]

_FAR = 3.0
_NOISE = 60  # replicates of pure noise
_MOST_COLUMNS = 200  # of a matrix whose eigenvalues are wanted
_LEAST_ROWS = 8
_LEAST_SHARE = 0.1  # of a feature that a row must show
_LEAST = 1e-300  # of a probability
_TRACY_WIDOM = 46.446  # the gamma law of this shape has its skewness (Chiani 2014)


@dataclass(frozen=True)
class Checks:
    """p-values of all checks, small where the model does not fit; `print` it."""

    p_values: dict[str, FloatArray]
    """By check: one for each column or feature, or a single one."""

    def lowest(self, name: str) -> float:
        """Return the lowest p-value of a check, times the number of columns or features."""
        p = self.p_values[name]
        return min(1.0, p.size * float(p.min())) if p.size else 1.0

    def worst(self, name: str) -> int:
        """Return which column or feature has it."""
        return int(self.p_values[name].argmin())

    def corrected(self, name: str) -> float:
        """Return the lowest p-value of a check, corrected for all checks and for the draws."""
        return min(1.0, 2.0 * len(self.p_values) * self.lowest(name))

    def __str__(self) -> str:
        lines = ["check                 number     lowest  corrected"]
        for name, p in self.p_values.items():
            if p.size:
                low, corrected = float(p.min()), self.corrected(name)
                lines.append(f"{name:20} {p.size:7d}  {low:9.2g}  {corrected:9.2g}")
        return "\n".join([*lines, "(p-values; corrected: for all columns, features and checks)"])


def checks(
    rng: np.random.Generator, draws: Draws, likelihood: Likelihood[Any], data: Data
) -> Checks:
    """Return p-values of all checks; 1 where too little was observed to tell."""
    at = seen(data)
    noise = _eigenvalues_of_noise(rng, at)
    found = []
    for s, given in enumerate(draws.parameters):
        e = residuals(rng, draws, s, likelihood, at)
        loadings = given.features[:, at.columns]
        if isinstance(likelihood, LinearGaussian):
            loadings = loadings / given.noise_scale[at.columns]
        found.append(_p_values(e, draws.unpacked(s), loadings, at, noise))
    return Checks({name: np.median([p[name] for p in found], axis=0) for name in found[0]})


def _p_values(
    e: FloatArray, rows: Rows, loadings: FloatArray, at: Seen, noise: tuple[float, float]
) -> dict[str, FloatArray]:
    """Return the p-values of one draw, each an array."""
    p: dict[str, Any] = {}
    entries = at.observed.sum(axis=0)
    squares = (e**2).sum(axis=0)
    p["column mean"] = _of_columns(_two_sided(e.sum(axis=0) / np.sqrt(entries)), at)
    p["column spread"] = _of_columns(chdtrc(entries, squares), at)
    e = e / np.sqrt(np.maximum(squares / entries, 1.0))
    p["largest entry"], p["entries beyond 3"] = _far(e, int(entries.sum()))
    p["residuals together"] = _tracy_widom(_largest_eigenvalue(e), *noise)
    p["neighbouring rows"] = _neighbours(e, at.observed)
    count = rows.sum(axis=1, dtype=np.int64)
    p["mean by count"] = _by_count(e, at.observed, count)
    p["largest row"], p["spread by count"] = _rows(e, at.observed, count)
    p["strength of features"], p["features left out"] = _along(e, rows, loadings, at.observed)
    return {name: np.atleast_1d(value) for name, value in p.items()}


def _two_sided(z: Any) -> Any:
    return 2.0 * ndtr(-np.abs(z))


def _of_columns(p: FloatArray, at: Seen) -> FloatArray:
    """Return p-values of all columns of the data."""
    found = np.ones(at.columns.size)
    found[at.columns] = p
    return found


def _far(e: FloatArray, entries: int) -> tuple[float, float]:
    if not entries:
        return 1.0, 1.0
    size = np.abs(e)
    far, share = int((size > _FAR).sum()), float(_two_sided(_FAR))
    beyond = float(bdtrc(far - 1, entries, share)) if far else 1.0
    return min(1.0, entries * float(_two_sided(size.max()))), beyond


def _largest_eigenvalue(e: FloatArray) -> float:
    """Return that of E'E/N, of at most 200 columns evenly spaced."""
    e = e[:, :: -(-e.shape[1] // _MOST_COLUMNS)] if e.shape[1] else e
    if min(e.shape) < 2:
        return 0.0
    product = e.T @ e if e.shape[1] <= e.shape[0] else e @ e.T
    return float(np.linalg.eigvalsh(product)[-1]) / len(e)


def _eigenvalues_of_noise(rng: np.random.Generator, at: Seen) -> tuple[float, float]:
    """Return mean and deviation of the largest eigenvalue of noise, the same entries missing."""
    if min(at.values.shape) < 2 or len(at.values) < _LEAST_ROWS:
        return 0.0, 0.0
    found = []
    for _ in range(_NOISE):
        e = np.where(at.observed, rng.standard_normal(at.values.shape), 0.0)
        mean_square = (e**2).sum(axis=0) / at.observed.sum(axis=0)
        found.append(_largest_eigenvalue(e / np.sqrt(np.maximum(mean_square, 1.0))))
    return float(np.mean(found)), float(np.std(found, ddof=1))


def _tracy_widom(value: float, mean: float, deviation: float) -> float:
    """Return P(largest eigenvalue > value), of the skewness of the Tracy-Widom law."""
    if deviation == 0.0:
        return 1.0
    z = (value - mean) / deviation
    shape = _TRACY_WIDOM
    return float(gammaincc(shape, max(shape + z * np.sqrt(shape), 0.0)))


def _neighbours(e: FloatArray, observed: BoolArray) -> float:
    pairs = int((observed[1:] & observed[:-1]).sum())
    total = float((e[1:] * e[:-1]).sum())
    return float(ndtr(-total / np.sqrt(pairs))) if pairs else 1.0


def _by_count(e: FloatArray, observed: BoolArray, count: IntArray) -> float:
    """Return P(sum_kd n_kd mean_kd^2 is larger), chi-squared."""
    group = (count[:, None] == np.unique(count)).astype(np.float64)
    number = group.T @ observed
    squares = (group.T @ e) ** 2 / np.maximum(number, 1.0)
    cells = np.count_nonzero(number)
    return float(chdtrc(cells, squares.sum())) if cells else 1.0


def _rows(e: FloatArray, observed: BoolArray, count: IntArray) -> tuple[float, float]:
    """Return p-values of the largest row and of the slope of row sizes over counts."""
    entries = observed.sum(axis=1)
    some = entries > 0
    if np.count_nonzero(some) < 2:
        return 1.0, 1.0
    squares = (e**2).sum(axis=1)[some]
    above = np.maximum(chdtrc(entries[some], squares), _LEAST)
    scores = np.where(above < 0.5, -ndtri(above), ndtri(chdtr(entries[some], squares)))
    around = count[some] - count[some].mean()
    spread = float(around @ around)
    slope = float(around @ scores) / np.sqrt(spread) if spread > 0.0 else 0.0
    return min(1.0, float(above.min()) * above.size), float(_two_sided(slope))


def _along(
    e: FloatArray, rows: Rows, loadings: FloatArray, observed: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return p-values of e along each feature, over the rows that have it and those without."""
    length = np.sqrt((loadings**2).sum(axis=1))
    unit = loadings / np.where(length > 0.0, length, 1.0)[:, None]
    share = observed.astype(np.float64) @ (unit**2).T
    clear = share > _LEAST_SHARE
    squares = np.where(clear, (e @ unit.T) ** 2 / np.where(clear, share, 1.0), 0.0)
    used = rows.any(axis=0)
    found = []
    for which in (rows > 0, rows == 0):
        number = (which & clear).sum(axis=0)
        total = (which * squares).sum(axis=0)
        told = used & (number > 0)
        found.append(np.where(told, chdtrc(np.maximum(number, 1), total), 1.0))
    return found[0], found[1]
