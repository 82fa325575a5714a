"""Entries with a strength, from data to answers: in memory or a file, stored, resumed, refused."""

import numpy as np
import pytest

import ribp
from ribp.errors import InputError
from ribp.fitting import resume
from ribp.likelihoods.data import complete
from ribp.results import Result
from ribp.testing.recovery import f1
from tests.helpers.marks import short_of_convergence
from tests.helpers.same_bits import assert_same_results

pytestmark = [
    pytest.mark.jit,
    short_of_convergence,
]
LENGTH = {"n_chains": 2, "n_warmup": 30, "n_draws": 20, "random_state": 0, "progress": False}
STRONG = {"method": "gibbs-rows", "entries": "strengths", "max_features": 9}


def loud(seed, law="around-one", n_rows=90):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 3, n_rows)
    rows = np.array([rng.permutation(np.arange(4) < k) for k in counts])
    strengths = rng.normal(0, 1, rows.shape) if law == "signed" else rng.gamma(9, 1 / 9, rows.shape)
    components = rng.normal(0, 3, (4, 12))
    values = (rows * strengths) @ components + 0.2 * rng.normal(size=(n_rows, 12))
    return values, counts, rows, strengths


@pytest.fixture(scope="module", params=["around-one", "positive", "signed"])
def fitted(request):
    values, counts, rows, strengths = loud(3, request.param)
    model = ribp.RestrictedIBP(**STRONG, strength_law=request.param, **LENGTH)
    return model.fit(values, counts=counts), values, counts, rows, strengths


def matched(model, values, counts, rows):
    """Return which fitted feature is which true one, by the rows that have it."""
    decoded = model.decode(values, counts=counts)
    return [int((decoded.T @ rows[:, i]).argmax()) for i in range(rows.shape[1])]


def test_features_rows_and_strengths_are_found(fitted):
    model, values, counts, rows, strengths = fitted
    assert f1(model.decode(values, counts=counts), rows) > 0.97
    found, order = model.strengths(values, counts=counts), matched(model, values, counts, rows)
    for i, at in enumerate(order):
        on = rows[:, i] & (model.transform(values, counts=counts)[:, at] > 0.9)
        assert abs(np.corrcoef(found[on, at], strengths[on, i])[0, 1]) > 0.97
    assert (values - model.result_.fitted()).std() < 0.3
    if model.strength_law != "signed":
        assert (values - model.reconstruct(values, counts=counts)).std() < 0.3
        assert 0.2 < float(model.result_.tree["posterior"]["strength_scale"].mean()) < 0.55
    assert model.score(values, counts=counts) > -2.0


def test_it_is_stored_and_read_again(fitted, tmp_path):
    model, values, counts, _, _ = fitted
    model.save(tmp_path / "fit.nc")
    loaded = ribp.load(tmp_path / "fit.nc")
    assert loaded.get_params()["strength_law"] == model.strength_law
    np.testing.assert_array_equal(
        loaded.strengths(values[:9], counts=counts[:9]),
        model.strengths(values[:9], counts=counts[:9]),
    )
    assert loaded.result_ == Result.load(tmp_path / "fit.nc")


def test_a_run_that_is_longer_goes_on_to_the_same_bits(tmp_path):
    values, counts, _, _ = loud(4)
    model = ribp.RestrictedIBP(**STRONG, strength_law="positive", **LENGTH)
    whole = model.fit(values, counts=counts).result_
    model.set_params(n_draws=10, checkpoint=tmp_path / "run").fit(values, counts=counts)
    again = resume(tmp_path / "run", complete(values), n_draws=20, progress=False)
    assert_same_results(whole, again)


def test_strengths_of_what_is_on_or_off_are_one_and_cost_little():
    rng = np.random.default_rng(2)
    rows = np.array([rng.permutation(np.arange(4) < k) for k in rng.integers(1, 3, 200)])
    truth = rows @ rng.normal(0, 1, (4, 40)) + 0.2 * rng.normal(size=(200, 40))
    hidden = rng.random(truth.shape) < 0.05
    values, counts, densities = np.where(hidden, np.nan, truth), rows.sum(axis=1), []
    for entries in ("strengths", "binary"):
        model = ribp.RestrictedIBP(**{**STRONG, "entries": entries}, **LENGTH)
        model.fit(values, counts=counts)
        assert f1(model.row_probs_ > 0.5, rows) == 1.0
        densities.append(model.result_.held_out_log_density(truth, hidden))
        if entries == "strengths":
            assert float(model.result_.tree["posterior"]["strength_scale"].mean()) < 0.05
    strong, binary = densities
    assert strong.mean() > binary.mean() - binary.std() / np.sqrt(binary.size)


def test_a_fit_is_judged_by_some_of_its_rows(short_searches, monkeypatch):
    monkeypatch.setattr("ribp.posterior.judgement._GAIN_ROWS", 40)
    values, counts, _, _ = loud(5)
    model = ribp.RestrictedIBP(**STRONG, **LENGTH).fit(values, counts=counts)
    assert model.result_.judgement.gain.mean > 0.0


@pytest.mark.parametrize("law", ["around-one", "positive"])
def test_a_memory_map_gives_the_same_bits(law, tmp_path):
    values, counts, _, _ = loud(5)
    model = ribp.RestrictedIBP(**STRONG, strength_law=law, background=True, **LENGTH)
    whole = model.fit(values, counts=counts).result_
    np.save(tmp_path / "x.npy", values)
    mapped = model.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), counts=counts).result_
    assert_same_results(whole, mapped)


@pytest.mark.parametrize("method", ["gibbs", "augmented", "structured", "stochastic", "hybrid"])
def test_other_methods_refuse_them_and_name_the_one_that_does_not(method):
    values, counts, _, _ = loud(6)
    model = ribp.RestrictedIBP(**{**STRONG, "method": method}, **LENGTH)
    with pytest.raises(InputError, match="gibbs-rows"):
        model.fit(values, counts=counts)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entries": "loud"}, "entries"),
        ({"strength_law": "loud"}, "strength_law"),
        ({"entries": "binary", "strength_law": "signed"}, "entries"),
        ({"likelihood": "noisy-or"}, "likelihood"),
        ({"weight_prior": "heavy"}, "weight_prior"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(settings, message):
    values, counts, _, _ = loud(7)
    with pytest.raises(InputError, match=message):
        ribp.RestrictedIBP(**{**STRONG, **settings}, **LENGTH).fit(np.abs(values), counts=counts)


def test_binary_entries_have_no_strengths():
    values, counts, _, _ = loud(8)
    model = ribp.RestrictedIBP(max_features=9, **LENGTH).fit(values, counts=counts)
    with pytest.raises(InputError, match="strengths"):
        model.strengths(values, counts=counts)
    assert model.reconstruct(values, counts=counts).shape == values.shape


@pytest.mark.parametrize("prior", ["size-ordered", "gamma-odds"])
def test_weight_priors_reach_the_model(prior):
    values, counts, _, _ = loud(9)
    model = ribp.RestrictedIBP(max_features=9, weight_prior=prior, **LENGTH)
    assert model.fit(values, counts=counts).result_.settings["weights"] == prior
