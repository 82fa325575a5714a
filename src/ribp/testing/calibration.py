"""Simulation-based calibration: a whole fit, from its start to its draws, is right on average.

Draw (state, data) from the model, fit the data, and count how many of the L posterior draws of a
quantity lie below its true value. If truth and draws are exchangeable this rank is uniform on
0..L, for every quantity. Three tests over many replicates tell:

- *centre*: ranks of a biased fit lie to one side;
- *width*: one that is too sure of itself piles them up at both ends, one that is too vague in the
  middle;
- *uniform*: a chi-square test over bins sees everything else, though less of it.

Centre and width are the mean and the mean square of normal scores: of ranks brought to the normal
law, Phi^-1((rank + 1/2)/(L + 1)). A fit whose spread is s times the right one moves the mean square
by about 1/s^2 - 1.

**Quantities see the data too**: those of the state alone can be right on average though the data
were ignored (a fit that returns the prior passes). Take the log likelihood at the draw among them.

**What makes them exchangeable.** Given the data the truth is a draw from the posterior, and so must
the others be, independently. Chains only come near: they must start away from the truth, forget
their start (`n_warmup`) and be thinned until neighbours are nearly independent (`n_thin`), since
ranks within a chain that remembers pile up at both ends though its law be right. `chain_fit` makes
such a fit from an update.

**Starting at the truth is wrong here**, though such a chain has the posterior law at every step:
the truth is then the end of a series, not a member picked at random, and what the chain remembers
of it shows in the rank. (A reversible update could be run both ways from a random place; a sweep
over blocks would have to be run backwards.) To test an update alone, without any need to mix, use
`ribp.testing.geweke.one_step_p_values`, which does start at the truth and is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy import stats

from ribp.checks import FloatArray, IntArray
from ribp.testing.geweke import Data, Simulate, State, Statistics, columns
from ribp.testing.goodness import by_name, frequencies_p_value

__all__ = ["chain_fit", "p_values_of_ranks", "rank_p_values", "ranks"]

Fit = Callable[[np.random.Generator, Data, int], Iterable[State]]

_PER_BIN = 20
_MOST_BINS = 20


def rank_p_values(
    simulate: Simulate[State, Data],
    fit: Fit[Data, State],
    quantities: Statistics[State, Data],
    *,
    n_replicates: int,
    n_draws: int,
    seed: int,
) -> dict[str, float]:
    """Return three p-values for each quantity: centre, width and uniformity of its ranks.

    Parameters
    ----------
    simulate
        Draws a state and data from the model.
    fit
        Returns n_draws nearly independent posterior draws, called as fit(rng, data, n_draws).
    quantities
        The numbers to rank, called as quantities(state, data); a list, or by name. Ties are broken
        at random.
    n_replicates
        How many data sets; 400 fill twenty bins.
    n_draws
        L; 19 or 99 fill the bins evenly.
    seed
    """
    all_ranks = ranks(
        simulate, fit, quantities, n_replicates=n_replicates, n_draws=n_draws, seed=seed
    )
    return {
        f"{name}, {test}": p
        for name, column in all_ranks.items()
        for test, p in p_values_of_ranks(column, n_draws).items()
    }


def ranks(
    simulate: Simulate[State, Data],
    fit: Fit[Data, State],
    quantities: Statistics[State, Data],
    *,
    n_replicates: int,
    n_draws: int,
    seed: int,
) -> dict[str, IntArray]:
    """Return the n_replicates ranks of each quantity; for a picture of them."""
    rng = np.random.default_rng(seed)
    all_ranks = []
    for _ in range(n_replicates):
        state, data = simulate(rng)
        drawn = list(fit(rng, data, n_draws))
        if len(drawn) != n_draws:
            raise ValueError(f"fit returned {len(drawn)} draws, not the {n_draws} asked for")
        draws = columns(quantities(draw, data) for draw in drawn)
        truth = by_name(quantities(state, data))
        all_ranks.append({name: _rank(rng, value, draws[name]) for name, value in truth.items()})
    return {name: column.astype(np.int64) for name, column in columns(all_ranks).items()}


def _rank(rng: np.random.Generator, truth: float, draws: FloatArray) -> int:
    ties = np.count_nonzero(draws == truth)
    return int(np.count_nonzero(draws < truth) + rng.integers(ties, endpoint=True))


def p_values_of_ranks(values: IntArray, n_draws: int) -> dict[str, float]:
    """Return the p-values of ranks being uniform on 0..n_draws: centre, width, uniform."""
    n_bins = min(n_draws + 1, _MOST_BINS, max(2, values.size // _PER_BIN))
    bins = np.arange(n_draws + 1) * n_bins // (n_draws + 1)
    observed = np.bincount(bins[values], minlength=n_bins)
    scores = stats.norm.ppf((np.arange(n_draws + 1) + 0.5) / (n_draws + 1))
    return {
        "centre": _score_p_value(scores, values),
        "width": _score_p_value(scores**2, values),
        "uniform": frequencies_p_value(observed, np.bincount(bins)),
    }


def _score_p_value(scores: FloatArray, values: IntArray) -> float:
    """Return the p-value of the mean score, whose law for uniform ranks is known."""
    error = scores.std() / np.sqrt(values.size)
    return float(2 * stats.norm.sf(abs(scores[values].mean() - scores.mean()) / error))


def chain_fit(
    start: Callable[[np.random.Generator, Data], State],
    update: Callable[[np.random.Generator, State, Data], State],
    *,
    n_warmup: int,
    n_thin: int,
) -> Fit[Data, State]:
    """Return a fit that runs one chain.

    Parameters
    ----------
    start
        Makes the first state without knowing the truth: from the data, or from the prior.
    update
        One step of the chain.
    n_warmup
        Steps before the first draw, enough to forget the start.
    n_thin
        Steps from one draw to the next, enough for them to be nearly independent.
    """

    def fit(rng: np.random.Generator, data: Data, n_draws: int) -> Iterable[State]:
        state = start(rng, data)
        for _ in range(n_warmup):
            state = update(rng, state, data)
        for _ in range(n_draws):
            for _ in range(n_thin):
                state = update(rng, state, data)
            yield state

    return fit
