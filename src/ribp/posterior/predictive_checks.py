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

Each has a size beside its p-value, a plain number that noise keeps near what `NOISE` says: with
many rows a p-value is small for a fault that does not matter.

A p-value is the median over draws; twice that is a p-value whatever the dependence of the draws
(Rueger 1978). That over several columns or features is multiplied by their number, and that of all
checks by the number of checks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtrc, chdtr, chdtrc, chdtri, gammaincc, ndtr, ndtri, stdtr

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import Data, Likelihood
from ribp.likelihoods.data import BoolArray, Rows
from ribp.posterior.draws import Draws
from ribp.posterior.residuals import CheckedColumns, checked_columns, residuals

NOISE = {
    "column mean": 0.0, "column spread": 1.0, "largest entry": 4.0, "entries beyond 3": 0.0027,
    "largest row": 1.0, "residuals together": 1.0, "neighbouring rows": 0.0, "mean by count": 1.0,
    "spread by count": 0.0, "strength of features": 1.0, "features left out": 1.0,
}  # fmt: skip
"""Size of each check in pure noise: means and correlations 0, ratios of squares 1."""
_FAR = 3.0
_NOISES = 60  # replicates of pure noise
_MOST_COLUMNS = 200  # of a matrix whose eigenvalues are wanted
_LEAST_ROWS = 8
_LEAST_SHARE = 0.1  # of a feature that a row must show
_LEAST = 1e-300  # of a probability
_TRACY_WIDOM = 46.446  # the gamma law of this shape has its skewness (Chiani 2014)


class Checked(NamedTuple):
    """One check: the worst of its columns or features."""

    p_value: float
    """Corrected for all columns or features, checks and draws."""
    size: float
    """How large it is; see `NOISE`."""
    worst: int
    """Which column or feature, the most popular feature first."""


class _CheckOfDraw(NamedTuple):
    """One check of one draw: an array for columns or features, or a single number."""

    p_value: Any
    size: Any


_NOTHING = _CheckOfDraw(1.0, 0.0)  # that could be checked


@dataclass(frozen=True)
class Checks:
    """p-values of all checks, small where the model does not fit; `print` it."""

    p_values: dict[str, FloatArray]
    """By check: one for each column or feature, or a single one."""
    sizes: dict[str, FloatArray]
    """How large each is; see `NOISE`."""

    @property
    def worst(self) -> dict[str, Checked]:
        """The worst column or feature of each check that was possible."""
        worst = {}
        for name, p in self.p_values.items():
            if p.size:
                at, number = int(p.argmin()), 2.0 * len(self.p_values) * p.size
                corrected = min(1.0, number * float(p[at]))
                worst[name] = Checked(corrected, float(self.sizes[name][at]), at)
        return worst

    def __str__(self) -> str:
        lines = ["check                 number   worst      size  in noise   p-value"]
        for name, (p, size, at) in self.worst.items():
            number = self.p_values[name].size
            which = str(at) if number > 1 else ""
            lines.append(
                f"{name:20} {number:7d} {which:>7}  {size:8.3g}  {NOISE[name]:8.3g}  {p:8.2g}"
            )
        return "\n".join([*lines, "(of the worst column or feature, corrected for all)"])


def checks(
    rng: np.random.Generator, draws: Draws, likelihood: Likelihood[Any], data: Data
) -> Checks:
    """Return p-values of all checks; 1 where too little was observed to tell."""
    at = checked_columns(data)
    noise = _eigenvalues_of_noise(rng, at)
    of_draws = []
    for s, parameters in enumerate(draws.parameters):
        e = residuals(rng, draws, s, likelihood, at)
        law, of_columns = likelihood.on_columns(parameters, at.columns)
        loadings = law.loadings(of_columns)
        of_draws.append(_check(e, draws.unpacked(s), loadings, at, noise))
    p_values, sizes = (
        {
            name: np.atleast_1d(np.median([one[name][k] for one in of_draws], axis=0))
            for name in NOISE
        }
        for k in range(2)
    )
    return Checks(p_values, sizes)


def _check(
    e: FloatArray, rows: Rows, loadings: FloatArray, at: CheckedColumns, noise: tuple[float, float]
) -> dict[str, _CheckOfDraw]:
    """Return all checks of one draw."""
    results: dict[str, _CheckOfDraw] = {}
    entries = at.observed.sum(axis=0)
    means, squares = e.sum(axis=0) / entries, (e**2).sum(axis=0)
    results["column mean"] = _of_columns(_two_sided(means * np.sqrt(entries)), means, at)
    spread = np.sqrt(squares / entries)
    results["column spread"] = _of_columns(chdtrc(entries, squares), spread, at)
    e = e / np.maximum(spread, 1.0)
    results["largest entry"], results["entries beyond 3"] = _far(e, int(entries.sum()))
    results["residuals together"] = _together(e, *noise)
    results["neighbouring rows"] = _neighbours(e, at.observed)
    count = rows.sum(axis=1, dtype=np.int64)
    results["mean by count"] = _by_count(e, at.observed, count)
    results["largest row"], results["spread by count"] = _rows(e, at.observed, count)
    along = _along(e, rows, loadings, at.observed)
    results["strength of features"], results["features left out"] = along
    return results


def _two_sided(z: Any) -> Any:
    return 2.0 * ndtr(-np.abs(z))


def _of_columns(p: FloatArray, size: FloatArray, at: CheckedColumns) -> _CheckOfDraw:
    """Return a check of all columns of the data."""
    result = _CheckOfDraw(np.ones(at.columns.size), np.zeros(at.columns.size))
    result.p_value[at.columns], result.size[at.columns] = p, size
    return result


def _far(e: FloatArray, entries: int) -> tuple[_CheckOfDraw, _CheckOfDraw]:
    if not entries:
        return _NOTHING, _NOTHING
    largest = float(np.abs(e).max())
    far, share = int((np.abs(e) > _FAR).sum()), float(_two_sided(_FAR))
    beyond = float(bdtrc(far - 1, entries, share)) if far else 1.0
    return (
        _CheckOfDraw(min(1.0, entries * float(_two_sided(largest))), largest),
        _CheckOfDraw(beyond, far / entries),
    )


def _together(e: FloatArray, mean: float, deviation: float) -> _CheckOfDraw:
    """Return P(largest eigenvalue is larger), by a law of the skewness of Tracy and Widom's.

    Mean and deviation are those of a sample, so a score counts as one of Student's law.
    """
    if deviation == 0.0:
        return _NOTHING
    value, shape = _largest_eigenvalue(e), _TRACY_WIDOM
    student = (value - mean) / (deviation * math.sqrt(1.0 + 1.0 / _NOISES))
    normal = -float(ndtri(max(stdtr(_NOISES - 1, -student), _LEAST)))
    score = shape + normal * math.sqrt(shape)
    return _CheckOfDraw(float(gammaincc(shape, max(score, 0.0))), value / mean)


def _largest_eigenvalue(e: FloatArray) -> float:
    """Return that of E'E/N, of at most 200 columns evenly spaced."""
    e = e[:, :: -(-e.shape[1] // _MOST_COLUMNS)]
    product = e.T @ e if e.shape[1] <= e.shape[0] else e @ e.T
    return float(np.linalg.eigvalsh(product)[-1]) / len(e)


def _eigenvalues_of_noise(rng: np.random.Generator, at: CheckedColumns) -> tuple[float, float]:
    """Return mean and deviation of the largest eigenvalue of noise, the same entries missing."""
    if at.values.shape[1] < 2 or len(at.values) < _LEAST_ROWS:
        return 0.0, 0.0
    values = []
    for _ in range(_NOISES):
        e = np.where(at.observed, rng.standard_normal(at.values.shape), 0.0)
        spread = np.sqrt((e**2).sum(axis=0) / at.observed.sum(axis=0))
        values.append(_largest_eigenvalue(e / np.maximum(spread, 1.0)))
    return float(np.mean(values)), float(np.std(values, ddof=1))


def _neighbours(e: FloatArray, observed: BoolArray) -> _CheckOfDraw:
    pairs = int((observed[1:] & observed[:-1]).sum())
    if not pairs:
        return _NOTHING
    total = float((e[1:] * e[:-1]).sum())
    return _CheckOfDraw(float(ndtr(-total / math.sqrt(pairs))), total / pairs)


def _by_count(e: FloatArray, observed: BoolArray, count: IntArray) -> _CheckOfDraw:
    """Return P(sum_kd n_kd mean_kd^2 is larger), chi-squared."""
    group = (count[:, None] == np.unique(count)).astype(np.float64)
    number = group.T @ observed
    squares = float(((group.T @ e) ** 2 / np.maximum(number, 1.0)).sum())
    cells = np.count_nonzero(number)
    return _CheckOfDraw(float(chdtrc(cells, squares)), squares / cells) if cells else _NOTHING


def _rows(e: FloatArray, observed: BoolArray, count: IntArray) -> tuple[_CheckOfDraw, _CheckOfDraw]:
    """Return checks of the largest row, and of the slope of row sizes over counts."""
    some = observed.any(axis=1)
    entries, squares = observed.sum(axis=1)[some], (e**2).sum(axis=1)[some]
    if entries.size < 2:
        return _NOTHING, _NOTHING
    above = np.maximum(chdtrc(entries, squares), _LEAST)
    below = np.maximum(chdtr(entries, squares), _LEAST)  # nothing may be left over of a row
    scores = np.where(above < 0.5, -ndtri(above), ndtri(below))
    at = int(above.argmin())
    typical = float(chdtri(entries[at], 1.0 / above.size))  # of the largest of so many rows
    largest = _CheckOfDraw(min(1.0, float(above[at]) * above.size), float(squares[at]) / typical)
    around = count[some] - count[some].mean()
    spread = math.sqrt(float(around @ around))
    if spread == 0.0:
        return largest, _NOTHING
    slope = float(around @ scores) / spread
    size = float(np.linalg.norm(scores - scores.mean()))
    return largest, _CheckOfDraw(float(_two_sided(slope)), slope / (size or 1.0))


def _along(
    e: FloatArray, rows: Rows, loadings: FloatArray, observed: BoolArray
) -> tuple[_CheckOfDraw, _CheckOfDraw]:
    """Return checks of e along each feature, over the rows that have it and those without."""
    length = np.sqrt((loadings**2).sum(axis=1))
    unit = loadings / np.where(length > 0.0, length, 1.0)[:, None]
    share = observed.astype(np.float64) @ (unit**2).T
    clear = share > _LEAST_SHARE
    squares = np.where(clear, (e @ unit.T) ** 2 / np.where(clear, share, 1.0), 0.0)
    results = []
    for which in (rows > 0, rows == 0):
        number = np.where(rows.any(axis=0), (which & clear).sum(axis=0), 0)
        total = (which * squares).sum(axis=0)
        p = np.where(number > 0, chdtrc(np.maximum(number, 1), total), 1.0)
        results.append(_CheckOfDraw(p, total / np.maximum(number, 1)))
    return results[0], results[1]
