"""Names of features: what somebody calls them, or feature0, feature1, ... if nobody does.

Features are numbered as in `components_`. A result stores names in the attribute `feature_names` of
its tree: a JSON object from numbers to names. A name must be one that a terminal, a table and a
picture can show: not empty, on one line, without characters that cannot be seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ribp.checks import FloatArray
from ribp.errors import InputError

_LONGEST = 100
_SAME = 0.9  # overlap of rows from which on a feature of another result is the same one


def default_name(number: int) -> str:
    """Return what a feature without a name is called."""
    return f"feature{number}"


def all_names(stored: Mapping[int, str], n_features: int) -> list[str]:
    """Return the names of features 0, 1, ..., given those that somebody gave."""
    return [stored.get(number, default_name(number)) for number in range(n_features)]


def changed(
    stored: Mapping[int, str], names: Mapping[int, str] | Sequence[str], n_features: int
) -> dict[int, str]:
    """Return names after some were given: by number, or one for each feature in order."""
    given = dict(names) if isinstance(names, Mapping) else dict(enumerate(_listed(names)))
    if not isinstance(names, Mapping) and len(given) != n_features:
        raise InputError("names", f"must be {n_features}, one a feature", len(given), "Name each.")
    after = dict(stored)
    for number, name in given.items():
        if not isinstance(number, int | np.integer) or not 0 <= number < n_features:
            raise InputError(
                "names",
                f"must be of features from 0 to {n_features - 1}",
                number,
                "Number features as in components_.",
            )
        after[int(number)] = _checked(name)
    found = all_names(after, n_features)
    repeated = next((name for at, name in enumerate(found) if name in found[:at]), None)
    if repeated is not None:
        raise InputError("names", "must differ", repr(repeated), "Choose another name.")
    return {number: name for number, name in after.items() if name != default_name(number)}


def _listed(names: Any) -> list[Any]:
    if isinstance(names, str):
        raise InputError("names", "must be a list or a mapping", repr(names), "Pass {0: name}.")
    return list(names)


def _checked(name: Any) -> str:
    text = name.strip() if isinstance(name, str) else ""
    if not text or not text.isprintable() or len(text) > _LONGEST:
        raise InputError(
            "names",
            f"must be texts of 1 to {_LONGEST} characters that can be seen, on one line",
            repr(name),
            "Choose another name.",
        )
    return text


def to_text(names: Mapping[int, str]) -> str:
    """Return names as they are stored."""
    return json.dumps({str(number): name for number, name in names.items()})


def from_text(text: str | None) -> dict[int, str]:
    """Return names that were stored; raise an `InputError` if they cannot be."""
    if text is None:
        return {}
    try:
        stored = json.loads(text)
        return {int(number): _checked(name) for number, name in stored.items()}
    except (ValueError, AttributeError, RecursionError):
        raise InputError("feature_names", "must be names", repr(text), "Name them again.") from None


def carried(names: Mapping[int, str], before: FloatArray, after: FloatArray) -> dict[int, str]:
    """Return names for the features of another result of the same rows.

    Parameters
    ----------
    names
        Of the features before.
    before, after
        P(row has feature) in both results, shape (rows, features) each. A feature is the same one
        if it overlaps by more than 0.9 in the rows that have it.
    """
    both = before.T @ after
    union = before.sum(axis=0)[:, None] + after.sum(axis=0) - both
    overlap = both / np.maximum(union, 1e-12)
    olds, news = linear_sum_assignment(-overlap)
    pairs = zip(olds.tolist(), news.tolist(), strict=True)
    kept = {old: new for old, new in pairs if overlap[old, new] > _SAME}
    return {kept[old]: name for old, name in names.items() if old in kept}
