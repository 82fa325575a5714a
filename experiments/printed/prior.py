"""Prior samplers as printed, for concentration 1: retrospective, kept rows only, thinned rows.

Symbols: mass alpha, J ones in a row, stick-breaking weights pi_1 > pi_2 > ...
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ribp.counts import CountLaw
from ribp.measures import BetaProcess
from ribp.prior.draw import Draw
from ribp.prior.simulation import simulate

__all__ = ["kept_only_probs", "kept_only_rows", "retrospective_rows", "thinned_rows"]


def thinned_rows(rng: np.random.Generator, n_rows: int, counts: CountLaw, mass: float) -> Draw:
    """Include each row of an Indian buffet with probability f(|z|).

    Printed as the R-IBP for any f; it is the tilted law, where counts are not distributed as f.
    """
    measure = BetaProcess(mass)
    return simulate(
        rng, n_rows=n_rows, counts=counts, measure=measure, method="collapsed", kind="tilted"
    )


def kept_only_probs(taken: list[int], mass: Fraction) -> tuple[list[Fraction], Fraction]:
    """Return the law of the next row with exactly one dish, if only KEPT rows had counted.

    `taken` are the numbers of kept rows that hold each dish, every kept row holding one. Returns
    P(old dish i) for each i, and P(a new dish), as exact fractions: the factor exp(-alpha/n) of the
    Poisson law cancels.
    """
    n = sum(taken) + 1
    none = Fraction(1)
    for m in taken:
        none *= 1 - Fraction(m, n)
    old = [none * Fraction(m, n) / (1 - Fraction(m, n)) for m in taken]
    new = none * mass / n
    total = sum(old, new)
    return [p / total for p in old], new / total


def kept_only_rows(rng: np.random.Generator, mass: float, n_rows: int) -> NDArray[np.int64]:
    """Return the dish of each of `n_rows` rows with one dish, when only kept rows count.

    The paper gives it as a construction that is not exchangeable.
    """
    dishes = np.zeros(n_rows, np.int64)
    taken = [1]
    for n in range(1, n_rows):
        old, new = kept_only_probs(taken, Fraction(mass))
        chance = np.array([float(p) for p in [*old, new]])
        dish = int(rng.choice(chance.size, p=chance / chance.sum()))
        if dish == len(taken):
            taken.append(0)
        taken[dish] += 1
        dishes[n] = dish
    return dishes


def retrospective_rows(
    rng: np.random.Generator, mass: float, ones: int, n_rows: int, start: int, guard: int = 400
) -> list[NDArray[np.int64]]:
    """Return the features of each row by the printed 'exact' sampler.

    A proposal on the atoms instantiated so far has K ones. K > J: reject. K = J: accept with
    probability exp(-alpha pi_I). K < J: with probability Poisson(J - K; alpha pi_I) extend
    the measure until the row has J ones, and accept. It forgets what earlier proposals revealed of
    the tail, and the extension may never end: after `guard` more atoms, which stay, the row is
    proposed again.
    """
    pi = np.cumprod(rng.beta(mass, 1.0, start))
    rows: list[NDArray[np.int64]] = []
    while len(rows) < n_rows:
        z = np.flatnonzero(rng.random(pi.size) < pi)
        rate = mass * pi[-1]
        if z.size > ones:
            continue
        if z.size == ones:
            if rng.random() < np.exp(-rate):
                rows.append(z)
            continue
        if rng.random() >= stats.poisson.pmf(ones - z.size, rate):
            continue
        more = pi[-1] * np.cumprod(rng.beta(mass, 1.0, guard))
        hits = np.flatnonzero(rng.random(guard) < more)
        if hits.size >= ones - z.size:
            hits = hits[: ones - z.size]
            rows.append(np.concatenate([z, pi.size + hits]))
            more = more[: hits[-1] + 1]
        pi = np.concatenate([pi, more])
    return rows
