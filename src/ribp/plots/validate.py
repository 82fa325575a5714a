"""What pictures are given: checked before anything is drawn."""

from __future__ import annotations

from typing import Any

from ribp.errors import InputError
from ribp.results import Result

__all__ = ["check_kind", "check_result"]


def check_kind(argument: str, value: Any, kind: Any, rule: str, remedy: str) -> None:
    """Raise an `InputError` unless an argument is of a kind."""
    if not isinstance(value, kind):
        raise InputError(argument, rule, f"a {type(value).__name__}", remedy)


def check_result(value: Any) -> None:
    """Raise an `InputError` unless a picture is given a result."""
    remedy = "Pass model.result_ of a fitted estimator, or what Result.load returns."
    check_kind("result", value, Result, "must be a Result", remedy)
