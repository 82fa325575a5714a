"""Arguments of estimators, checked, and as models take them."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.poisson import MOST_COUNT

__all__ = ["Learned", "entropy", "fixed", "known_features", "likelihood"]

Learned = Literal["learn"]
Known = tuple[tuple[float, ...], ...]

LIMITS = {
    "mass": (1e-10, 1e4),
    "concentration": (1e-6, 1e6),
    "noise_scale": (1e-100, 1e100),
    "feature_scale": (1e-100, 1e100),
}
"""The smallest and the largest number that may be given."""
MOST_RATIO = 1e6
"""Of features to noise: beyond it matrices are singular in double precision."""


def fixed(name: str, value: float | Learned) -> float | None:
    """Return a positive number that arithmetic can bear, or None to learn it."""
    if isinstance(value, str) and value == "learn":
        return None
    return checks.within(name, value, *LIMITS[name])


def known_features(given: ArrayLike | None) -> Known:
    """Return features that are known, as a likelihood takes them."""
    if given is None:
        return ()
    array = np.array(given, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InputError(
            "fixed_components",
            "must be finite numbers of shape (features, dims)",
            f"shape {array.shape}",
            "Pass one row a feature.",
        )
    return tuple(map(tuple, array.tolist()))


def likelihood(
    kind: str,
    seen: Moments,
    *,
    noise: str,
    noise_scale: float | Learned,
    feature_scale: float | Learned,
    background: bool,
    known: Known = (),
) -> LinearGaussian | PoissonCounts:
    """Return the likelihood that users ask for; priors of scales follow the moments of the data."""
    scales = {
        "noise_scale": fixed("noise_scale", noise_scale),
        "feature_scale": fixed("feature_scale", feature_scale),
    }
    if checks.one_of("likelihood", kind, ("gaussian", "poisson")) == "poisson":
        if scales["feature_scale"] is not None:
            checks.within("feature_scale", feature_scale, LIMITS["feature_scale"][0], MOST_COUNT)
        return PoissonCounts(
            background=bool(background),
            feature_scale=scales["feature_scale"],
            prior_mean=seen.mean if seen.mean > 0 else 1.0,
            known=known,
        )
    shared = checks.one_of("noise", noise, ("per-dim", "shared")) == "shared"
    variance = seen.variance if seen.variance > 0 else 1.0
    _check_ratios(**scales, shared=shared, spread=math.sqrt(variance))
    return LinearGaussian(
        shared=shared,
        background=bool(background),
        **scales,
        noise_variance=variance,
        feature_variance=variance if shared else 1.0,
        known=known,
    )


def _check_ratios(
    noise_scale: float | None, feature_scale: float | None, shared: bool, spread: float
) -> None:
    """Raise an `InputError` if features would be so far above the noise that doubles fail."""
    if noise_scale is not None and noise_scale * MOST_RATIO < spread:
        raise InputError(
            "noise_scale",
            f"must be at least {1 / MOST_RATIO:g} of the standard deviation of X, {spread:g}",
            noise_scale,
            'Raise it, or set it to "learn".',
        )
    unit = (noise_scale or spread) if shared else 1.0
    if feature_scale is not None and feature_scale > MOST_RATIO * unit:
        raise InputError(
            "feature_scale",
            f"must be at most {MOST_RATIO:g} times the scale of the noise",
            feature_scale,
            'Lower it, or set it to "learn".',
        )


def entropy(random_state: Any) -> list[int] | int | None:
    """Return whole numbers from which all randomness comes."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    if isinstance(random_state, np.random.Generator):
        return [int(word) for word in random_state.integers(2**32, size=4)]
    if isinstance(random_state, np.random.RandomState):
        return [int(word) for word in random_state.randint(2**31, size=4)]
    raise InputError(
        "random_state",
        "must be None, a whole number, a Generator or a RandomState",
        repr(random_state),
        "Pass for example 0.",
    )
