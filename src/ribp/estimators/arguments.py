"""Arguments of estimators, checked, and as models take them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.errors import InputError
from ribp.likelihoods import Likelihood
from ribp.likelihoods.likelihood import Asked
from ribp.likelihoods.units import MOST_RATIO, Units

Learned = Literal["learn"]
Background = bool | Literal["auto"]
Known = tuple[tuple[float, ...], ...]

LIMITS = {
    "mass": (1e-10, 1e4),
    "concentration": (1e-6, 1e6),
    "noise_scale": (1e-100, 1e100),
    "feature_scale": (1e-100, 1e100),
}
"""The smallest and the largest number that may be given."""


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


def check_offsets(given: Likelihood[Any]) -> None:
    """Raise an `InputError` if columns are too far from zero for a model without a background."""
    units: Units | None = getattr(given, "units", None)
    column, away = (0, 0.0) if units is None else units.farthest()
    if away > MOST_RATIO:
        raise InputError(
            "background",
            f"must not be False where a column is more than {MOST_RATIO:g} standard deviations "
            "from zero",
            f"False, and column {column} is {away:.3g} away",
            "Set background=True, or subtract the mean of that column.",
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


_ENTRIES_OF = {
    "strength_law": ('"strengths"',),
    "restrict": ('"poisson"', '"negative_binomial"'),
    "failures": ('"negative_binomial"',),
}
"""Which entries an option is for."""


def check_entry_options(kind: type[Likelihood[Any]], asked: Asked) -> None:
    """Raise an `InputError` for an option of other entries than these, unless it is as usual."""
    known: Any = getattr(kind, "__dataclass_fields__", {})
    for name, entries in _ENTRIES_OF.items():
        value = getattr(asked, name)
        if name not in known and value != Asked._field_defaults[name]:
            allowed = " or ".join(entries)
            raise InputError(
                name,
                f"must be left alone unless entries={allowed}",
                value,
                f"Set entries={allowed}, or leave out {name}.",
            )


def check_exposure(kind: type[Likelihood[Any]], likelihood: Any, mode: str) -> None:
    """Raise an `InputError` if exposures are asked for and this likelihood has none."""
    if mode != "one" and not kind.takes_exposure:
        raise InputError(
            "exposure",
            "must be left out unless columns are counts of events",
            likelihood,
            'Set likelihood="poisson" or kinds "log-poisson" and "negbin", with '
            'method="gibbs-rows", or leave it out.',
        )
