"""Estimators in files."""

from __future__ import annotations

from pathlib import Path

from ribp.errors import StorageError
from ribp.estimators.buffet import IndianBuffet
from ribp.estimators.restricted import RestrictedIBP
from ribp.results import Result


def load(path: str | Path) -> RestrictedIBP | IndianBuffet | Result:
    """Return what was saved: an estimator that is fitted, or a `Result`.

    Parameters
    ----------
    path
        A file that `save` has written. Nothing in it can run code.
    """
    result = Result.load(path)
    known = result.estimator
    if known is None:
        return result
    kinds = {"RestrictedIBP": RestrictedIBP, "IndianBuffet": IndianBuffet}
    try:
        made = kinds[known["name"]](**known["parameters"])
        names = known["feature_names_in"]
    except (KeyError, TypeError):
        raise StorageError(
            path, "names an estimator that this ribp does not have", "Upgrade ribp."
        ) from None
    made.adopt(result, names)
    if hasattr(made, "kinds_"):
        made.set_params(likelihood=made.kinds_)
    return made
