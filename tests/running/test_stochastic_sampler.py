"""The stochastic method as a run sees it: passes, then rest, and going on from any of them."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from ribp.recording import unpack_rows
from ribp.rows.local import in_memory
from ribp.running.checkpoint import Checkpoint
from ribp.running.estimate import estimate
from ribp.running.samplers import sampler, searches
from ribp.search import pool
from ribp.variational import stochastic
from ribp.variational.stochastic import BatchPlan
from tests.helpers.running_cases import NAMES, SHORT, case, read_back, run, save_often, starts
from tests.helpers.same_bits import assert_same_chains

pytestmark = pytest.mark.jit
PASSES = 5


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """Four batches a pass, at rest after five."""
    plan = BatchPlan(batch=8, still=0.0, most_passes=PASSES)
    monkeypatch.setattr(stochastic, "update", partial(stochastic.update, plan=plan))
    monkeypatch.setattr(stochastic, "_SHARE", 3)


@pytest.mark.parametrize("at", [0, 4, PASSES, 9])
def test_a_chain_goes_on_from_any_iteration(at, tmp_path, monkeypatch):
    """Before its first pass, between passes, when it has come to rest, and among its draws."""
    save_often(monkeypatch)
    plan = replace(SHORT, n_chains=1)
    (whole,), _ = run("stochastic", plan)
    part = replace(plan, n_warmup=min(at, plan.n_warmup), n_draws=max(at - plan.n_warmup, 0))
    run("stochastic", part, checkpoint=Checkpoint(tmp_path))
    (begun,) = read_back(Checkpoint(tmp_path), "stochastic", plan)
    assert begun.n_sweeps == at
    assert begun.state.q.at_rest == (at >= PASSES)
    (resumed,), _ = run("stochastic", plan, [begun])
    assert_same_chains(whole, resumed)


def test_draws_at_rest_have_one_bound_and_obey_their_laws():
    (chain, _), _ = run("stochastic", SHORT)
    bounds = [one["log_joint"] for one in chain.draws.warmup + chain.draws.posterior]
    assert len(set(bounds[: PASSES - 1])) == PASSES - 1
    assert len(set(bounds[PASSES - 1 :])) == 1
    drawn = [one["components"].tobytes() for one in chain.draws.features]
    assert len(set(drawn)) == len(drawn)
    _, model, _ = case("stochastic")
    laws = np.array([law.restricted_log_probs(0, 6) > -np.inf for law in model.counts.laws])
    for one in chain.draws.features:
        assert laws[model.counts.law_of_row, unpack_rows(one["rows"], 6).sum(axis=1)].all()


def test_warm_up_that_ends_before_it_rests():
    """Draws are then rows of passes, and the chain is the same as with a long warm-up."""
    (short, _), _ = run("stochastic", replace(SHORT, n_warmup=2))
    (usual, _), _ = run("stochastic", SHORT)
    bounds = [[one["log_joint"] for one in c.draws.warmup + c.draws.posterior]
              for c in (short, usual)]  # fmt: skip
    assert bounds[0] == bounds[1][: len(bounds[0])]
    histogram = short.draws.posterior[0]["count_histogram"]
    assert histogram.sum() == 30


def test_threads_change_nothing():
    method, model, data = case("stochastic")
    ends = []
    for n_threads in (1, 3):
        it, rng = sampler(method, model), np.random.default_rng(1)
        rows = it.rows(in_memory(data, n_threads))
        state = it.begin(rng, rows, starts(method, model, data, SHORT).start(0))
        for _ in range(PASSES + 1):
            state, (bound, _) = it.update(rng, np.uint64(2), state, it.model, rows)
        ends.append((bound, it.packed(state, rows)))
    assert ends[0][1].any()
    assert ends[0][0] == ends[1][0]
    np.testing.assert_array_equal(ends[0][1], ends[1][1])


def test_an_estimate_makes_no_pass(monkeypatch):
    method, model, data = case("stochastic")
    monkeypatch.setattr(stochastic, "use_batch", None)
    assert 0 < estimate(sampler(method, model), in_memory(data), SHORT, 1).seconds < 10


@pytest.mark.parametrize("name", NAMES)
def test_estimates_make_no_search(name, monkeypatch):
    method, model, data = case(name)
    monkeypatch.setattr(pool, "repaired", None)
    assert estimate(sampler(method, model), in_memory(data), SHORT, 1).seconds > 0
    if searches(method):
        with pytest.raises(TypeError, match="not callable"):
            run(name, SHORT)
