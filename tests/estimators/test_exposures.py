"""Counts whose rows have exposures, and entries strengths: from data to answers, and refusals."""

import numpy as np
import pytest
from scipy.special import logsumexp

import ribp
from ribp.errors import InputError
from ribp.fitting import resume
from ribp.likelihoods.data import complete
from ribp.results import Result
from ribp.testing.recovery import f1
from tests.helpers.marks import short_of_convergence
from tests.helpers.same_bits import assert_same_results

pytestmark = [pytest.mark.jit, short_of_convergence]
LENGTH = {"n_chains": 2, "n_warmup": 30, "n_draws": 20, "random_state": 0, "progress": False}
COUNTED = {"method": "gibbs-rows", "likelihood": "poisson", "max_features": 8, "background": False}
FEW = slice(0, 4)


def texts(seed, n_rows=80):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 3, n_rows)
    rows = np.array([rng.permutation(np.arange(4) < k) for k in counts])
    own = rng.gamma(2.0, 0.5, n_rows) + 0.2
    sizes = rows * rng.gamma(4.0, 0.25, rows.shape)
    values = rng.poisson(own[:, None] * (sizes @ rng.gamma(0.3, 12.0, (4, 14))))
    return values.astype(float), counts, rows, sizes, own


X, COUNTS, ROWS, SIZES, OWN = texts(3)
CASES = {
    ("binary", "given"): OWN,
    ("binary", "learn"): "learn",
    ("strengths", "given"): OWN,
    ("strengths", "learn"): "learn",
}


@pytest.fixture(scope="module", params=CASES, ids=" ".join)
def fitted(request):
    entries, mode = request.param
    model = ribp.RestrictedIBP(**COUNTED, entries=entries, **LENGTH)
    own = OWN if mode == "given" else None
    return model.fit(X, counts=COUNTS, exposure=CASES[request.param]), own


def of(own, at):
    return None if own is None else own[at]


def test_rows_exposures_and_strengths_are_found(fitted):
    model, own = fitted
    probs = model.row_probs_
    if model.entries == "strengths":
        assert f1((probs > 0.5).astype(np.int8), ROWS) > 0.97
        assert 0.3 < float(model.result_.tree["posterior"]["strength_scale"].mean()) < 0.8
        found = model.strengths(X[FEW], counts=COUNTS[FEW], exposure=of(own, FEW))
        assert found.shape == (4, len(model.components_))
        assert np.nanmin(found) > 0
    if own is None:
        assert np.corrcoef(np.log(model.exposures_), np.log(OWN))[0, 1] > 0.6
    else:
        np.testing.assert_allclose(model.exposures_, OWN)
    spread = np.sqrt(X.mean())
    assert (X - model.result_.fitted()).std() < 2 * spread


def test_all_that_takes_rows_takes_their_exposures(fitted):
    model, own = fitted
    given = {"counts": COUNTS[FEW], "exposure": of(own, FEW)}
    decoded = model.decode(X[FEW], **given)
    np.testing.assert_array_equal(decoded.sum(axis=1), COUNTS[FEW])
    assert model.transform(X[FEW], **given).shape == decoded.shape
    assert -10.0 < model.score(X[FEW], **given) < 0.0
    rebuilt = model.reconstruct(X[FEW], **given)
    assert np.corrcoef(rebuilt.ravel(), X[FEW].ravel())[0, 1] > 0.6
    drawn = model.sample(200, exposure=None if own is None else np.full(200, 1e3), random_state=1)
    assert drawn.shape == (200, X.shape[1])
    if own is not None:
        assert drawn.mean() > 100 * X.mean()
    assert model.result_.check(0, X, 10).p_values
    hidden = np.zeros(X.shape, bool)
    hidden[0, 3] = True
    assert np.isfinite(model.result_.held_out_log_density(X, hidden)).all()
    assert model.result_.posterior_predictive(0, 3).shape == (3, *X.shape)


def test_it_is_stored_and_read_again(fitted, tmp_path):
    model, own = fitted
    model.save(tmp_path / "fit.nc")
    loaded = ribp.load(tmp_path / "fit.nc")
    given = {"counts": COUNTS[FEW], "exposure": of(own, FEW)}
    np.testing.assert_array_equal(
        loaded.transform(X[FEW], **given), model.transform(X[FEW], **given)
    )
    np.testing.assert_array_equal(loaded.exposures_, model.exposures_)
    assert loaded.result_ == Result.load(tmp_path / "fit.nc")


def test_log_likelihood_for_arviz(fitted):
    """Rows have the exposures of the fit; the mean over draws is the density of new rows."""
    model, own = fitted
    options = {"n_particles": 8, "n_steps": 8} if model.entries == "strengths" else {}
    logs = model.result_.log_likelihood(X, **options)
    assert logs.shape == (2, model.result_.tree["features"].sizes["draw"], len(X))
    rows = model.result_.rows_given(X, COUNTS, own, max_draws=None, **options)
    if len(model.result_.modes) == 1 and model.entries == "binary":
        mean = logsumexp(logs, axis=(0, 1)) - np.log(logs[..., 0].size)
        np.testing.assert_allclose(mean, rows.log_density, rtol=1e-9)
    assert model.result_.to_arviz(logs).log_likelihood is not None


@pytest.mark.parametrize("exposure", [OWN, "learn"], ids=["given", "learn"])
def test_a_run_that_is_longer_goes_on_to_the_same_bits(exposure, tmp_path):
    model = ribp.RestrictedIBP(**COUNTED, entries="strengths", **LENGTH)
    whole = model.fit(X, counts=COUNTS, exposure=exposure).result_
    model.set_params(n_draws=10, checkpoint=tmp_path / "run")
    model.fit(X, counts=COUNTS, exposure=exposure)
    again = resume(tmp_path / "run", complete(X), n_draws=20, progress=False)
    assert_same_results(whole, again)


@pytest.mark.parametrize("exposure", [OWN, "learn"], ids=["given", "learn"])
def test_a_memory_map_gives_the_same_bits(exposure, tmp_path):
    model = ribp.RestrictedIBP(**COUNTED, **LENGTH)
    own = OWN[FEW] if exposure is OWN else None
    whole = model.fit(X, counts=COUNTS, exposure=exposure).result_
    few = model.transform(X[FEW], COUNTS[FEW], own)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "few.npy", X[FEW])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same_results(whole, model.fit(mapped, counts=COUNTS, exposure=exposure).result_)
    mapped = np.load(tmp_path / "few.npy", mmap_mode="r")
    np.testing.assert_array_equal(model.transform(mapped, COUNTS[FEW], own), few)


def test_exposures_of_a_fit_are_asked_for_again(fitted):
    model, own = fitted
    given = None if own is not None else OWN[FEW]
    with pytest.raises(InputError, match="exposure"):
        model.transform(X[FEW], COUNTS[FEW], given)
    with pytest.raises(InputError, match="exposure"):
        model.sample(2, exposure=None if own is not None else [1.0, 1.0])


def test_the_unit_of_exposures_does_not_matter():
    model = ribp.RestrictedIBP(**COUNTED, **LENGTH)
    found = model.fit(X, counts=COUNTS, exposure=OWN)
    score, components = found.score(X, counts=COUNTS, exposure=OWN), found.components_
    again = model.fit(X, counts=COUNTS, exposure=1024 * OWN)
    np.testing.assert_array_equal(again.components_, components)
    np.testing.assert_allclose(again.exposures_, 1024 * OWN)
    assert again.score(X, counts=COUNTS, exposure=1024 * OWN) == score


def test_fit_and_transform_in_one():
    model = ribp.RestrictedIBP(**COUNTED, **LENGTH)
    for exposure in (OWN, "learn"):
        probs = model.fit_transform(X, counts=COUNTS, exposure=exposure)
        assert probs.shape == (len(X), len(model.components_))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"likelihood": "gaussian"}, "gaussian"),
        ({"likelihood": "noisy-or"}, "noisy-or"),
        ({"likelihood": "binary"}, "binary"),
        ({"likelihood": "gaussian", "entries": "strengths"}, "gaussian"),
        ({"method": "gibbs"}, "gibbs-rows"),
        ({"method": "structured"}, "gibbs-rows"),
    ],
)
@pytest.mark.parametrize("exposure", [OWN, "learn"], ids=["given", "learn"])
def test_others_refuse_them_by_name(settings, told, exposure):
    settings = {**COUNTED, "background": "auto", **settings}
    values = np.minimum(X, 1.0) if settings["likelihood"] in ("noisy-or", "binary") else X
    with pytest.raises(InputError, match=told):
        ribp.RestrictedIBP(**settings, **LENGTH).fit(values, counts=COUNTS, exposure=exposure)


@pytest.mark.parametrize("wrong", [OWN[:5], np.zeros(len(X)), "much", -OWN, [None] * len(X)])
def test_exposures_must_be_positive_numbers(wrong):
    with pytest.raises(InputError, match="exposure"):
        ribp.RestrictedIBP(**COUNTED, **LENGTH).fit(X, counts=COUNTS, exposure=wrong)


def test_many_rows_with_strengths_are_judged():
    """Of more than 400 rows only some tell the gain of features."""
    values, counts, _, _, own = texts(5, n_rows=450)
    model = ribp.RestrictedIBP(**COUNTED, entries="strengths", **{**LENGTH, "n_draws": 12})
    result = model.fit(values, counts=counts, exposure=own).result_
    assert result.judgement.gain.mean > 0.0
