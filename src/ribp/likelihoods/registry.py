"""Likelihoods by name: what users type, and what files hold.

A likelihood of another package is registered by one line, ``register("yes-no", YesNo)``, or, so
that stored runs find it, by an entry point of that package:

    [project.entry-points."ribp.likelihoods"]
    yes-no = "my_package:YesNo"
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from ribp import checks
from ribp.errors import InputError
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.likelihoods.poisson import PoissonCounts

__all__ = ["likelihood_names", "likelihood_type", "name_of", "register"]

_KINDS: dict[str, type[Likelihood[Any]]] = {"gaussian": LinearGaussian, "poisson": PoissonCounts}


def register(name: str, kind: type[Likelihood[Any]]) -> None:
    """Give a likelihood a name, by which `RestrictedIBP` and files know it."""
    if not (isinstance(kind, type) and issubclass(kind, Likelihood)):
        raise InputError(
            "kind", "must be a class that inherits from Likelihood", kind, "Pass the class itself."
        )
    if _kinds().get(name, kind) is not kind:
        raise InputError("name", "must not be taken", name, "Choose another name.")
    _KINDS[name] = kind


def likelihood_names() -> list[str]:
    """Return all names."""
    return list(_kinds())


def likelihood_type(name: Any) -> type[Likelihood[Any]]:
    """Return the likelihood of a name, or raise an `InputError`."""
    return _kinds()[checks.one_of("likelihood", name, _kinds())]


def name_of(likelihood: Likelihood[Any]) -> str:
    """Return the name of a likelihood."""
    for name, kind in _kinds().items():
        if type(likelihood) is kind:
            return name
    raise InputError(
        "likelihood",
        "must have a name, by which files know it",
        type(likelihood).__name__,
        "Call ribp.likelihoods.register(name, kind) first.",
    )


def _kinds() -> dict[str, type[Likelihood[Any]]]:
    return _installed() | _KINDS


@cache
def _installed() -> dict[str, type[Likelihood[Any]]]:
    """Return likelihoods of other packages."""
    return {point.name: point.load() for point in entry_points(group="ribp.likelihoods")}
