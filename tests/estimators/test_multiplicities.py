"""Entries that count, from data to answers: in memory or a file, stored, resumed, refused."""

import numpy as np
import pytest
from scipy.special import logsumexp

import ribp
from ribp.errors import InputError
from ribp.fitting import resume
from ribp.likelihoods.data import complete
from ribp.results import Result
from ribp.search import annealed_counts
from tests.helpers.marks import short_of_convergence, whatever_is_found
from tests.helpers.same_bits import assert_same_results

pytestmark = [pytest.mark.jit, short_of_convergence]
LENGTH = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "random_state": 0, "progress": False}
SUMS = {"method": "gibbs-rows", "entries": "poisson", "restrict": "sum", "max_features": 8}
KINDS = {
    "poisson sums": SUMS,
    "negative binomial sums": {**SUMS, "entries": "negative_binomial"},
    "poisson": {**SUMS, "restrict": "nonzeros"},
    "negative binomial": {**SUMS, "entries": "negative_binomial", "restrict": "nonzeros"},
}


def doses(seed, restrict="sum", n_rows=90):
    """Return data, what is known of each row, and how often rows have each feature."""
    rng = np.random.default_rng(seed)
    known = rng.integers(1, 4, n_rows)
    if restrict == "sum":
        rows = np.array([rng.multinomial(k, [0.25] * 4) for k in known])
    else:
        more = 1 + rng.poisson(0.5, (n_rows, 4))
        rows = np.array([rng.permutation(np.arange(4) < k) for k in known]) * more
    values = rows @ rng.normal(0, 3, (4, 10)) + 0.2 * rng.normal(size=(n_rows, 10))
    return values, known, rows


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    settings = KINDS[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annealed_counts, "_HOT", (0.8, 0.6))
        yield _fitted(settings)


def _fitted(settings):
    values, known, rows = doses(3, settings["restrict"])
    model = ribp.RestrictedIBP(**settings, **LENGTH, background=False)
    return model.fit(values, counts=known), values, known, rows


def totals(model, rows):
    return rows.sum(axis=1) if model.restrict == "sum" else (rows > 0).sum(axis=1)


@whatever_is_found
def test_log_likelihood_for_arviz(fitted):
    """Its mean over draws is the density of new rows, where chains are of one mode."""
    model, values, known, _ = fitted
    options = {"n_particles": 4, "n_steps": 4}
    logs = model.result_.log_likelihood(values, **options)
    assert logs.shape == (2, model.result_.tree["features"].sizes["draw"], len(values))
    assert np.isfinite(logs).mean() > 0.9
    if len(model.result_.modes) == 1 and model.restrict == "sum":  # others are annealed
        rows = model.result_.rows_given(values, known, max_draws=None, **options)
        mean = logsumexp(logs, axis=(0, 1)) - np.log(logs[..., 0].size)
        np.testing.assert_allclose(mean, rows.log_density, rtol=1e-6)
    handed = model.result_.to_arviz(logs)
    assert handed.log_likelihood is not None


def test_a_mass_that_leaves_entries_without_limit_is_refused():
    settings = KINDS["negative binomial"] | {"max_features": 6}
    values, known, _ = doses(4, "nonzeros")
    with pytest.raises(InputError, match="mass must be at most 3 where non-zeros"):
        ribp.RestrictedIBP(**settings, mass=5.9, **LENGTH).fit(values, counts=known)


def test_features_and_counts_are_found(fitted):
    model, values, known, rows = fitted
    some = slice(0, 12 if model.restrict == "sum" else 3)  # others are annealed
    decoded = model.decode(values[some], counts=known[some])
    np.testing.assert_array_equal(totals(model, decoded), known[some])
    agree = (decoded[:, :, None] == rows[some][:, None]).mean(axis=0)
    assert model.components_.shape == (4, 10)
    assert (agree.max(axis=0) > 0.9).all()
    means = model.multiplicities(values[some], counts=known[some])
    probs = model.transform(values[some], counts=known[some])
    assert (means >= probs - 1e-9).all()
    assert np.abs(means - decoded).mean() < 0.1
    left = values[some] - model.reconstruct(values[some], counts=known[some])
    assert left.std() < 0.35
    assert (values - model.result_.fitted()).std() < 0.3
    assert model.score(values[some], counts=known[some]) > -1.0
    assert min(one.p_value for one in model.result_.check(0, values).worst.values()) > 1e-5


def test_it_is_stored_and_read_again(fitted, tmp_path):
    model, values, known, _ = fitted
    model.save(tmp_path / "fit.nc")
    loaded = ribp.load(tmp_path / "fit.nc")
    assert loaded.get_params()["restrict"] == model.restrict
    np.testing.assert_array_equal(
        loaded.multiplicities(values[:2], counts=known[:2]),
        model.multiplicities(values[:2], counts=known[:2]),
    )
    assert loaded.result_ == Result.load(tmp_path / "fit.nc")
    sizes = model.result_.tree["features"]["sizes"]
    assert sizes.dtype == (np.uint8 if model.restrict == "sum" else np.uint32)
    assert model.result_.to_arviz().posterior["log_joint"].shape == (2, 20)


def test_new_rows_and_data_can_be_drawn(fitted):
    model = fitted[0]
    rows, data = model.result_.sample(np.random.default_rng(0), 30, "exactly(2)")
    np.testing.assert_array_equal(totals(model, rows), 2)
    assert data.shape == (30, 10)
    assert model.sample(3, counts="exactly(1)", random_state=0).shape == (3, 10)


@whatever_is_found
def test_sums_of_new_rows_may_be_larger_than_those_of_the_fit():
    values, known, _ = doses(4)
    model = ribp.RestrictedIBP(**SUMS, **LENGTH).fit(values, counts=known)
    larger = model.decode(values[:3] * 2.0, counts=2 * known[:3])
    np.testing.assert_array_equal(larger.sum(axis=1), 2 * known[:3])


@whatever_is_found
def test_a_run_that_is_longer_goes_on_to_the_same_bits(tmp_path):
    values, known, _ = doses(5)
    model = ribp.RestrictedIBP(**KINDS["negative binomial sums"], **LENGTH)
    whole = model.fit(values, counts=known).result_
    model.set_params(n_draws=10, checkpoint=tmp_path / "run").fit(values, counts=known)
    again = resume(tmp_path / "run", complete(values), n_draws=20, progress=False)
    assert_same_results(whole, again)


@whatever_is_found
@pytest.mark.parametrize("kind", ["poisson sums", "negative binomial"])
def test_a_memory_map_gives_the_same_bits(kind, tmp_path):
    values, known, _ = doses(6, KINDS[kind]["restrict"])
    model = ribp.RestrictedIBP(**KINDS[kind], background=True, **LENGTH)
    whole = model.fit(values, counts=known).result_
    np.save(tmp_path / "x.npy", values)
    mapped = model.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), counts=known).result_
    assert_same_results(whole, mapped)


@whatever_is_found
def test_missing_entries_learned_laws_and_room_that_grows():
    values, _, _ = doses(7)
    values[np.random.default_rng(0).random(values.shape) < 0.05] = np.nan
    model = ribp.RestrictedIBP(**{**SUMS, "max_features": "auto"}, **LENGTH, background=False)
    model.fit(values, counts=ribp.counts.learned([1.0] * 5))
    assert model.result_.settings["n_features"] >= 8
    mean, _ = model.result_.impute(values)
    assert np.isfinite(mean).all()


@pytest.mark.parametrize("method", ["gibbs", "augmented", "structured", "stochastic", "hybrid"])
def test_other_methods_refuse_them_and_name_the_one_that_does_not(method):
    values, known, _ = doses(8)
    model = ribp.RestrictedIBP(**{**SUMS, "method": method}, **LENGTH)
    with pytest.raises(InputError, match="gibbs-rows"):
        model.fit(values, counts=known)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entries": "binary"}, "restrict"),
        ({"entries": "strengths"}, "restrict"),
        ({"restrict": "ones"}, "restrict"),
        ({"failures": 2.0}, "failures"),
        ({"weight_prior": "size-ordered"}, "weight_prior"),
        ({"likelihood": "poisson"}, "likelihood"),
        ({**KINDS["negative binomial"], "concentration": "learn"}, "concentration"),
        ({**KINDS["negative binomial"], "failures": 0.5}, "failures"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(settings, message):
    values, known, _ = doses(9)
    with pytest.raises(InputError, match=message):
        ribp.RestrictedIBP(**{**SUMS, **settings}, **LENGTH).fit(np.abs(values), counts=known)


def test_sums_without_a_limit_are_refused():
    values, _, _ = doses(10)
    with pytest.raises(InputError, match="truncated"):
        ribp.RestrictedIBP(**SUMS, **LENGTH).fit(values, counts="poisson(2)")


@whatever_is_found
def test_binary_entries_have_no_multiplicities():
    values, known, _ = doses(11)
    model = ribp.RestrictedIBP(max_features=8, **LENGTH).fit(values, counts=known)
    with pytest.raises(InputError, match="negative_binomial"):
        model.multiplicities(values, counts=known)
