"""Whether a result can be trusted: convergence of what does not depend on names of features.

A feature has no name, so that its own draws cannot be compared between chains. What can: how many
features are in use, the log joint, mass and scales, how many features rows have, learned count
laws, and how many features two rows share. For the last, up to twenty pairs of rows are drawn once
and for all, and the worst of them speaks for all; as a maximum over pairs, of draws that were
thinned, it is only judged by the higher of the two limits for R-hat.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from ribp.checks import FloatArray, IntArray
from ribp.errors import Notice
from ribp.posterior.convergence import ess_bulk, ess_tail, monte_carlo_error, r_hat
from ribp.posterior.stored_draws import array

_PAIRS = 20
_SEED = 20_150_406
_LEAST_MEAN = 0.01  # of a learned probability that is worth a look
_NOTED, _FLAGGED = 1.01, 1.05  # R-hat
_LEAST_ESS = 100  # of all chains together: errors of means are then a tenth of a deviation
_LISTED = 4  # names in one complaint
_SEVERE = 2  # of these, the first
_COMPLAINTS = {  # and how numbers are written in each
    "r-hat-unknown": ("Too few draws to compare chains, or not finite: {}.", ""),
    "r-hat-high": (
        "Chains disagree or are far too short: R-hat is {}. Do not average over them.", ".2f",
    ),
    "r-hat-raised": ("Chains differ a little: R-hat is {}. Run for longer.", ".3f"),
    "few-independent-draws": (
        f"Fewer than {_LEAST_ESS} independent draws: {{}}. Run for longer.", ".0f",
    ),
}  # fmt: skip
_SHARED = "shared_features"


class Diagnostic(NamedTuple):
    """What is known of one quantity."""

    mean: float
    sd: float
    mcse: float
    """Monte Carlo standard error of the mean."""
    r_hat: float
    ess_bulk: float
    ess_tail: float
    n_chains: int


def diagnose(tree: xr.DataTree) -> dict[str, Diagnostic]:
    """Return diagnostics of everything that varies, by name."""
    diagnostics = {name: _diagnostic(draws) for name, draws in [*quantities(tree), *_learned(tree)]}
    pairs = [_diagnostic(draws) for draws in _shared(tree)]
    if pairs:
        diagnostics[_SHARED] = _worst(pairs)
    return diagnostics


def converged(diagnostics: dict[str, Diagnostic], *, mild: bool = True) -> list[Notice]:
    """Return complaints in plain words, one of each kind; none if all is well.

    Mild ones are about precision: chains agree, and longer ones would say more.
    """
    by_code: dict[str, list[tuple[float, str]]] = {code: [] for code in _COMPLAINTS}
    for name, each in diagnostics.items():
        code, badness = _judged(each, thinned=name == _SHARED)
        if code:
            by_code[code].append((badness, name))
    kinds = list(_COMPLAINTS)[: None if mild else _SEVERE]
    return [
        Notice(code, _COMPLAINTS[code][0].format(_listed(by_code[code], _COMPLAINTS[code][1])))
        for code in kinds
        if by_code[code]
    ]


def _judged(one: Diagnostic, *, thinned: bool) -> tuple[str, float]:
    """Return what to complain of, and how bad it is (the worst have the lowest numbers)."""
    unknown, apart, near, few = _COMPLAINTS
    least = min(one.ess_bulk, one.ess_tail)
    if math.isnan(one.r_hat):
        return unknown, 0.0
    if one.r_hat > _FLAGGED:
        return apart, -one.r_hat
    if thinned or one.sd == 0.0:
        return "", 0.0
    if least < _LEAST_ESS:
        return few, least
    return (near, -one.r_hat) if one.r_hat > _NOTED else ("", 0.0)


def _listed(values: list[tuple[float, str]], form: str) -> str:
    """Return names and numbers in words, the worst ones."""
    worst = sorted(values, key=lambda item: item[0])
    items = [f"{abs(value):{form}} for {name}" if form else name for value, name in worst]
    more = [f"and {len(items) - _LISTED} more"] if len(items) > _LISTED else []
    return ", ".join(items[:_LISTED] + more)


def _diagnostic(draws: FloatArray) -> Diagnostic:
    return Diagnostic(
        float(draws.mean()),
        float(draws.std(ddof=1)) if draws.size > 1 else 0.0,
        monte_carlo_error(draws),
        r_hat(draws),
        ess_bulk(draws),
        ess_tail(draws),
        len(draws),
    )


def quantities(tree: xr.DataTree) -> Iterator[tuple[str, FloatArray]]:
    """Yield names and draws of single numbers that can be compared, shape (chains, draws)."""
    yield "active_features", array(tree, "posterior", "active_features").astype(np.float64)
    yield "log_joint", array(tree, "posterior", "log_joint")
    for name in ("mass", "concentration", "feature_scale", "strength_scale"):
        draws = array(tree, "posterior", name)
        if draws.size and np.ptp(draws) > 0.0:
            yield name, draws
    noise = array(tree, "posterior", "noise_scale")
    if noise.size and np.ptp(noise) > 0.0:
        yield "log_noise_scale", np.log(noise).reshape(*noise.shape[:2], -1).mean(axis=2)
    histogram = array(tree, "posterior", "count_histogram")
    mean = histogram @ np.arange(histogram.shape[2]) / histogram[0, 0].sum()
    if np.ptp(mean) > 0.0:
        yield "mean_count", mean


def _learned(tree: xr.DataTree) -> Iterator[tuple[str, FloatArray]]:
    """Yield the probabilities of learned count laws that are not negligible."""
    log_probs = array(tree, "posterior", "count_log_probs")
    if log_probs.size == 0:
        return
    probs = np.exp(log_probs)
    means = probs.mean(axis=(0, 1))
    varies = np.ptp(probs, axis=(0, 1)) > 0.0
    for law, count in np.argwhere((means > _LEAST_MEAN) & varies).tolist():
        yield f"count_probs[{law}, {count}]", probs[:, :, law, count]


def _shared(tree: xr.DataTree) -> Iterator[FloatArray]:
    """Yield how many features two rows share in each stored draw, for some pairs of rows."""
    rows = array(tree, "features", "rows")
    for one, other in _pairs(rows.shape[2]).tolist():
        both = np.bitwise_count(rows[:, :, one] & rows[:, :, other])
        yield both.sum(axis=2, dtype=np.float64)


def _pairs(n_rows: int) -> IntArray:
    """Return different pairs of different rows, always the same, shape (pairs, 2)."""
    total = n_rows * (n_rows - 1) // 2
    rng = np.random.default_rng(_SEED)
    at = np.sort(rng.choice(total, min(_PAIRS, total), replace=False)) if total else np.arange(0)
    other = np.floor((1.0 + np.sqrt(8.0 * at + 1.0)) / 2.0).astype(np.int64)
    other -= other * (other - 1) // 2 > at  # a square root may be rounded up
    return np.stack([at - other * (other - 1) // 2, other], axis=1)


def _worst(pairs: list[Diagnostic]) -> Diagnostic:
    """Return means over the pairs, with the worst R-hat and effective sample sizes."""
    mean, sd, mcse, rhat, bulk, tail, chains = np.array(pairs).T
    return Diagnostic(
        float(mean.mean()),
        float(sd.mean()),
        float(mcse.max()),
        float(rhat.max()),
        float(bulk.min()),
        float(tail.min()),
        int(chains[0]),
    )
