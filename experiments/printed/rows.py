"""Three steps for rows with finite weights, as printed: thinning, Gibbs flips, marginal draws.

Symbols: odds w_i, count law f, inclusion probabilities eta_{i;J} given J ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray
from ribp.counts import CountLaw
from ribp.symmetric import inclusion_probs, log_esp
from ribp.testing.exact import all_rows

__all__ = ["flip_matrix", "marginal_draws", "thinned_coins"]


def thinned_coins(
    rng: np.random.Generator, log_odds: FloatArray, counts: CountLaw, n: int
) -> NDArray[np.int8]:
    """Throw coins and keep each row with probability f(|z|), until n rows are kept.

    Printed as a sampler of the R-IBP for any f; it samples the tilted law.
    """
    f = counts.probs(log_odds.size)
    kept = np.empty((0, log_odds.size), np.int8)
    while len(kept) < n:
        coins = rng.random((4096, log_odds.size)) < 1 / (1 + np.exp(-log_odds))
        keep = rng.random(4096) < f[coins.sum(axis=1)]
        kept = np.vstack([kept, coins[keep].astype(np.int8)])
    return kept[:n]


def marginal_draws(
    rng: np.random.Generator, log_odds: FloatArray, ones: int, n: int
) -> NDArray[np.int8]:
    """Go through the features, switch i on with the MARGINAL eta_{i;J}, and lower J by one if on.

    Printed as the draw-by-draw sampler; the right one uses inclusion probabilities among the
    features that remain. Rows do not even have the stated number of ones.
    """
    eta = np.stack([inclusion_probs(log_odds, j) for j in range(ones + 1)])
    rows = np.zeros((n, log_odds.size), np.int8)
    left = np.full(n, ones)
    for i in range(log_odds.size):
        rows[:, i] = rng.random(n) < eta[left, i]
        left -= rows[:, i]
    return rows


def flip_matrix(
    log_odds: FloatArray,
    counts: CountLaw,
    feature: int,
    log_likelihood: FloatArray | None = None,
    *,
    printed: bool = True,
) -> FloatArray:
    """Return the transition matrix over `all_rows` of the Gibbs step for one entry.

    Printed: odds of z_i = 1 are f(k+1)/f(k) * w_i / (sum of w over the features that are off, i
    counted as off). Right: f(k+1)/f(k) * w_i * e_k / e_{k+1}, over ALL features.

    Parameters
    ----------
    log_odds, counts
        The prior of the row.
    feature
        The entry, i.
    log_likelihood
        log p(x | z) for each of `all_rows`; None for none.
    printed
        Whether to take the odds as printed, or the right ones.
    """
    rows = all_rows(log_odds.size)
    w, f = np.exp(log_odds), counts.probs(log_odds.size)
    ratios = np.exp(np.diff(log_esp(log_odds)))  # e_{k+1} / e_k
    heights = np.zeros(len(rows)) if log_likelihood is None else log_likelihood
    matrix = np.zeros((len(rows), len(rows)))
    for r, row in enumerate(rows):
        off = r & ~(1 << feature)
        on = off | (1 << feature)
        k = int(row.sum() - row[feature])
        free = w[(row == 0) | (np.arange(w.size) == feature)].sum()
        up = f[k + 1] * w[feature] / (free if printed else ratios[k])
        gain = heights[on] - heights[off]
        up, down = up * np.exp(min(gain, 0.0)), f[k] * np.exp(min(-gain, 0.0))
        if up + down == 0:
            matrix[r, r] = 1.0
        else:
            matrix[r, on], matrix[r, off] = up / (up + down), down / (up + down)
    return matrix
