"""Batches of rows: the same updates, the same fixed point, in fewer passes."""

from functools import partial

import numpy as np
import pytest

import ribp
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.base import complete
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.variational import stochastic, structured
from ribp.variational.stochastic import Plan
from tests.helpers import small_posteriors as small

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


def batches(rng, state, model, data, plan, n_updates):
    """Use so many batches, no row twice in a round."""
    at = []
    for _ in range(n_updates):
        if len(at) < plan.batch:
            at = rng.permutation(len(data.values))
        some, at = np.sort(at[: plan.batch]), at[plan.batch :]
        state, _ = stochastic.use_batch(state, model, data, some, plan)
    return state


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
    state = batches(rng, begun, model, data, plan, 20_000 // plan.batch // 2)  # half of the rows
    found = stochastic.to_structured(state, model, data).bound - lowest
    assert found > 0.99 * gained[-1]
    passes = 0.5 * len(plan.powers)
    assert passes < 1 + np.argmax(np.array(gained) > 0.99 * gained[-1])
    # The broken twin: steps that do not fall let the last batch decide.
    state = batches(rng, begun, model, data, Plan(batch=16, delay=1.0, decay=0.0), 60)
    assert stochastic.to_structured(state, model, data).bound - lowest < 0.99 * gained[-1]


@pytest.mark.jit
def test_an_iteration_is_a_pass_until_it_rests():
    model, data, some, first = simulated(3000, 60)
    state = stochastic.from_structured(first, model, data, some)
    bounds, moves, rng = [], [], np.random.default_rng(1)
    plan = Plan(batch=250)
    while not state.at_rest:
        state, info = stochastic.update(rng, np.uint64(3), state, model, data, plan=plan)
        bounds.append(info.bound)
        moves.append(info.moved)
    assert state.n_updates == 12 * len(moves) == 12 * state.number
    assert 2 < len(moves) < 50
    steps = np.array([plan.step(at) for at in range(state.n_updates)]).reshape(-1, 12).sum(axis=1)
    small_moves = moves < 0.02 * np.minimum(1.0, steps)
    assert np.flatnonzero(small_moves).tolist() == [len(moves) - 1]
    assert bounds[-1] > bounds[0]
    # Nothing happens at rest, and draws obey their laws.
    again, info = stochastic.update(rng, np.uint64(3), state, model, data)
    assert again is state
    assert info == (state.bound, 0.0)
    one, other = (
        stochastic.draw(np.random.default_rng(0), np.uint64(seed), state, model, data).rows
        for seed in (1, 2)
    )
    assert not np.array_equal(one, other)
    for rows in (one, other):
        assert set(rows.sum(axis=1)) == {1, 2, 3}
    fixed = Plan(batch=250, still=0.0, most_passes=2)
    state = stochastic.from_structured(first, model, data, some)
    for _ in range(2):
        assert not state.at_rest
        state, _ = stochastic.update(rng, np.uint64(3), state, model, data, plan=fixed)
    assert state.at_rest


def case_of(n_rows=12):
    laws = ["gap", "point", "learned", "wide"] * (n_rows // 4)
    case = small.small(0, laws=laws, missing=0.2, background=True)
    return case, structured.from_rows(case.model, case.data, case.state.rows, case.state)


def test_one_batch_of_all_rows_is_a_structured_update():
    """With step one, rows from the prior and one pass; every part of the state is the same."""
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    plan = Plan(powers=(1.0,), delay=1.0, every=1)
    assert plan.step(0) == 1
    rng, everyone = np.random.default_rng(0), np.arange(12)
    moved, _ = stochastic.use_batch(state, case.model, case.data, everyone, plan)
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
    assert not np.array_equal(moved.features.mean, state.features.mean)


def test_sums_of_batches_are_unbiased():
    """Over one round without overlap the batches' sums add up to those of all rows."""
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    given = stochastic._given(state, case.model)

    def totals(at):
        return stochastic._fresh_rows(given, case.model, case.data, at, (0.3, 1.0), 1).totals

    order = np.random.default_rng(1).permutation(12)
    first, second, third = (totals(np.sort(at)) for at in order.reshape(3, 4))
    parts = first.plus(second).plus(third)
    every = totals(np.arange(12))
    for one, other in zip(parts.sums, every.sums, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    for one, other in zip(parts[1:], every[1:], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


class Watched:
    """Data that keep which rows were asked for."""

    def __init__(self, data):
        self.data, self.shape, self.asked = data, data.shape, []

    def rows(self, at):
        self.asked.append(at)
        return self.data.rows(at)


def test_a_pass_shows_every_row_once():
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    rng, orders = np.random.default_rng(2), []
    for number in (1, 2):
        data = Watched(case.data)
        state, _ = stochastic.update(
            rng, np.uint64(0), state, case.model, data, plan=Plan(batch=5, still=0.0)
        )
        assert [at.size for at in data.asked] == [6, 6]
        orders.append(np.concatenate(data.asked))
        np.testing.assert_array_equal(np.sort(orders[-1]), np.arange(12))
        assert (state.number, state.n_updates) == (number, 2 * number)
    assert not np.array_equal(*orders)


def test_the_bound_of_a_pass_is_exact(monkeypatch):
    """It is that of the q of all its batches, put together by hand."""
    case, whole = case_of()
    model, data = case.model, case.data
    state, found = stochastic.from_structured(whole, model, data), {}

    def kept(given, data, which, *start, names, use=stochastic.sweep_rows, **options):
        swept = use(given, data, which, *start, names=names, **options)
        found.update({n: (swept.row_log_odds[j], swept.count_terms[j])
                      for j, n in enumerate(names)})  # fmt: skip
        return swept

    monkeypatch.setattr(stochastic, "sweep_rows", kept)
    plan = Plan(batch=4, still=0.0)
    state, info = stochastic.update(
        np.random.default_rng(0), np.uint64(1), state, model, data, plan=plan
    )
    lam, terms = (np.array([found[n][part] for n in range(12)]) for part in range(2))
    by_hand = structured.StructuredState(
        lam, terms, np.empty(0), state.features, state.parameters, state.log_odds, state.mass,
        state.concentration, state.law_counts, 0.0,
    )  # fmt: skip
    assert info.bound == state.bound
    assert info.bound == pytest.approx(structured.bound(by_hand, model, data), abs=1e-9)


def test_rows_of_a_pass_are_drawn_from_their_q():
    """A single batch of all rows: the law of each is its q given the features before it."""
    case, whole = case_of()
    model, data = case.model, case.data
    state = stochastic.from_structured(whole, model, data)
    everyone = np.arange(12)
    swept = stochastic._fresh_rows(
        stochastic._given(state, model), model, data, everyone, Plan().powers, 1
    )
    possible = np.array([law.restricted_log_probs(0, 3) > -np.inf for law in model.counts.laws])
    doubtful = np.argwhere(np.abs(swept.means - 0.5) < 0.4)
    assert len(doubtful)

    def p_values(size, seed, wrong=1.0):
        rng, drawn = np.random.default_rng(seed), []
        for _ in range(size):
            after, _ = stochastic.update(
                np.random.default_rng(0), kernel_seed(rng), state, model, data,
                plan=Plan(still=0.0),
            )  # fmt: skip
            shown = stochastic.draw(rng, np.uint64(0), after, model, data)
            assert shown.rows is after.rows
            drawn.append(after.rows)
        found = np.array(drawn)
        assert possible[model.counts.index, found.sum(axis=2)].all()
        return [mean_p_value(found[:, n, i], wrong * swept.means[n, i]) for n, i in doubtful[:3]]

    assert holds(p_values, replicates(300))
    assert is_caught(partial(p_values, wrong=0.5), 300)


def test_what_rows_move_by():
    """By hand: E |z D|^2, where D is the change of the features in units of the noise."""
    case, whole = case_of()
    before = stochastic.from_structured(whole, case.model, case.data)
    after, _ = stochastic.use_batch(before, case.model, case.data, np.arange(12))
    change = (after.features.mean - before.features.mean) / after.parameters.noise_scale
    total = sum(change[:, d] @ after.sums.pairs[d] @ change[:, d] for d in range(2))
    assert stochastic._moved(before, after, 12) == pytest.approx(np.sqrt(total / 24))
    full = small.small(0, missing=0.0)
    whole = structured.from_rows(full.model, full.data, full.state.rows, full.state)
    before = stochastic.from_structured(whole, full.model, full.data)
    after, _ = stochastic.use_batch(before, full.model, full.data, np.arange(3))
    change = (after.features.mean - before.features.mean) / after.parameters.noise_scale
    total = np.trace(change.T @ after.sums.pairs[0] @ change)
    assert stochastic._moved(before, after, 3) == pytest.approx(np.sqrt(total / 6))


def test_at_rest_the_bound_is_exact_and_features_are_best():
    case, whole = case_of()
    model, data = case.model, case.data
    state = stochastic.from_structured(whole, model, data)
    before = stochastic.to_structured(state, model, data)
    plan = Plan(most_passes=1)
    rest, info = stochastic.update(
        np.random.default_rng(0), np.uint64(1), state, model, data, plan=plan
    )
    assert rest.at_rest
    as_whole = before._replace(
        row_log_odds=rest.row_log_odds, count_terms=rest.count_terms, features=rest.features,
        parameters=rest.parameters, log_odds=rest.log_odds, mass=rest.mass,
        concentration=rest.concentration, law_counts=rest.law_counts,
    )  # fmt: skip
    assert info.bound == pytest.approx(structured.bound(as_whole, model, data), abs=1e-9)
    shown = stochastic.draw(np.random.default_rng(0), np.uint64(1), rest, model, data)
    assert shown.rows.shape == (12, 3)
    assert len(rest.rows) == 0


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(stochastic, "_SHARE", 3)
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    ends = [
        stochastic.update(
            np.random.default_rng(0), np.uint64(1), state, case.model, case.data,
            plan=Plan(batch=7, most_passes=1), n_threads=n_threads,
        )[0]
        for n_threads in (1, 3)
    ]  # fmt: skip
    assert ends[0].bound == ends[1].bound
    np.testing.assert_array_equal(ends[0].row_log_odds, ends[1].row_log_odds)


def test_chunks_of_the_last_pass_change_nothing_but_rounding(monkeypatch):
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    one = stochastic.to_structured(state, case.model, case.data)
    monkeypatch.setattr(stochastic, "_CHUNK", 5)
    other = stochastic.to_structured(state, case.model, case.data)
    np.testing.assert_array_equal(one.row_means, other.row_means)
    assert one.bound == pytest.approx(other.bound, abs=1e-9)


def test_a_row_that_gives_no_bound_is_named():
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    case.data.values[7, np.flatnonzero(case.data.observed[7])[0]] = np.inf
    with pytest.raises(InputError, match="row 7"), np.errstate(all="ignore"):
        stochastic.update(
            np.random.default_rng(0), np.uint64(1), state, case.model, case.data,
            plan=Plan(batch=3),
        )  # fmt: skip


def test_before_the_first_pass_rows_are_those_of_the_prior():
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    shown = stochastic.draw(np.random.default_rng(0), np.uint64(1), state, case.model, case.data)
    laws = np.exp([law.restricted_log_probs(0, 3) for law in case.model.counts.laws])
    assert (laws[case.model.counts.index, shown.rows.sum(axis=1)] > 0).all()


def test_a_trial_is_at_rest():
    case, _ = case_of()
    state = stochastic.resting(np.random.default_rng(0), case.model, case.data)
    assert state.at_rest
    shown = stochastic.draw(np.random.default_rng(0), np.uint64(1), state, case.model, case.data)
    assert shown.rows.shape == (12, 3)


def test_the_bound_of_all_rows_is_exact():
    case, whole = case_of()
    state = stochastic.from_structured(whole, case.model, case.data)
    found = stochastic.to_structured(state, case.model, case.data)
    again = structured.bound(found, case.model, case.data)
    assert found.bound == pytest.approx(again, abs=1e-9)


def test_the_estimated_bound_is_exact_for_all_rows_and_unbiased_for_some():
    case = small.small(0, laws=["gap", "point", "wide", "wide"] * 3, missing=0.2, background=True)
    whole = structured.from_rows(case.model, case.data, case.state.rows, case.state)
    state = stochastic.from_structured(whole, case.model, case.data)
    exact = stochastic.to_structured(state, case.model, case.data).bound

    def of(rows):
        return stochastic.estimated_bound(state, case.model, case.data, rows)

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
