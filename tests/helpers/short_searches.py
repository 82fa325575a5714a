"""Searches cut short, for tests that are not about what a search finds.

A search is most of the work of a short fit. The same steps are made, only few of them.
"""

from collections.abc import Callable

from ribp import background_choice
from ribp.baselines import ibp_gibbs, ibp_variational_start
from ribp.running import memory_samplers
from ribp.search import capacity, growth, sampled_start, starts
from ribp.variational import hybrid, structured

QUICK = starts.Schedule(steps=5, steps_alone=8, cold_sweeps=2, learning_sweeps=2, growing_sweeps=5)


def shorten(put: Callable[..., None] = setattr) -> None:
    """Make one start of few steps wherever several of many would be made."""
    search = starts.best_start

    def short(rng, model, data, n_starts=1, schedule=QUICK, tick=starts.no_tick):
        return search(rng, model, data, 1, QUICK, tick)

    for module in (memory_samplers, capacity, hybrid, structured, sampled_start):
        put(module, "best_start", short)

    def short_score(rng, model, data, n_starts, tick=starts.no_tick):
        return starts.scored_start(rng, model, data, 1, QUICK, tick)

    put(background_choice, "scored_start", short_score)
    put(starts, "_SETTLING", 2)
    put(growth, "_STEPS", 10)
    put(capacity, "_SWEEPS", 3)
    put(ibp_variational_start, "_STEPS", 8)
    put(ibp_gibbs.best_start, "__defaults__", (1, starts.no_tick))


def shorten_on_few_rows(put: Callable[..., None] = setattr) -> None:
    """Make short searches, on 150 rows at the most where a search is made on some of them."""
    shorten(put)
    put(starts, "SEARCH_ROWS", 150)
