"""How much a truncation loses, and what the paper's bounds and ours say it loses.

Take 400 size-ordered atoms as the whole measure (the rest has odds of e^{-80}), keep the first I,
and give a row exactly J ones. With e_k of the odds of the head or of the tail, the tail has k ones
with probability p_k proportional to e_{J-k}(head) e_k(tail), so

    true total variation         TV = sum_{k>=1} p_k = 1 - e_J(head) / e_J(all),
    true error, feature i        sum_{k>=1} p_k (eta_{i;J}(head) - eta_{i;J-k}(head)),
    our bound given the tail     1 - exp(-R_J T),  R_J = e_{J-1}(head) / e_J(head), T: odds of tail
    our bound on average         1 - exp(-R_J E), E = E[T | pi_I],
    our certificate              1 - exp(-R_J T'), T' = E + sqrt(2 x b E) + x b / 3 >= T
                                 except with probability exp(-x) = 1e-9; b: odds of atom I
    the paper's interval         eta_{i;J}(head) / (1 + x) .. eta_{i;J}(head) + pi_i x,
                                 x = (exp(alpha pi_I) - 1) / S_J, S_J = e_J(head) prod (1 - pi_i).

The true losses are sums of positive terms, so one of 1e-9 is as accurate as one of 0.1.

The bound on average is above the *mean* of TV over all tails that the head leaves open, not above
TV for each of them; the certificate is above both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

import ribp
from experiments.simulation.setting import MASS, MEASURE, Scale, generator
from ribp.measures.levy import log_upper_total
from ribp.measures.special import logit_from_log, softplus

COUNTS = (5, 8)
DEEP = 400
LAST = 120
GOALS = (1e-1, 1e-2, 1e-3, 1e-6)

_PLACE = 3
_FRESH = 250  # atoms of a redrawn tail: the rest has e^{-50} of its odds

Array = NDArray[np.float64]


def bounds(seed: int, scale: Scale, count: int) -> dict[str, Any]:
    """Return the curves of one measure, and what holds in `n_measures` of them."""
    levels = np.arange(count + 2, LAST + 1)
    measures = [
        MEASURE.size_ordered(generator(seed, _PLACE, at), DEEP) for at in range(scale.n_measures)
    ]
    curves = [_curves(deep, count, levels) for deep in measures]
    fresh = _fresh_log_sizes(generator(seed, _PLACE, 10**6), scale.n_tails)
    mean, error = np.array([mean_tv(measures[0][:kept], count, fresh) for kept in levels]).T
    names = ("paper_width", "certificate", "on_average", "given_tail", "true_tv", "true_error")
    return {
        "levels": levels.tolist(),
        **{name: curves[0][name].tolist() for name in names},
        "mean_tv": mean.tolist(),
        "mean_tv_standard_error": error.tolist(),
        "summary": _summary(curves, levels),
    }


def _curves(deep: Array, count: int, levels: NDArray[np.int64]) -> dict[str, Array]:
    found = [_at_level(deep[:kept], deep[kept:], count) for kept in levels]
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def _at_level(head: Array, tail: Array, count: int) -> dict[str, float]:
    given_j = np.array([ribp.inclusion_probs(head, k) for k in range(count + 1)])
    below = given_j[count] - given_j[count - 1 :: -1]  # rows k = 1 .. J
    p = _tail_counts(head, ribp.log_esp(tail, count))
    error = p @ below
    in_tail = [ribp.inclusion_probs(tail, k)[0] for k in range(1, count + 1)]
    lower, upper, width = paper_interval(head, count, given_j[count])
    true = given_j[count] - error
    log_mean = float(MEASURE.log_expected_tail_odds(head[-1]))
    outside = (true < lower - 1e-12) | (true > upper + 1e-12)
    return {
        "true_tv": float(p.sum()),
        "true_error": float(max(error.max(), p @ in_tail)),
        "certificate": certificate(head, count, log_upper_total(log_mean, float(head[-1]))),
        "on_average": certificate(head, count, log_mean),
        "given_tail": certificate(head, count, float(logsumexp(tail))),
        "paper_width": min(1.0, float(width.max())),
        "paper_misses": bool(outside.any()),
    }


def _tail_counts(head: Array, log_tail: Array) -> Array:
    """Return P(the tail has k of the ones), k = 1 .. J, given log e_0 .. log e_J of the tail."""
    count = log_tail.shape[-1] - 1
    log_head = ribp.log_esp(head, count)
    ratio = np.exp(log_head[count - 1 :: -1] + log_tail[..., 1:] - log_head[count])
    return ratio / (1.0 + ratio.sum(axis=-1, keepdims=True))


def certificate(head: Array, count: int, log_tail_odds: float) -> float:
    """Return 1 - exp(-R_J T) for the log of T, of its expectation, or of a bound on it."""
    log_e = ribp.log_esp(head, count)
    return float(-np.expm1(-np.exp(log_e[count - 1] - log_e[count] + log_tail_odds)))


def paper_interval(
    head: Array, count: int, inclusion: Array, mass: float = MASS
) -> tuple[Array, Array, Array]:
    """Return the paper's lower and upper bounds on inclusion probabilities, and their distance."""
    log_s = ribp.log_esp(head, count)[count] - softplus(head).sum()
    x = np.expm1(mass * expit(head[-1])) * np.exp(-log_s)
    lower, above = inclusion / (1.0 + x), expit(head) * x
    return lower, inclusion + above, inclusion * x / (1.0 + x) + above


def _fresh_log_sizes(rng: np.random.Generator, n_tails: int) -> Array:
    """Return log-sizes of new draws of the measure; below an atom it is the same, scaled."""
    return -np.cumsum(rng.standard_exponential((n_tails, _FRESH)), axis=1) / MASS


def mean_tv(head: Array, count: int, fresh: Array) -> tuple[float, float]:
    """Return the mean of TV over tails redrawn below the last atom kept, and its standard error."""
    tails = logit_from_log(fresh - softplus(-head[-1]))
    tv = _tail_counts(head, ribp.log_esp(tails, count)).sum(axis=-1)
    return float(tv.mean()), float(tv.std(ddof=1) / np.sqrt(tv.size))


def _summary(curves: list[dict[str, Array]], levels: NDArray[np.int64]) -> dict[str, Any]:
    """Return how far true and stated losses are apart, and how many features each asks for."""
    true_over_stated = np.array([one["true_tv"] / one["certificate"] for one in curves])
    needed = {
        name: {
            f"{goal:g}": _middle([_first_below(one[name], levels, goal) for one in curves])
            for goal in GOALS
        }
        for name in ("paper_width", "certificate", "true_tv", "true_error")
    }
    return {
        "n_measures": len(curves),
        "true_over_certificate_quartiles": np.quantile(
            true_over_stated, [0.25, 0.5, 0.75]
        ).tolist(),
        "true_over_certificate_largest": float(true_over_stated.max()),
        "share_above_certificate": float((true_over_stated > 1.0).mean()),
        "share_above_on_average": float(
            np.mean([one["true_tv"] > one["on_average"] for one in curves])
        ),
        "true_over_given_tail_largest": float(
            max((one["true_tv"] / one["given_tail"]).max() for one in curves)
        ),
        "paper_misses": int(sum(one["paper_misses"].sum() for one in curves)),
        "n_intervals_checked": len(curves) * len(levels),
        "median_level_below": needed,
    }


def _first_below(values: Array, levels: NDArray[np.int64], goal: float) -> float:
    below = np.flatnonzero(values <= goal)
    return float(levels[below[0]]) if below.size else np.inf


def _middle(values: list[float]) -> float | None:
    """Return the median; None if it lies beyond the last level."""
    middle = float(np.quantile(values, 0.5, method="inverted_cdf"))
    return middle if np.isfinite(middle) else None


def failing_example() -> dict[str, float]:
    """Return the case where the paper's lower bound exceeds the truth: alpha = .05, J = 1, I = 1.

    The first atom, .5, is kept and the second, .49, is not. That the number of ones in the tail is
    Poisson(alpha pi_1) holds on average over tails, and this tail is far from the average.
    """
    mass, pi = 0.05, np.array([0.5, 0.49])
    log_odds = np.log(pi / (1 - pi))
    head = log_odds[:1]
    lower = paper_interval(head, 1, ribp.inclusion_probs(head, 1), mass)[0][0]
    true = ribp.inclusion_probs(log_odds, 1)[0]
    if not lower > 0.951 > 0.511 > true:
        raise RuntimeError(f"the example does not reproduce: bound {lower:.4f}, true {true:.4f}")
    return {"mass": mass, "count": 1, "level": 1, "lower_bound": float(lower), "true": float(true)}
