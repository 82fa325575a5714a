"""All that a report can show of a fit; what is None is left out of the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ribp.checks import FloatArray
from ribp.likelihoods.data import BoolArray, Data
from ribp.posterior.summary import Summary
from ribp.results import Result


@dataclass(frozen=True)
class Fit:
    """A result, and what is known beside it.

    Parameters
    ----------
    result
        Of the fit.
    name
        Of the data.
    data
        The data of the fit, if they are still there.
    show_rows
        Whether names and numbers of rows may be on the page.
    hidden
        Values and places of entries that were hidden from the fit, shape (rows, dims) each.
    comparison
        Scores of several models by name, as `ribp compare --json` gives them in "models".
    commands
        How to make the fit again.
    shape
        Height and width, where a row of the data is an image.
    labels
        Columns of text that go with the rows, by name.
    """

    result: Result
    name: str = "data"
    data: Data | None = None
    show_rows: bool = True
    hidden: tuple[FloatArray, BoolArray] | None = None
    comparison: dict[str, dict[str, Any]] | None = None
    commands: list[str] = field(default_factory=list)
    shape: tuple[int, int] | None = None
    labels: dict[str, list[str | None]] | None = None

    @cached_property
    def summary(self) -> Summary:
        """Features, diagnostics and warnings."""
        return self.result.summary()
