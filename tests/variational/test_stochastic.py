"""Batches of rows: the same updates, the same fixed point, in fewer passes."""

from functools import partial

import numpy as np
import pytest

import ribp
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete
from ribp.model import Model
from ribp.recording import unpack_rows
from ribp.rng import kernel_seed
from ribp.rows import shard
from ribp.search import pool
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.variational import stochastic, structured, structured_rows
from ribp.variational.stochastic import BatchPlan
from tests.helpers import small_posteriors as small
from tests.helpers.stochastic_cases import begun, draw
from tests.helpers.structured_cases import Whole, bound, from_rows, rows_of, table, update, whole

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
    part, here = model.on_rows(some), rows_of(model.on_rows(some), data.rows(some))
    begin = pool.best(rng, part, data.rows(some), 2)
    first = whole(structured.start(rng, part, here, begin), part, here)
    return model, data, some, first


def batches(rng, state, model, data, plan, n_updates):
    """Use so many batches, no row twice in a round."""
    at = []
    for _ in range(n_updates):
        if len(at) < plan.batch:
            at = rng.permutation(len(data.values))
        some, at = np.sort(at[: plan.batch]), at[plan.batch :]
        state, _ = stochastic.use_batch(state, model, data.rows(some), some, plan)
    return state


@pytest.mark.jit
def test_batches_reach_the_fixed_point_of_all_rows_in_fewer_passes():
    """From features that few rows gave: 99% of the gain in bound, rows annealed alike in both."""
    model, data, some, first = simulated(20_000, 60)
    start, rows = begun(first, model, data, some), rows_of(model, data)
    q = stochastic.to_structured(start, model, rows)
    lowest, rng = q.bound, np.random.default_rng(1)
    gained = []
    for _ in range(25):
        q, _ = structured.update(np.uint64(0), q, model, rows, every=5)
        gained.append(q.bound - lowest)
    plan = BatchPlan(batch=256)
    state = batches(rng, start, model, data, plan, 20_000 // plan.batch // 2)  # half of the rows
    found = stochastic.to_structured(state, model, rows).bound - lowest
    assert found > 0.99 * gained[-1]
    passes = 0.5 * len(plan.powers)
    assert passes < 1 + np.argmax(np.array(gained) > 0.99 * gained[-1])
    # The broken twin: steps that do not fall let the last batch decide.
    state = batches(rng, start, model, data, BatchPlan(batch=16, delay=1.0, decay=0.0), 60)
    assert stochastic.to_structured(state, model, rows).bound - lowest < 0.99 * gained[-1]


@pytest.mark.jit
def test_an_iteration_is_a_pass_until_it_rests():
    model, data, some, first = simulated(3000, 60, seed=1)
    state, rows = begun(first, model, data, some), rows_of(model, data)
    bounds, moves, rng = [], [], np.random.default_rng(1)
    plan = BatchPlan(batch=250)
    while not state.at_rest:
        state, moved = stochastic.update(rng, np.uint64(3), state, model, rows, plan=plan)
        bounds.append(state.bound)
        moves.append(moved)
    assert state.n_updates == 12 * len(moves) == 12 * state.number
    assert 2 < len(moves) < 50
    steps = np.array([plan.step(at) for at in range(state.n_updates)]).reshape(-1, 12).sum(axis=1)
    small_moves = moves < 0.02 * np.minimum(1.0, steps)
    assert np.flatnonzero(small_moves).tolist() == [len(moves) - 1]
    assert bounds[-1] > bounds[0]
    # Nothing happens at rest, and draws obey their laws.
    again, moved = stochastic.update(rng, np.uint64(3), state, model, rows)
    assert again is state
    assert moved == 0.0
    one, other = (draw(np.random.default_rng(0), seed, state, model, rows).rows for seed in (1, 2))
    assert not np.array_equal(one, other)
    for z in (one, other):
        assert set(z.sum(axis=1)) == {1, 2, 3}
    fixed = BatchPlan(batch=250, still=0.0, most_passes=2)
    state = begun(first, model, data, some)
    for _ in range(2):
        assert not state.at_rest
        state, _ = stochastic.update(rng, np.uint64(3), state, model, rows, plan=fixed)
    assert state.at_rest


@pytest.mark.parametrize(("still", "rests"), [(0.5, False), (4.0, True)])
def test_a_pass_of_small_steps_must_move_less_to_rest(still, rests, monkeypatch):
    """What rows may move by is a share of the steps of a pass, where these are below one."""
    model, data, some, first = simulated(300, 60)
    state, rows = begun(first, model, data, some), rows_of(model, data)
    plan = BatchPlan(batch=300, delay=10.0, decay=0.6, still=still)  # one step of a quarter
    assert 0.2 < plan.step(0) < 0.3
    monkeypatch.setattr(stochastic, "_moved", lambda *given: 0.7)
    given = np.random.default_rng(0), np.uint64(0), state, model, rows
    assert stochastic.update(*given, plan=plan)[0].at_rest == rests


def case_of(n_rows=12):
    laws = ["gap", "point", "learned", "wide"] * (n_rows // 4)
    case = small.small(0, laws=laws, missing=0.2, background=True)
    return case, from_rows(case.model, case.data, case.state.rows, case.state)


def test_one_batch_of_all_rows_is_a_structured_update():
    """With step one, rows from the prior and one pass; every part of the state is the same."""
    case, first = case_of()
    state = begun(first, case.model, case.data)
    plan = BatchPlan(powers=(1.0,), delay=1.0, every=1)
    assert plan.step(0) == 1
    moved, _ = stochastic.use_batch(state, case.model, case.data, np.arange(12), plan)
    tables, q = case.model.counts.law_of_row, first.q
    prior = structured_rows.count_tables(case.model, q.log_odds, state.law_counts)
    fresh = Whole(
        q._replace(law_counts=state.law_counts), np.repeat(q.log_odds[None], 12, axis=0),
        prior[tables, : structured_rows.count_width(case.model)],
    )  # fmt: skip
    expected = update(fresh, case.model, case.data, every=1).q
    np.testing.assert_allclose(moved.features.mean, expected.features.mean, atol=1e-10)
    np.testing.assert_allclose(moved.law_counts, expected.law_counts, atol=1e-10)
    np.testing.assert_allclose(moved.log_odds, expected.log_odds, atol=1e-10)
    np.testing.assert_allclose(
        moved.parameters.noise_scale, expected.parameters.noise_scale, atol=1e-10
    )
    assert not np.array_equal(moved.features.mean, state.features.mean)


def test_sums_of_batches_are_unbiased():
    """Over one round without overlap the batches' sums add up to those of all rows."""
    case, first = case_of()
    state = begun(first, case.model, case.data)
    given = structured.global_factors(state, case.model)

    def totals(at):
        data = case.data.rows(at)
        return stochastic._fresh_rows(given, case.model, data, at, (0.3, 1.0), 1).totals

    order = np.random.default_rng(1).permutation(12)
    first, second, third = (totals(np.sort(at)) for at in order.reshape(3, 4))
    parts = first.plus(second).plus(third)
    every = totals(np.arange(12))
    for one, other in zip(parts.sums, every.sums, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    for one, other in zip(parts[1:], every[1:], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


class Watched:
    """Rows that keep which of them were asked for; nothing else can be done to them."""

    def __init__(self, rows):
        self.rows, self.shape, self.store, self.asked = rows, rows.shape, rows.store, []

    def take(self, at):
        self.asked.append(at)
        return self.rows.take(at)


def test_a_pass_shows_every_row_once():
    case, first = case_of()
    state = begun(first, case.model, case.data)
    rng, orders = np.random.default_rng(2), []
    for number in (1, 2):
        rows = Watched(rows_of(case.model, case.data))
        state, _ = stochastic.update(
            rng, np.uint64(0), state, case.model, rows, plan=BatchPlan(batch=5, still=0.0)
        )
        assert [at.size for at in rows.asked] == [6, 6]
        orders.append(np.concatenate(rows.asked))
        np.testing.assert_array_equal(np.sort(orders[-1]), np.arange(12))
        assert (state.number, state.n_updates) == (number, 2 * number)
    assert not np.array_equal(*orders)


def as_structured(state):
    """Return all of a state that a `VariationalState` has."""
    names = [name for name in structured.VariationalState._fields if name != "bound"]
    found = {name: getattr(state, name) for name in names}
    return structured.VariationalState(**found, bound=0.0)


def test_the_bound_of_a_pass_is_exact(monkeypatch):
    """It is that of the q of all its batches, put together by hand."""
    case, first = case_of()
    model, data = case.model, case.data
    state, found = begun(first, model, data), {}

    def kept(given, data, which, *start, names, use=stochastic.sweep_rows, **options):
        swept = use(given, data, which, *start, names=names, **options)
        found.update({n: (swept.row_log_odds[j], swept.count_terms[j])
                      for j, n in enumerate(names)})  # fmt: skip
        return swept

    monkeypatch.setattr(stochastic, "sweep_rows", kept)
    plan = BatchPlan(batch=4, still=0.0)
    state, _ = stochastic.update(
        np.random.default_rng(0), np.uint64(1), state, model, rows_of(model, data), plan=plan
    )
    lam, terms = (np.array([found[n][part] for n in range(12)]) for part in range(2))
    by_hand = Whole(as_structured(state), lam, terms)
    assert state.bound == pytest.approx(bound(by_hand, model, data), abs=1e-9)


def test_rows_of_a_pass_are_drawn_from_their_q():
    """A single batch of all rows: the law of each is its q given the features before it."""
    case, first = case_of()
    model, data = case.model, case.data
    state = begun(first, model, data)
    everyone, rows = np.arange(12), rows_of(model, data)
    swept = stochastic._fresh_rows(
        structured.global_factors(state, model), model, data, everyone, BatchPlan().powers, 1
    )
    possible = np.array([law.restricted_log_probs(0, 3) > -np.inf for law in model.counts.laws])
    doubtful = np.argwhere(np.abs(swept.means - 0.5) < 0.4)
    assert len(doubtful)

    def p_values(size, seed, wrong=1.0):
        rng, drawn = np.random.default_rng(seed), []
        for _ in range(size):
            after, _ = stochastic.update(
                np.random.default_rng(0), kernel_seed(rng), state, model, rows,
                plan=BatchPlan(still=0.0),
            )  # fmt: skip
            z = unpack_rows(after.z, model.n_features)
            np.testing.assert_array_equal(draw(rng, 0, after, model, rows).rows, z)
            drawn.append(z)
        found = np.array(drawn)
        assert possible[model.counts.law_of_row, found.sum(axis=2)].all()
        return [mean_p_value(found[:, n, i], wrong * swept.means[n, i]) for n, i in doubtful[:3]]

    assert holds(p_values, replicates(300))
    assert is_caught(partial(p_values, wrong=0.5), 300)


def test_what_rows_move_by():
    """By hand: E |z D|^2, where D is the change of the features in units of the noise."""
    case, first = case_of()
    before = begun(first, case.model, case.data)
    after, _ = stochastic.use_batch(before, case.model, case.data, np.arange(12))
    change = (after.features.mean - before.features.mean) / after.parameters.noise_scale
    total = sum(change[:, d] @ after.sums.pairs[d] @ change[:, d] for d in range(2))
    assert stochastic._moved(before, after, 12) == pytest.approx(np.sqrt(total / 24))
    full = small.small(0, missing=0.0)
    first = from_rows(full.model, full.data, full.state.rows, full.state)
    before = begun(first, full.model, full.data)
    after, _ = stochastic.use_batch(before, full.model, full.data, np.arange(3))
    change = (after.features.mean - before.features.mean) / after.parameters.noise_scale
    total = np.trace(change.T @ after.sums.pairs[0] @ change)
    assert stochastic._moved(before, after, 3) == pytest.approx(np.sqrt(total / 6))


def test_at_rest_the_bound_is_exact_and_features_are_best():
    case, first = case_of()
    model, data = case.model, case.data
    state = begun(first, model, data)
    plan, rows = BatchPlan(most_passes=1), rows_of(model, data)
    rest, _ = stochastic.update(
        np.random.default_rng(0), np.uint64(1), state, model, rows, plan=plan
    )
    assert rest.at_rest
    as_whole = whole(as_structured(rest), model, rows)
    assert rest.bound == pytest.approx(bound(as_whole, model, data), abs=1e-9)
    shown = draw(np.random.default_rng(0), 1, rest, model, rows)
    assert shown.rows.shape == (12, 3)
    assert len(rest.z) == 0


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(stochastic, "_SHARE", 3)
    case, first = case_of()
    state = begun(first, case.model, case.data)
    ends, plan = [], BatchPlan(batch=7, most_passes=1)
    for n_threads in (1, 3):
        rows = rows_of(case.model, case.data, n_threads)
        end, _ = stochastic.update(
            np.random.default_rng(0), np.uint64(1), state, case.model, rows, plan=plan
        )
        ends.append((end.bound, table(rows)))
    assert ends[0][0] == ends[1][0]
    np.testing.assert_array_equal(ends[0][1], ends[1][1])


def test_groups_of_the_last_pass_change_nothing_but_rounding(monkeypatch):
    case, first = case_of()
    state = begun(first, case.model, case.data)
    one, other = (rows_of(case.model, case.data) for _ in range(2))
    value = stochastic.to_structured(state, case.model, one).bound
    for module in (shard, structured_rows):
        monkeypatch.setattr(module, "GROUP", 5)
    assert value == pytest.approx(
        stochastic.to_structured(state, case.model, other).bound, abs=1e-9
    )
    assert [len(part) for part in other.parts()] == [5, 5, 2]
    np.testing.assert_array_equal(table(one), table(other))


def test_a_row_that_gives_no_bound_is_named():
    case, first = case_of()
    state = begun(first, case.model, case.data)
    case.data.values[7, np.flatnonzero(case.data.observed[7])[0]] = np.inf
    with pytest.raises(InputError, match="row 7"), np.errstate(all="ignore"):
        stochastic.update(
            np.random.default_rng(0), np.uint64(1), state, case.model,
            rows_of(case.model, case.data), plan=BatchPlan(batch=3),
        )  # fmt: skip


def test_before_the_first_pass_rows_are_those_of_the_prior():
    case, first = case_of()
    state = begun(first, case.model, case.data)
    shown = draw(np.random.default_rng(0), 1, state, case.model, rows_of(case.model, case.data))
    laws = np.exp([law.restricted_log_probs(0, 3) for law in case.model.counts.laws])
    assert (laws[case.model.counts.law_of_row, shown.rows.sum(axis=1)] > 0).all()


def test_a_trial_is_at_rest():
    case, _ = case_of()
    rows = rows_of(case.model, case.data)
    state = stochastic.resting(np.random.default_rng(0), case.model, rows)
    assert state.at_rest
    shown = draw(np.random.default_rng(0), 1, state, case.model, rows)
    assert shown.rows.shape == (12, 3)


def test_the_bound_of_all_rows_is_exact():
    case, first = case_of()
    state = begun(first, case.model, case.data)
    rows = rows_of(case.model, case.data)
    found = stochastic.to_structured(state, case.model, rows)
    again = structured.bound(found, case.model, rows)
    assert found.bound == pytest.approx(again, abs=1e-9)


def test_the_estimated_bound_is_exact_for_all_rows_and_unbiased_for_some():
    case = small.small(0, laws=["gap", "point", "wide", "wide"] * 3, missing=0.2, background=True)
    first = from_rows(case.model, case.data, case.state.rows, case.state)
    state = begun(first, case.model, case.data)
    rows = rows_of(case.model, case.data)
    exact = stochastic.to_structured(state, case.model, rows).bound

    def of(some):
        return stochastic.estimated_bound(state, case.model, rows, np.sort(some))

    assert of(np.arange(12)) == pytest.approx(exact, abs=1e-9)
    parts = [of(at) for at in np.random.default_rng(0).permutation(12).reshape(3, 4)]
    assert np.mean(parts) == pytest.approx(exact, abs=1e-9)
    assert np.std(parts) > 1e-3


def test_laws_that_some_rows_do_not_show():
    """A state of a few rows knows fewer laws than the model, in another order."""
    case, _ = case_of()
    some = np.array([3, 6, 7])  # wide, learned, wide
    part, here = case.model.on_rows(some), case.data.rows(some)
    drawn = case.state._replace(rows=case.state.rows[some])
    first = from_rows(part, here, drawn.rows, drawn)
    state = begun(first, case.model, case.data, some)
    np.testing.assert_allclose(state.law_counts.sum(axis=1), [0, 0, 4, 8], atol=1e-12)
    rows = rows_of(case.model, case.data)
    assert np.isfinite(stochastic.to_structured(state, case.model, rows).bound)


@pytest.mark.jit
def test_a_start_on_some_rows(monkeypatch):
    monkeypatch.setattr(pool, "SEARCH_ROWS", 80)
    model, data, *_ = simulated(300, 40)
    rng = np.random.default_rng(3)
    begin = pool.best(rng, model, data, 1)
    assert begin.some.size == 80
    state = stochastic.start(rng, model, rows_of(model, data), begin)
    assert state.law_counts.sum() == pytest.approx(300)
    assert state.sums.number == pytest.approx(np.full(DIMS, 300.0))
