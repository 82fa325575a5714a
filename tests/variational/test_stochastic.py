"""Batches of rows: the same updates, the same fixed point, in fewer passes."""

import numpy as np
import pytest
import small_posteriors as small

import ribp
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.base import complete
from ribp.model import Model
from ribp.variational import stochastic, structured
from ribp.variational.stochastic import Plan

FEATURES, DIMS = 5, 8


def simulated(n_rows, n_first, seed=0):
    """Return a model, its data, and a structured state of the first rows."""
    rng = np.random.default_rng(seed)
    law = ribp.counts.as_row_counts("uniform(1, 3)", n_rows)
    rows = ribp.RestrictedBernoulli(np.linspace(-1, 1, FEATURES), "uniform(1, 3)").sample(
        rng, n_rows
    )
    values = rows @ rng.normal(size=(FEATURES, DIMS)) + 0.5 * rng.normal(size=(n_rows, DIMS))
    model, data = Model(law, FEATURES, LinearGaussian()), complete(values)
    some = np.arange(n_first)
    part, here = model.on_rows(some), data.rows(some)
    first = structured.start(rng, part, here, n_starts=2)
    return model, data, some, first


@pytest.mark.jit
def test_batches_reach_the_fixed_point_of_all_rows_in_fewer_passes():
    """From features that few rows gave: 99% of the gain in bound, rows annealed alike in both."""
    model, data, some, first = simulated(20_000, 60)
    begun = stochastic.from_structured(first, model, data, some)
    whole = stochastic.to_structured(begun, model, data)
    lowest, rng = whole.bound, np.random.default_rng(1)
    gained = []
    for _ in range(25):
        whole, info = structured.update(rng, np.uint64(0), whole, model, data, every=5)
        gained.append(info.bound - lowest)
    plan = Plan(batch=256)
    state = begun
    n_updates = 20_000 // plan.batch // 2  # half of the rows are seen
    for _ in range(n_updates):
        state, _ = stochastic.update(rng, state, model, data, plan)
    found = stochastic.to_structured(state, model, data).bound - lowest
    assert found > 0.99 * gained[-1]
    passes = 0.5 * len(plan.powers)
    assert passes < 1 + np.argmax(np.array(gained) > 0.99 * gained[-1])
    # The broken twin: steps that do not fall let the last batch decide.
    state, forgetful = begun, Plan(batch=16, delay=1.0, decay=0.0)
    for _ in range(60):
        state, _ = stochastic.update(rng, state, model, data, forgetful)
    assert stochastic.to_structured(state, model, data).bound - lowest < 0.99 * gained[-1]


def case_of(n_rows=12):
    laws = ["gap", "point", "learned", "wide"] * (n_rows // 4)
    case = small.small(0, laws=laws, missing=0.2, background=True)
    return case, structured.from_rows(case.model, case.data, case.state.rows, case.state)


def test_one_batch_of_all_rows_is_a_structured_update():
    """With step one, rows from the prior and one pass; every part of the state is the same."""
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    plan = Plan(batch=12, powers=(1.0,), delay=1.0, every=1)
    rng = np.random.default_rng(0)
    moved, info = stochastic.update(rng, state, case.model, case.data, plan)
    assert info.step == 1
    tables = case.model.counts.index
    prior = structured.count_tables(case.model, whole.log_odds, state.law_counts)
    fresh = whole._replace(
        row_log_odds=np.repeat(whole.log_odds[None], 12, axis=0), count_terms=prior[tables],
        law_counts=state.law_counts,
    )  # fmt: skip
    expected, _ = structured.update(rng, np.uint64(0), fresh, case.model, case.data, every=1)
    np.testing.assert_allclose(moved.features.mean, expected.features.mean, atol=1e-10)
    np.testing.assert_allclose(moved.law_counts, expected.law_counts, atol=1e-10)
    np.testing.assert_allclose(moved.log_odds, expected.log_odds, atol=1e-10)
    np.testing.assert_allclose(
        moved.parameters.noise_scale, expected.parameters.noise_scale, atol=1e-10
    )
    assert info.change > 0


def test_sums_of_batches_are_unbiased():
    """Over one round without overlap the batches' sums average to those of all rows."""
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    given = stochastic._given(
        case.model, state.features, state.parameters, state.log_odds, state.law_counts
    )

    def sums(at):
        swept = stochastic._fresh_rows(given, case.model, case.data, at, (0.3, 1.0), 1)
        return stochastic._scaled(swept, 12 / at.size)

    order = np.random.default_rng(1).permutation(12)
    parts = [sums(np.sort(at)) for at in order.reshape(3, 4)]
    for field in range(3):
        every = sums(np.arange(12))[field]
        batches = [part[field] for part in parts]
        if field == 0:
            for k, total in enumerate(every):
                np.testing.assert_allclose(sum(b[k] for b in batches) / 3, total, atol=1e-10)
        else:
            np.testing.assert_allclose(sum(batches) / 3, every, atol=1e-10)


def test_a_round_shows_every_row_once():
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    rng, orders = np.random.default_rng(2), []
    for _ in range(4):
        state, _ = stochastic.update(rng, state, case.model, case.data, Plan(batch=6))
        orders.append(state.order)
    np.testing.assert_array_equal(np.sort(orders[0]), np.arange(12))
    np.testing.assert_array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[1], orders[2])
    assert state.number == 4


def test_the_bound_of_all_rows_is_exact():
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    found = stochastic.to_structured(state, case.model, case.data)
    again = structured.bound(found, case.model, case.data)
    assert found.bound == pytest.approx(again, abs=1e-9)


def test_laws_that_some_rows_do_not_show():
    """A state of a few rows knows fewer laws than the model, in another order."""
    case, _ = case_of()
    some = np.array([3, 6, 7])  # wide, learned, wide
    part, here = case.model.on_rows(some), case.data.rows(some)
    drawn = case.state._replace(rows=case.state.rows[some])
    first = structured.from_rows(part, here, drawn.rows, drawn)
    state = stochastic.from_structured(first, case.model, case.data, some)
    np.testing.assert_allclose(state.law_counts.sum(axis=1), [0, 0, 4, 8], atol=1e-12)
    assert np.isfinite(stochastic.to_structured(state, case.model, case.data).bound)


@pytest.mark.jit
def test_a_start_on_some_rows(monkeypatch):
    monkeypatch.setattr(stochastic, "_MOST_ROWS", 80)
    model, data, *_ = simulated(300, 40)
    state = stochastic.start(np.random.default_rng(3), model, data, n_starts=1)
    assert state.law_counts.sum() == pytest.approx(300)
    assert state.sums.number == pytest.approx(np.full(DIMS, 300.0))
