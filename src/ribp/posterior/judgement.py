"""What the data say of a fit, once and for all: checks of the model, and what features are worth.

Made at the end of a fit, while the data are at hand, and kept with the draws as JSON: the verdict
of a result that was loaded is that of the fit. At most 2000 rows are looked at, evenly spaced, and
at most 40 draws; random numbers come from a fixed seed.
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
from ribp.posterior.draws import Draws, aligned_draws
from ribp.posterior.predictive_checks import NOISE, Checked, checks
from ribp.posterior.stored_draws import kept
from ribp.posterior.worth import Gain, gain
from ribp.recording import pack_rows, unpack_rows
from ribp.threads import one_blas_thread

__all__ = ["LEAST_DRAWS", "Judgement", "judge", "stored_judgement"]

LEAST_DRAWS = 10
"""Fewer draws tell nothing."""
_DRAWS, _ROWS, _ENTRIES = 40, 2000, 1_000_000
_GAIN_ROWS = 400
_SEED = 20_150_511


class Judgement(NamedTuple):
    """What the data say of a fit."""

    draws: int
    """How many draws were looked at."""
    rows: int
    """How many rows were looked at."""
    checks: dict[str, Checked]
    """By name of the check; empty if there were too few draws."""
    gain: Gain | None
    """Of features over columns alone; None if there were too few draws or entries."""
    hidden: bool = False
    """Whether the gain is that of entries hidden from the fit, or of some left out afterwards."""

    def to_json(self) -> str:
        """Return it as text."""
        found = self._asdict()
        found["checks"] = {name: one._asdict() for name, one in self.checks.items()}
        found["gain"] = None if self.gain is None else self.gain._asdict()
        return json.dumps(found, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Judgement:
        """Return what `to_json` has written, or raise an `InputError`."""
        try:
            found = json.loads(text)
            found["checks"] = {name: Checked(**one) for name, one in found["checks"].items()}
            found["gain"] = None if found["gain"] is None else Gain(**found["gain"])
            made = cls(**found)
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
    """Return what is kept with the draws of a result, if anything is."""
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
    chains, n_draws, n_rows, _ = kept(tree).shape
    if chains * n_draws < LEAST_DRAWS:
        return Judgement(chains * n_draws, 0, {}, None)
    rng = np.random.default_rng(_SEED)
    n_dims = tree.children["features"].sizes["dim"]
    rows = _spaced(n_rows, min(_ROWS, max(_ENTRIES // max(n_dims, 1), 1)))
    draws = _draws(tree, likelihood, counts, alignment(), rows)
    if len(draws.parameters) < LEAST_DRAWS:
        return Judgement(len(draws.parameters), 0, {}, None)
    data = take(rows)
    with one_blas_thread():
        found = checks(rng, draws, likelihood, data)
        some = _spaced(rows.size, _GAIN_ROWS)
        which = np.zeros(n_rows, np.int64) if counts is None else counts.index
        worth = gain(
            rng, draws._replace(rows=draws.rows[:, some]), likelihood, data.rows(some),
            which[rows[some]],
        )  # fmt: skip
    clear = worth.entries > 0 and all(map(math.isfinite, worth))
    return Judgement(len(draws.parameters), rows.size, found.worst, worth if clear else None)


def _spaced(total: int, most: int) -> IntArray:
    """Return at most so many numbers below `total`, evenly spaced."""
    number = min(total, most)
    return np.arange(number, dtype=np.int64) * total // max(number, 1)


def _draws(
    tree: xr.DataTree,
    likelihood: Likelihood[Any],
    counts: RowCounts | None,
    alignment: Alignment,
    rows: IntArray,
) -> Draws:
    """Return some draws of the main mode, with some of their rows, in standard units."""
    draws = aligned_draws(tree, likelihood, counts, alignment, _DRAWS, with_rows=False)
    all_kept = kept(tree)
    packed = np.empty((len(draws.chain), rows.size, all_kept.rows.shape[3]), np.uint8)
    for place, (chain, number) in enumerate(zip(draws.chain, draws.draw, strict=True)):
        at = int(np.searchsorted(all_kept.numbers, number))
        order = alignment.order[alignment.chains.index(int(chain)), at]
        z = unpack_rows(all_kept.rows[chain, at, rows], all_kept.shape[3])
        packed[place] = pack_rows(z[:, order])
    standard = [likelihood.standardised(given) for given in draws.parameters]
    return draws._replace(rows=packed, parameters=standard)
