"""One chain: where it starts, and one sweep after another.

`begin` searches for a good first state (`start`), with more features if all were needed and nobody
said how many there are; `sweeps` goes on from there. Both keep the linear algebra on one thread:
matrices are small, and a second thread makes a sweep slower, not faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ribp.likelihoods.base import Data
from ribp.mcmc import capacity, gibbs, gibbs_rows
from ribp.mcmc.start import DEFAULT, Schedule, best_start
from ribp.model import Model, State
from ribp.rng import kernel_seed

__all__ = ["METHODS", "begin", "one_blas_thread", "sweeps", "warm_up"]

Update = Callable[..., tuple[State, Any]]

METHODS: dict[str, Update] = {"gibbs": gibbs.update, "gibbs-rows": gibbs_rows.update}

_MOST_GROWTH = 6  # times, each by half
_CHECK_EVERY = 20  # sweeps


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries for linear algebra once: that takes longer than a small sweep."""
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """Return a context in which linear algebra stays on one thread."""
    return _libraries().limit(limits=1, user_api="blas")


def begin(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    *,
    n_starts: int = 5,
    grow: bool = False,
    schedule: Schedule = DEFAULT,
) -> tuple[Model, State]:
    """Return a first state, and the model, with more features if `grow` and all were needed."""
    model.check(data)
    with one_blas_thread():
        for _ in range(_MOST_GROWTH if grow else 0):
            state = best_start(rng, model, data, 1, schedule)
            if not capacity.needs_room(state):
                break
            model, _ = capacity.enlarged(rng, model, state)
        return model, best_start(rng, model, data, n_starts, schedule)


def sweeps(
    rng: np.random.Generator, model: Model, state: State, data: Data, method: str, **options: Any
) -> Iterator[State]:
    """Yield one state after another."""
    seed, update = kernel_seed(rng), METHODS[method]
    while True:
        with one_blas_thread():
            state, _ = update(rng, seed, state, model, data, **options)
        yield state


def warm_up(
    rng: np.random.Generator,
    model: Model,
    state: State,
    data: Data,
    method: str,
    n_sweeps: int,
    *,
    grow: bool = False,
) -> tuple[Model, State]:
    """Return model and state after warm-up; with `grow` features are added when few are unused."""
    chain = sweeps(rng, model, state, data, method)
    for number in range(n_sweeps):
        state = next(chain)
        if grow and number % _CHECK_EVERY == 0 and capacity.needs_room(state):
            model, state = capacity.enlarged(rng, model, state)
            chain = sweeps(rng, model, state, data, method)
    return model, state
