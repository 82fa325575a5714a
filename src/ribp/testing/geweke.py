"""Does an update leave the posterior unchanged? Two joint-distribution tests.

A model is a joint law of state and data. Draw both from it, `simulate(rng) -> (state, data)`, then
change the state given the data by `update(rng, state, data) -> state`: if the update leaves the
posterior unchanged for every data set, the state still has its prior law. So known draws of the
prior are all that is needed to test a posterior sampler; nobody has to know the posterior.

- `one_step_p_values`: many independent draws, each followed by a few updates; the statistics after
  are compared with those before, in pairs. No batches, no mixing: exact for any update whatever.
  The pairs cancel most of the noise, so it is sharp where an update changes little. This is the one
  to use first.
- `joint_distribution_p_values` (Geweke 2004): one chain that draws new data given the state,
  `redraw(rng, state) -> data`, then updates the state given these. Errors of an update add up
  along the chain, so it sees small ones that push the same way; its error comes from means of
  batches, so the chain must forget within a batch.

Both are blind to an update that does nothing, or that never leaves some part of the space: they
test what is left unchanged, not what is reached. Statistics are numbers that see every part of the
state, each of finite variance (logarithms and frequencies, not raw scales), and asymmetric enough
to notice a wrong sign. The fit to the data is one of them: an update that is a little too sure of
itself shows there first. Judge the p-values with `ribp.testing.goodness.holds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from ribp.checks import FloatArray
from ribp.testing.goodness import Numbers, by_name, mean_p_value

__all__ = ["columns", "joint_distribution_p_values", "one_step_p_values"]

State = TypeVar("State")
Data = TypeVar("Data")
Simulate = Callable[[np.random.Generator], tuple[State, Data]]
Update = Callable[[np.random.Generator, State, Data], State]
Statistics = Callable[[State, Data], Numbers]


def one_step_p_values(
    simulate: Simulate[State, Data],
    update: Update[State, Data],
    statistics: Statistics[State, Data],
    *,
    n_replicates: int,
    n_updates: int = 1,
    seed: int,
) -> dict[str, float]:
    """Return a p-value for each statistic: its mean is the same before and after the updates.

    Parameters
    ----------
    simulate
        Draws a state and data from the model.
    update
        The transition under test; it must not change the state it is given.
    statistics
        The numbers to compare, called as statistics(state, data); a list, or by name.
    n_replicates
        How many independent draws; at least some hundreds, for means to be normal.
    n_updates
        How many updates follow each draw: few show a wrong update best where they move far, many
        where they move little.
    seed
    """
    rng = np.random.default_rng(seed)
    before, after = [], []
    for _ in range(n_replicates):
        state, data = simulate(rng)
        before.append(statistics(state, data))
        for _ in range(n_updates):
            state = update(rng, state, data)
        after.append(statistics(state, data))
    changed = columns(after)
    return {
        name: mean_p_value(changed[name] - column, 0.0) for name, column in columns(before).items()
    }


def joint_distribution_p_values(
    simulate: Simulate[State, Data],
    update: Update[State, Data],
    redraw: Callable[[np.random.Generator, State], Data],
    statistics: Statistics[State, Data],
    *,
    n_fresh: int,
    n_steps: int,
    n_batches: int = 50,
    seed: int,
) -> dict[str, float]:
    """Return a p-value for each statistic: its mean along the chain is that of the prior.

    Parameters
    ----------
    simulate, update, statistics
        As in `one_step_p_values`.
    redraw
        Draws data given the state.
    n_fresh
        How many independent draws of the prior give the means to compare with.
    n_steps
        The length of the chain.
    n_batches
        Its parts, whose means count as independent: each should be many times as long as the chain
        remembers.
    seed
    """
    rng = np.random.default_rng(seed)
    fresh = columns(statistics(*simulate(rng)) for _ in range(n_fresh))
    state, _ = simulate(rng)
    chain = []
    for _ in range(n_steps):
        data = redraw(rng, state)
        state = update(rng, state, data)
        chain.append(statistics(state, data))
    return {
        name: mean_p_value(
            [part.mean() for part in np.array_split(along, n_batches)],
            fresh[name].mean(),
            fresh[name].std() / np.sqrt(n_fresh),
        )
        for name, along in columns(chain).items()
    }


def columns(records: Iterable[Numbers]) -> dict[str, FloatArray]:
    """Return all values of each statistic, by its name or place."""
    rows = [by_name(numbers) for numbers in records]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
