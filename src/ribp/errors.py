"""Errors and warnings that carry the numbers a user needs to act on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class InputError(ValueError):
    """An argument breaks a rule; the message names argument, rule, value and remedy."""

    def __init__(self, argument: str, rule: str, value: object, remedy: str) -> None:
        self.argument = argument
        super().__init__(argument, rule, _short(value), remedy)

    def __str__(self) -> str:
        return "{} {}, but got {}. {}".format(*self.args)


class InputTypeError(InputError, TypeError):
    """An argument holds what cannot be a number; a TypeError too, as scikit-learn wants it."""


class ProposalLimitError(RuntimeError):
    """A rejection sampler reached its limit of proposals; stopping there would bias the draw."""

    def __init__(self, message: str, n_proposed: int, n_accepted: int) -> None:
        self.n_proposed = n_proposed
        self.n_accepted = n_accepted
        super().__init__(message, n_proposed, n_accepted)

    def __str__(self) -> str:
        return str(self.args[0])


class StorageError(RuntimeError):
    """A file cannot be written or read; the message names the file, what is wrong, and a remedy."""

    def __init__(self, path: object, problem: str, remedy: str) -> None:
        self.path = str(path)
        super().__init__(self.path, problem, remedy)

    def __str__(self) -> str:
        return "{} {}. {}".format(*self.args)


class FitWarning(UserWarning):
    """Something about a fit that its user should know."""


class Notice(NamedTuple):
    """Something about data or a fit that its user should know; advice goes by its code."""

    code: str
    """Short, stable, such as "constant-column"."""
    text: str
    """A sentence for the user."""


class TruncationWarning(UserWarning):
    """A truncation stopped before its tolerance; `tv_bound_row` is the bound it achieved."""

    def __init__(self, message: str, tv_bound_row: float) -> None:
        self.tv_bound_row = tv_bound_row
        super().__init__(message, tv_bound_row)

    def __str__(self) -> str:
        return str(self.args[0])


def _short(value: object, limit: int = 80) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    text = plain if isinstance(plain, str) else repr(plain)
    return text if len(text) <= limit else text[: limit - 3] + "..."
