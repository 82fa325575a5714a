"""Answers by brute force: every row of a small law, or sums in many-digit decimal arithmetic.

Nothing here is fast, and nothing shares code with what it checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, localcontext

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ribp.checks import FloatArray
from ribp.counts import CountLaw

__all__ = ["all_rows", "esp", "inclusion_probs", "log_esp", "pair_prob", "row_probs"]

# Sums of positive terms lose a few digits at most; exponents may be as large as theta is.
_MANY_DIGITS = Context(prec=50, Emax=10**15, Emin=-(10**15))


def all_rows(features: int) -> NDArray[np.int8]:
    """Return all 0/1 rows, shape (2**features, features); row r holds the bits of r."""
    numbers = np.arange(2**features)
    return ((numbers[:, None] >> np.arange(features)) & 1).astype(np.int8)


def row_probs(log_odds: ArrayLike, counts: CountLaw, kind: str = "mixture") -> FloatArray:
    """Return P(z) for `all_rows` under the mixture or the tilted law, from its definition."""
    theta = np.asarray(log_odds, dtype=float)
    rows = all_rows(theta.size)
    f = [float(p) for p in counts.probs(theta.size)]
    with localcontext(_MANY_DIGITS):
        odds = _odds(theta)
        mass = [_product(w for w, on in zip(odds, row, strict=True) if on) for row in rows]
        ones = [int(row.sum()) for row in rows]
        if kind == "mixture":
            of_count = [Decimal(0)] * (theta.size + 1)
            for k, m in zip(ones, mass, strict=True):
                of_count[k] += m
            mass = [m / of_count[k] if m else m for k, m in zip(ones, mass, strict=True)]
            f = [p if e else 0.0 for p, e in zip(f, of_count, strict=True)]
        mass = [Decimal(f[k]) * m for k, m in zip(ones, mass, strict=True)]
        total = sum(mass)
        return np.array([float(m / total) for m in mass])


def esp(log_odds: ArrayLike, k_max: int) -> list[Decimal]:
    """Return e_0 .. e_k_max with 50 digits."""
    with localcontext(_MANY_DIGITS):
        return _extend([Decimal(1)], _odds(np.asarray(log_odds, dtype=float)), k_max)[-1]


def log_esp(log_odds: ArrayLike, k_max: int) -> FloatArray:
    """Return log e_0 .. log e_k_max, each rounded once."""
    values = esp(log_odds, k_max)
    with localcontext(_MANY_DIGITS):
        return np.array([float(e.ln()) if e else -np.inf for e in values])


def inclusion_probs(log_odds: ArrayLike, k: int) -> FloatArray:
    """Return P(z_i = 1) given k ones, by joining the sums before and after each feature."""
    theta = np.asarray(log_odds, dtype=float)
    with localcontext(_MANY_DIGITS):
        odds = _odds(theta)
        before = _extend([Decimal(1)], odds, k)
        after = _extend([Decimal(1)], odds[::-1], k)[::-1]
        total = before[-1][k]
        return np.array(
            [
                float(w * _convolved(before[i], after[i + 1], k - 1) / total)
                for i, w in enumerate(odds)
            ]
        )


def pair_prob(log_odds: ArrayLike, k: int, i: int, j: int) -> float:
    """Return P(z_i = z_j = 1) given k ones, for i != j, from the sums without both."""
    theta = np.asarray(log_odds, dtype=float)
    if k < 2:
        return 0.0
    with localcontext(_MANY_DIGITS):
        odds = _odds(theta)
        others = [w for at, w in enumerate(odds) if at not in (i, j)]
        rest = _extend([Decimal(1)], others, k - 2)[-1]
        total = _extend([Decimal(1)], odds, k)[-1][k]
        return float(odds[i] * odds[j] * rest[k - 2] / total) if len(rest) > k - 2 else 0.0


def _odds(theta: FloatArray) -> list[Decimal]:
    return [Decimal(float(t)).exp() if np.isfinite(t) else Decimal(0) for t in theta]


def _product(values: Iterable[Decimal]) -> Decimal:
    result = Decimal(1)
    for value in values:
        result *= value
    return result


def _extend(start: list[Decimal], odds: Sequence[Decimal], k_max: int) -> list[list[Decimal]]:
    """Return [e(0 features), e(1 feature), ...], each a list of e_0 .. e_min(k_max, features)."""
    tables = [start]
    for w in odds:
        last = tables[-1]
        new = [
            (last[j] if j < len(last) else Decimal(0)) + (w * last[j - 1] if j else Decimal(0))
            for j in range(min(k_max, len(last)) + 1)
        ]
        tables.append(new)
    return tables


def _convolved(left: list[Decimal], right: list[Decimal], k: int) -> Decimal:
    return sum(
        (
            left[j] * right[k - j]
            for j in range(max(0, k - len(right) + 1), min(k, len(left) - 1) + 1)
        ),
        Decimal(0),
    )
