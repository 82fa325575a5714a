"""Rows in memory, in files and in shards: the same draws, bit for bit."""

import numpy as np
import pytest

from ribp import counts, fitting
from ribp.draws import pack_rows, unpack_rows
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.moments import moments
from ribp.mcmc import gibbs_rows
from ribp.model import Model
from ribp.scale import fit as scale_fit
from ribp.scale.in_process import InProcess, spans
from ribp.scale.source import ArraySource, as_source, npy_source
from tests.helpers.scale_cases import (
    CASES,
    FEATURES,
    ROWS,
    assert_same_draws,
    case,
    data_of,
    features,
)

pytestmark = [
    pytest.mark.jit,
    pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning"),
]

SHARDS = {
    "one shard": (1, (0,)),
    "two threads": (2, (0,)),
    "uneven shards": (1, (0, 8192)),
    "three shards": (2, (0, 4096, 8192)),
}


def in_memory(name, n_sweeps=6):
    model, state, values = case(name)
    data, rng, weights = data_of(values), np.random.default_rng(3), []
    for _ in range(n_sweeps):
        state, info = gibbs_rows.update(rng, np.uint64(5), state, model, data)
        weights.append(info.log_joint)
    return state, weights


def in_shards(name, keeper_of, n_sweeps=6):
    model, state, values = case(name)
    keeper = keeper_of(values)
    keeper.survey()
    keeper.begin(model)
    keeper.load(pack_rows(state.rows))
    state, rng, weights = state._replace(rows=state.rows[:0]), np.random.default_rng(3), []
    for _ in range(n_sweeps):
        state, tally, info = gibbs_rows.update_elsewhere(rng, np.uint64(5), state, model, keeper)
        weights.append(info.log_joint)
    rows = unpack_rows(keeper.rows(), FEATURES)
    np.testing.assert_array_equal(tally.sizes, rows.sum(axis=0))
    return state._replace(rows=rows), weights


def assert_same(one, other):
    assert one[1] == other[1]
    for a, b in zip(one[0], other[0], strict=True):
        for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (a, b)), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("name", CASES)
def test_shards_and_threads_change_nothing(name, shards):
    n_threads, edges = SHARDS[shards]
    found = in_shards(name, lambda values: InProcess(ArraySource(values), n_threads, edges))
    assert_same(in_memory(name), found)


def test_another_seed_is_noticed(monkeypatch):
    """The broken twin: one block that is swept with the key of another."""
    whole = in_memory("gaussian")
    kept = gibbs_rows.order
    monkeypatch.setattr(
        gibbs_rows,
        "order",
        lambda seed, state, model: kept(seed + np.uint64(state.number == 3), state, model),
    )
    found = in_shards("gaussian", lambda values: InProcess(ArraySource(values), 1))
    with pytest.raises(AssertionError):
        assert_same(whole, found)


@pytest.mark.parametrize("name", ["gaussian", "background, missing"])
def test_moments_are_those_of_memory(name):
    _, _, values = case(name)
    survey = InProcess(ArraySource(values), 1, (0, 4096)).survey()
    for one, other in zip(survey.moments, moments(data_of(values)), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(survey.moments.mean, np.nanmean(values, axis=0))
    np.testing.assert_allclose(survey.moments.variance, np.nanvar(values, axis=0))
    assert survey.moments.overall_mean == pytest.approx(np.nanmean(values))
    assert survey.complete == (not np.isnan(values).any())
    assert survey.digest == InProcess(ArraySource(values), 2).survey().digest
    values[17, 1] += 1e-9
    assert survey.digest != InProcess(ArraySource(values), 2).survey().digest


PLAN = {"n_chains": 2, "n_warmup": 4, "n_draws": 8, "seed": 7, "progress": False}


def model_of(n_rows, n_features=4):
    laws = {"a": counts.uniform(1, 2), "b": counts.learned([1.0] * 3)}
    law = counts.by_group(laws, list("ab" * n_rows)[:n_rows])
    return Model(law, n_features, LinearGaussian(background=True))


@pytest.fixture
def file(tmp_path):
    values, _ = features(share=0.1)
    np.save(tmp_path / "data.npy", values)
    return tmp_path / "data.npy"


@pytest.mark.parametrize("grow", [False, True])
def test_a_fit_from_a_file_is_a_fit_from_memory(few, file, grow):
    values = np.load(file)
    in_mind = fitting.fit(
        model_of(ROWS), data_of(values), "gibbs-rows", grow=grow, thin=2, n_jobs=2, **PLAN
    )
    keeper = InProcess(npy_source(file), 2)
    survey = keeper.survey()
    found = scale_fit.fit(model_of(ROWS), keeper, survey, grow=grow, thin=2, **PLAN)
    assert_same_draws(in_mind, found)
    mapped = InProcess(as_source(np.load(file, mmap_mode="r")), 1, (0, 4096))
    again = scale_fit.fit(model_of(ROWS), mapped, mapped.survey(), grow=grow, thin=2, **PLAN)
    assert_same_draws(found, again)


def test_few_rows_start_as_in_memory(few):
    values, _ = features(120)
    settings = PLAN | {"n_draws": 4, "n_warmup": 2, "n_chains": 1}
    in_mind = fitting.fit(model_of(120), data_of(values), "gibbs-rows", thin=1, **settings)
    keeper = InProcess(ArraySource(values), 1)
    found = scale_fit.fit(model_of(120), keeper, keeper.survey(), thin=1, **settings)
    assert_same_draws(in_mind, found)


class StoppedError(Exception):
    """What a machine that fails would raise."""


@pytest.mark.parametrize("fails_at", [5, 14, 17])
def test_a_run_that_was_killed_goes_on_with_the_same_bits(
    few, file, tmp_path, monkeypatch, fails_at
):
    monkeypatch.setattr("ribp.running.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("ribp.running.run.CHECKPOINT_SWEEPS", 3)
    keeper = InProcess(npy_source(file), 2)
    survey = keeper.survey()
    whole = scale_fit.fit(model_of(ROWS), keeper, survey, thin=2, **PLAN)
    sweep, done = InProcess.sweep, []

    def failing(self, order):
        done.append(order.number)
        if sum(number < 2**31 for number in done) == fails_at:
            raise StoppedError
        return sweep(self, order)

    monkeypatch.setattr(InProcess, "sweep", failing)
    other = InProcess(npy_source(file), 1, (0, 4096))
    other.survey()
    folder = tmp_path / "run"
    with pytest.raises(StoppedError):
        scale_fit.fit(model_of(ROWS), other, survey, thin=2, checkpoint=folder, **PLAN)
    monkeypatch.setattr(InProcess, "sweep", sweep)
    fresh = InProcess(npy_source(file), 1, (0, 8192))
    found = scale_fit.resume(folder, fresh, fresh.survey(), progress=False)
    assert_same_draws(whole, found)


def test_shards_cover_all_rows():
    for n_rows, n_shards in [(1, 3), (4096, 2), (9000, 2), (9000, 3), (100_000, 7)]:
        found = spans(n_rows, n_shards)
        assert [a for a, _ in found] == [0, *(b for _, b in found[:-1])]
        assert found[-1][1] == n_rows
        assert all(a % 4096 == 0 and b > a for a, b in found)
        assert len(found) == min(n_shards, -(-n_rows // 4096))
