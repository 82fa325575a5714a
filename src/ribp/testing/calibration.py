"""Simulation-based calibration: a whole fit, from its start to its draws, is right on average.

Draw (state, data) from the model, fit the data, and count how many of the L posterior draws of a
quantity lie below its true value. If truth and draws are exchangeable this rank is uniform on
0..L, for every quantity. A chi-square test over many replicates tells: a fit that is too sure of
itself piles ranks up at both ends, one that is too vague in the middle, a biased one on one side.

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

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.testing.goodness import frequencies_p_value

__all__ = ["chain_fit", "rank_p_values", "ranks", "uniform_p_value"]

State = TypeVar("State")
Data = TypeVar("Data")
Fit = Callable[[np.random.Generator, Data, int], Iterable[State]]

_PER_BIN = 25
_MOST_BINS = 20


def rank_p_values(
    simulate: Callable[[np.random.Generator], tuple[State, Data]],
    fit: Fit[Data, State],
    quantities: Callable[[State], Sequence[float]],
    *,
    n_replicates: int,
    n_draws: int,
    seed: int,
) -> FloatArray:
    """Return a p-value for each quantity: its ranks are uniform.

    Parameters
    ----------
    simulate
        Draws a state and data from the model.
    fit
        Returns n_draws nearly independent posterior draws, called as fit(rng, data, n_draws).
    quantities
        The numbers to rank; ties are broken at random.
    n_replicates
        How many data sets; some hundreds.
    n_draws
        L; 19 or 99 fill the bins evenly.
    seed
    """
    found = ranks(simulate, fit, quantities, n_replicates=n_replicates, n_draws=n_draws, seed=seed)
    return np.array([uniform_p_value(column, n_draws) for column in found.T])


def ranks(
    simulate: Callable[[np.random.Generator], tuple[State, Data]],
    fit: Fit[Data, State],
    quantities: Callable[[State], Sequence[float]],
    *,
    n_replicates: int,
    n_draws: int,
    seed: int,
) -> IntArray:
    """Return the ranks themselves, shape (n_replicates, quantities); for a picture of them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_replicates):
        state, data = simulate(rng)
        truth = np.array(quantities(state), dtype=float)
        draws = np.array([quantities(draw) for draw in fit(rng, data, n_draws)], dtype=float)
        if len(draws) != n_draws:
            raise ValueError(f"fit returned {len(draws)} draws, not the {n_draws} asked for")
        ties = (draws == truth).sum(axis=0)
        found.append((draws < truth).sum(axis=0) + rng.integers(ties, endpoint=True))
    return np.array(found)


def uniform_p_value(values: IntArray, n_draws: int) -> float:
    """Return the p-value of a chi-square test of ranks being uniform on 0..n_draws."""
    n_bins = min(n_draws + 1, _MOST_BINS, max(2, values.size // _PER_BIN))
    bins = np.arange(n_draws + 1) * n_bins // (n_draws + 1)
    observed = np.bincount(bins[values], minlength=n_bins)
    return frequencies_p_value(observed, np.bincount(bins))


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
