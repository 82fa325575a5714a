"""Arguments of estimators, checked, and as models take them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.units import Units

__all__ = [
    "Background",
    "Learned",
    "background_or_auto",
    "entropy",
    "fixed",
    "known_features",
    "likelihood",
]

Learned = Literal["learn"]
Background = bool | Literal["auto"]
Known = tuple[tuple[float, ...], ...]


def fixed(name: str, value: float | Learned) -> float | None:
    """Return a positive number, or None to learn it."""
    return None if value == "learn" else checks.positive(name, value)


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
    """Return the likelihood that users ask for, in the units that the data have."""
    noise_size = fixed("noise_scale", noise_scale)
    feature_size = fixed("feature_scale", feature_scale)
    if checks.one_of("likelihood", kind, ("gaussian", "poisson")) == "poisson":
        return PoissonCounts(
            background=background,
            feature_scale=feature_size,
            prior_mean=seen.overall_mean if seen.overall_mean > 0 else 1.0,
            known=known,
        )
    shared = checks.one_of("noise", noise, ("per-dim", "shared")) == "shared"
    return LinearGaussian(
        shared=shared,
        background=background,
        noise_scale=noise_size,
        feature_scale=feature_size,
        known=known,
        units=Units.of(seen, shared=shared),
    )


def background_or_auto(given: Any) -> bool | None:
    """Return whether there is a background, None for "auto"."""
    if isinstance(given, bool | np.bool_):
        return bool(given)
    if isinstance(given, str) and given == "auto":
        return None
    raise InputError("background", 'must be True, False or "auto"', repr(given), "Choose one.")


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
