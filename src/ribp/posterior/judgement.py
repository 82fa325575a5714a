"""The judgement of a fit by its data: checks of the model, and the gain of features.

Made at the end of a fit, while the data are in memory, and stored with the draws as JSON: the
verdict of a result that was loaded is that of the fit. At most 2000 rows, evenly spaced, and at
most 40 draws are used; random numbers come from a fixed seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ribp.checks import IntArray
from ribp.counts import RowCounts
from ribp.errors import InputError
from ribp.likelihoods import Data, Likelihood
from ribp.posterior.align import Alignment
from ribp.posterior.draws import aligned_draws
from ribp.posterior.held_out import Score
from ribp.posterior.predictive_checks import NOISE, Checked, checks
from ribp.posterior.stored_draws import stored_draws
from ribp.posterior.worth import gain

LEAST_DRAWS = 10
"""Fewer draws tell nothing."""
_DRAWS, _ROWS, _ENTRIES = 40, 2000, 1_000_000
_GAIN_ROWS = 400
_SEED = 20_150_511


class Judgement(NamedTuple):
    """What the data say of a fit."""

    draws: int
    """How many draws were used."""
    rows: int
    """How many rows were used."""
    checks: dict[str, Checked]
    """By name of the check; empty if there were too few draws."""
    gain: Score | None
    """Of features over columns alone; None if there were too few draws or entries."""
    hidden: bool = False
    """Whether the gain is that of entries hidden from the fit, or of some left out afterwards."""

    def to_json(self) -> str:
        """Return it as text."""
        fields = self._asdict()
        fields["checks"] = {name: one._asdict() for name, one in self.checks.items()}
        fields["gain"] = None if self.gain is None else self.gain._asdict()
        return json.dumps(fields, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Judgement:
        """Return what `to_json` has written, or raise an `InputError`."""
        try:
            fields = json.loads(text)
            fields["checks"] = {name: Checked(**one) for name, one in fields["checks"].items()}
            fields["gain"] = None if fields["gain"] is None else Score(**fields["gain"])
            made = cls(**fields)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            raise _wrong(text) from None
        numbers = [made.draws, made.rows, *(made.gain or ())]
        numbers += [value for one in made.checks.values() for value in one]
        plain = all(type(one) in (int, float) and math.isfinite(one) for one in numbers)
        if not plain or made.checks.keys() - NOISE.keys() or type(made.hidden) is not bool:
            raise _wrong(text)
        return made


def _wrong(text: object) -> InputError:
    return InputError("judgement", "must be that of a fit", text, "Fit again.")


def stored_judgement(tree: xr.DataTree) -> Judgement | None:
    """Return the judgement that is stored in a result, if there is one."""
    text = tree.attrs.get("judgement")
    return None if text is None else Judgement.from_json(text)


def judge(
    tree: xr.DataTree,
    likelihood: Likelihood[Any],
    counts: RowCounts | None,
    alignment: Callable[[], Alignment],
    take: Callable[[IntArray], Data],
) -> Judgement:
    """Return what the data say of a fit.

    Parameters
    ----------
    tree, likelihood, counts
        Of the result; no count laws for a buffet.
    alignment
        Gives the features of the main mode in one order.
    take
        Gives the data of some rows, in standard units.
    """
    chains, n_draws, n_rows, _ = stored_draws(tree).shape
    if chains * n_draws < LEAST_DRAWS:
        return Judgement(chains * n_draws, 0, {}, None)
    rng = np.random.default_rng(_SEED)
    n_dims = tree.children["features"].sizes["dim"]
    rows = _spaced(n_rows, min(_ROWS, max(_ENTRIES // max(n_dims, 1), 1)))
    draws = aligned_draws(tree, likelihood, counts, alignment(), _DRAWS, rows)
    standard = [likelihood.standardised(one) for one in draws.parameters]
    draws = draws._replace(parameters=standard)
    if len(draws.parameters) < LEAST_DRAWS:
        return Judgement(len(draws.parameters), 0, {}, None)
    data = take(rows)
    checked = checks(rng, draws, likelihood, data)
    some = _spaced(rows.size, _GAIN_ROWS)
    law_of_row = np.zeros(n_rows, np.int64) if counts is None else counts.law_of_row
    worth = gain(
        rng, draws.on_rows(some), likelihood, data.rows(some),
        law_of_row[rows[some]],
    )  # fmt: skip
    clear = worth.entries > 0 and all(map(math.isfinite, worth))
    return Judgement(len(draws.parameters), rows.size, checked.worst, worth if clear else None)


def _spaced(total: int, most: int) -> IntArray:
    """Return at most so many numbers below `total`, evenly spaced."""
    number = min(total, most)
    return np.arange(number, dtype=np.int64) * total // max(number, 1)
