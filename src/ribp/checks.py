"""Validation at the door: each check returns the cleaned value or raises an `InputError`."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ribp.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGEST = 1e150
"""The largest size of an entry of data: squares of larger ones, or their sums, are not finite."""
TOO_LARGE = "Use NaN if it stands for a missing entry, or divide the column by a constant."
"""What to do about an entry that is larger, or infinite."""
LEAST_SECOND = 0.5
"""The least second number of the beta law of weights whose entries may grow without limit."""
MOST_COUNT = 2.0**53
"""The largest count: doubles do not hold all whole numbers beyond it."""
_ROWS = 2**14


def number(argument: str, value: Any) -> float:
    """Return a real number that is not NaN, as a float."""
    try:
        if isinstance(value, str):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, "must be a number", value, "Pass an int or a float.") from None
    if math.isnan(result):
        raise InputError(argument, "must be a number", value, "Remove the NaN.")
    return result


def positive(argument: str, value: Any) -> float:
    """Return a finite number above zero."""
    result = number(argument, value)
    if not 0 < result < math.inf:
        raise InputError(
            argument, "must be positive and finite", value, f"Pass {argument} > 0, such as 1.0."
        )
    return result


def within(argument: str, value: Any, least: float, most: float) -> float:
    """Return a number in ``least..most``, both allowed."""
    result = number(argument, value)
    if not least <= result <= most:
        allowed = f"between {least:g} and {most:g}"
        raise InputError(argument, f"must be {allowed}", value, f"Choose {argument} {allowed}.")
    return result


def below_features(mass: float | None, n_features: int) -> None:
    """Raise an `InputError` unless a mass that is known suits a model of so many features."""
    if mass is not None and mass >= n_features:
        raise InputError(
            "mass",
            f"must be below max_features={n_features}",
            mass,
            "Raise max_features, or lower the mass.",
        )


def light_entries(mass: float, concentration: float, n_features: int) -> None:
    """Raise an `InputError` if negative binomial entries would be too large to be added up.

    Their weights are Beta(c a/I, c - c a/I) variates: where the second number is small they are one
    but for a part in a million or less, and values go into the millions.
    """
    if concentration * (1.0 - mass / n_features) < LEAST_SECOND:
        most = n_features * (1.0 - LEAST_SECOND / concentration)
        raise InputError(
            "mass",
            f"must be at most {most:.4g} where non-zeros of negative binomial entries are "
            f"restricted, with max_features={n_features} and concentration={concentration:g}",
            mass,
            'Lower it, raise max_features or the concentration, or set restrict="sum".',
        )


def fits(argument: str, value: int, n_bytes: int, most: int) -> None:
    """Raise an `InputError` if `value` times `n_bytes` is more than `most` bytes of memory."""
    if value * n_bytes > most:
        raise InputError(
            argument,
            f"must be at most {most // n_bytes} for the {most / 1e9:.3g} GB of memory here",
            value,
            "Ask for fewer at a time.",
        )


def integer(argument: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Return a whole number in ``least..most``; 3.0 counts as 3, True does not count as 1."""
    try:
        if isinstance(value, (bool, np.bool_, str)):
            raise TypeError
        result = int(value) if float(value).is_integer() else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, "must be a whole number", value, "Round it first.") from None
    if result < least or (most is not None and result > most):
        allowed = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(argument, f"must be {allowed}", value, f"Choose {argument} {allowed}.")
    return result


def seeds(argument: str, value: Any) -> tuple[int, ...]:
    """Return a whole number, or several, of as many bits as NumPy makes by itself: 128."""
    given = np.atleast_1d(np.asarray(value, dtype=object)).ravel().tolist()
    for one in given:
        if integer(argument, one) >= 2**128:
            raise InputError(argument, "must be below 2**128", one, "Choose a smaller one.")
    return tuple(map(int, given))


def integers(argument: str, value: ArrayLike, *, least: int | None = 0) -> IntArray:
    """Return an integer array; fractional, negative, NaN or non-numeric entries are errors."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(
            argument, "must be a regular array", value, "Give all its rows the same length."
        ) from None
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise InputError(argument, "must hold whole numbers", value, "Convert it to integers.")
    if array.dtype.kind == "f":
        wrong = array[~np.isfinite(array) | (array != np.floor(array))]
        if wrong.size:
            raise InputError(
                argument, "must hold whole numbers", wrong.flat[0], "Round or remove that entry."
            )
    if array.max() >= 2.0**63:
        raise InputError(argument, "must be below 2**63", array.max(), "Correct that entry.")
    if least is not None and array.min() < least:
        raise InputError(
            argument, f"must be at least {least}", array.min(), "Correct or remove that entry."
        )
    return array.astype(np.int64)


def log_odds(value: ArrayLike, argument: str = "log_odds") -> FloatArray:
    """Return log-odds of shape (..., features), at least one feature; ±inf means for sure."""
    try:
        if np.iscomplexobj(value):
            raise TypeError
        array = np.array(value, dtype=np.float64)  # a copy: laws do not change with their input
    except (TypeError, ValueError):
        raise InputError(
            argument, "must be an array of numbers", value, "Pass floats of shape (..., features)."
        ) from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(
            argument,
            "must have at least one feature on its last axis",
            f"shape {array.shape}",
            "Pass an array of shape (..., features).",
        )
    if np.isnan(array).any():
        where = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise InputError(
            argument,
            "must not contain NaN",
            f"NaN at index {where if len(where) > 1 else where[0]}",
            "Remove it; use -inf for a feature that is never on and +inf for one always on.",
        )
    if (np.isfinite(array) & (np.abs(array) > 1e300)).any():
        raise InputError(
            argument,
            "must be at most 1e300 in size, or infinite",
            array[np.isfinite(array) & (np.abs(array) > 1e300)][0],
            "Use -inf for a feature that is never on and +inf for one always on.",
        )
    return array


def one_of(argument: str, value: Any, options: Iterable[str]) -> str:
    """Return `value` if it is one of the words in `options`; otherwise name the nearest."""
    words = list(options)
    if isinstance(value, str) and value in words:
        return value
    near = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    remedy = f"Did you mean {near[0]!r}?" if near else "Choose one of them."
    raise InputError(argument, f"must be one of {', '.join(words)}", repr(value), remedy)


def broadcast(argument: str, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to."""
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise InputError(
            argument,
            f"must broadcast against the shape {other}",
            f"shape {one}",
            "Add axes of length one where the shapes differ.",
        ) from None


def shape(argument: str, value: Any) -> tuple[int, ...]:
    """Return a shape of draws: () for None, (n,) for a number, or a tuple of numbers."""
    asked = () if value is None else value if isinstance(value, tuple) else (value,)
    return tuple(integer(argument, n) for n in asked)


def generator(argument: str, value: Any) -> np.random.Generator:
    """Return a NumPy Generator: itself, or one made from an integer seed."""
    if isinstance(value, np.random.Generator):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(int(value))
    raise InputError(
        argument,
        "must be a numpy.random.Generator or a non-negative integer seed",
        value,
        "Pass numpy.random.default_rng(0).",
    )


def first_not_count(values: FloatArray) -> tuple[int, int] | None:
    """Return row and column of the first entry that is no whole number from 0 to 2**53."""
    wrong = (values < 0) | (values > MOST_COUNT) | (values != np.floor(values))
    at = int(wrong.argmax()) if wrong.size else 0
    row, column = divmod(at, max(values.shape[1], 1))
    return (row, column) if wrong.size and wrong[row, column] else None


def first_too_large(values: FloatArray) -> tuple[int, int] | None:
    """Return the place of the first entry above `LARGEST` in size, some rows at a time."""
    for start in range(0, len(values), _ROWS):
        part = np.abs(values[start : start + _ROWS])
        if (part > LARGEST).any():
            row, column = np.argwhere(part > LARGEST)[0]
            return start + int(row), int(column)
    return None


def cell_place(
    row: int,
    column: int,
    row_names: Sequence[str] | None = None,
    dim_names: Sequence[str] | None = None,
) -> str:
    """Return what to call a cell in a message: names if there are any, otherwise numbers from 0."""
    return f"{row_place(row, row_names)}, {column_place(column, dim_names)}"


def row_place(row: int, row_names: Sequence[str] | None = None) -> str:
    """Return what to call a row in a message."""
    return _place("row", row, row_names)


def column_place(column: int, dim_names: Sequence[str] | None = None) -> str:
    """Return what to call a column in a message."""
    return _place("column", column, dim_names)


def _place(word: str, at: int, names: Sequence[str] | None) -> str:
    return f"{word} {at if names is None else repr(str(names[at]))}"
