"""Rows drawn again, given the features and weights of a draw and some of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ribp.checks import IntArray
from ribp.likelihoods import Data, Likelihood
from ribp.likelihoods.data import Rows
from ribp.posterior.draws import Draws
from ribp.posterior.new_rows import laws_given

__all__ = ["redrawn_rows"]


def redrawn_rows(
    rng: np.random.Generator,
    draws: Draws,
    s: int,
    likelihood: Likelihood[Any],
    data: Data,
    law_of_row: IntArray,
) -> Rows:
    """Return rows given draw s of everything else, shape (rows, features).

    Parameters
    ----------
    rng, draws, s, likelihood
    data
        What is shown of the rows.
    law_of_row
        The count law of each row.
    """
    real, given = np.isfinite(draws.log_odds[s]), draws.parameters[s]
    parameters = given._replace(features=np.ascontiguousarray(given.features[real]))
    prior, law_of_row = laws_given(draws.log_odds[s][real], draws.count_log_probs[s], law_of_row)
    rows = np.ascontiguousarray(draws.unpacked(s)[:, real])
    found = np.zeros((len(rows), real.size), np.int8)
    found[:, real] = likelihood.redrawn(rng, data, rows, parameters, prior, law_of_row)
    return found
