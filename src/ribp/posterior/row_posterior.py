"""Density and features of rows, old or new, given the parameters of one draw.

Given features, background, noise, log-odds theta and the count law of a row, its z is summed out of

    p(x, z) = exp(table[|z|] + theta.z) p(x | z),        p(x | z) over observed entries only.

- Laws that allow few z (sum over possible k of C(I, k); `EntryLaw.possible_rows`): every one is
  visited, and the answer is exact (`ribp.kernels.enumerate_rows`).
- Other laws: annealed importance sampling (`ribp.kernels.anneal_rows`). p(x) is unbiased, and the
  standard error of its logarithm comes with it.

Poisson data with strengths are always annealed: p(x | z) is an integral over the strengths.
Likelihoods without such kernels of their own have those of `ribp.likelihoods.any_rows`.

Random numbers of a row are keyed by the seed and by what was observed of it, not by its place: an
answer does not depend on the rows beside it, and identical rows under one law have the same answer.
The errors of different rows are independent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.kernels.row_keys import row_keys
from ribp.likelihoods.data import BoolArray, Data, Rows
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.row_sweeps import RowPrior


class RowPosterior(NamedTuple):
    """Rows with z summed out, given one draw of everything else.

    A row that no z can give has the log density -inf and NaN probabilities. If annealing met no z
    that could give it the standard error is infinite besides: nothing is known.
    """

    log_density: FloatArray
    """log p(x_n) over observed entries, shape (rows,); 0 for a row of which nothing was."""
    standard_error: FloatArray
    """Of the log density, shape (rows,); 0 where it is exact."""
    probs: FloatArray
    """P(z_ni > 0 | x_n), shape (rows, features)."""
    sample: Rows
    """A draw of each z_n given x_n, shape (rows, features)."""
    sizes: FloatArray
    """E[z_ni s_ni | x_n] if entries have sizes or count, otherwise `probs`; (rows, features)."""


def row_posterior(
    data: Data,
    likelihood: Likelihood[Any],
    parameters: Any,
    prior: RowPrior,
    law_of_row: IntArray,
    *,
    seed: np.uint64 = np.uint64(0),  # noqa: B008
    n_particles: int = 64,
    n_steps: int = 64,
    max_enumerated: int = 20_000,
) -> RowPosterior:
    """Return the density of every row with z summed out, and the posterior of its z.

    Parameters
    ----------
    data
        The rows, perhaps with missing entries.
    likelihood, parameters
        The law of data given rows, and one draw of its parameters.
    prior, law_of_row
        The prior of rows, and the law of each row of `data`.
    seed
        The key of all random numbers.
    n_particles, n_steps
        Of annealed importance sampling: the standard error falls like n_particles^(-1/2), and
        about as fast with n_steps, of which no more are made than help.
    max_enumerated
        Rows whose law allows at most this many z are answered exactly.
    """
    n_particles = checks.integer("n_particles", n_particles, least=2)
    n_steps = checks.integer("n_steps", n_steps, least=1)
    rows = likelihood.row_kernels(data, parameters)
    seeds = _row_seeds(seed, data.values, rows.observed)
    entries, size = likelihood.entry_law, prior.log_odds.size
    out = _empty(len(data.values), size, entries.counts)
    for law in np.unique(law_of_row):
        at = np.flatnonzero(law_of_row == law)
        table = np.ascontiguousarray(prior.tables[law])
        own = (one[at] for one in rows.own)
        arguments = (
            rows.values[at], rows.observed[at], *own, *rows.features, prior.log_odds, table
        )  # fmt: skip
        part = _empty(at.size, size, entries.counts)
        if rows.enumerate and entries.possible_rows(table, size) <= max_enumerated:
            more = (part.standard_error, part.sizes) if rows.sized else ()
            rows.enumerate(seeds[at], *arguments, part.log_density, part.probs, part.sample, *more)
        else:
            rows.anneal(
                seeds[at], n_particles, n_steps, *arguments, *part[: 5 if rows.sized else 4]
            )
        part = part if rows.sized else part._replace(sizes=part.probs)
        pairs: Any = zip(out, part, strict=True)
        for filled, those in pairs:
            filled[at] = those
    return out._replace(log_density=out.log_density + rows.constants)


def _row_seeds(seed: np.uint64, values: FloatArray, observed: BoolArray) -> NDArray[np.uint64]:
    """Return a key for each row that depends on the seed and on what was observed."""
    words = np.ascontiguousarray(values + 0.0).view(np.uint64)  # no zero is negative
    keys = np.empty(len(values), np.uint64)
    with np.errstate(over="ignore"):  # without the compiler; keys are numbers modulo 2^64
        row_keys(seed, words, observed, keys)
    return keys


def _empty(rows: int, features: int, counts: bool) -> RowPosterior:
    """Return an answer to be filled, exact so far; z are doubles if entries count."""
    sample: Any = np.zeros((rows, features), np.float64 if counts else np.int8)
    probs, sizes = np.zeros((rows, features)), np.zeros((rows, features))
    return RowPosterior(np.zeros(rows), np.zeros(rows), probs, sample, sizes)
