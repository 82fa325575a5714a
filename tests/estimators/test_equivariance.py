"""A fit of X c is the fit of X, whatever c: bit for bit if they are powers of two."""

import numpy as np
import pytest

import ribp
from ribp.likelihoods import gaussian_settings
from ribp.likelihoods.units import Units

pytestmark = [
    pytest.mark.jit,
    pytest.mark.usefixtures("short_searches"),
    pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning"),
]

ROWS, DIMS, FEATURES = 60, 8, 3
POWERS = 2.0 ** np.array([0, 100, -100, 3, -7, 20, -1, 50])
FACTORS = np.array([3.7, 0.013, 1.0, 410.0, 0.3, 7e5, 2e-8, 1.9])
SHIFTS = np.array([300.0, -4.0, 0.0, 17.0, -1e4, 2.0, 0.5, 80.0])
SETTINGS = {"max_features": 5, "n_chains": 2, "n_warmup": 15, "n_draws": 15, "random_state": 3}
RESTRICTED = ("gibbs", "gibbs-rows", "augmented", "structured", "stochastic", "hybrid")
BUFFETS = ("gibbs", "variational", "hybrid")


def clear_data(missing=0.0, n_rows=ROWS):
    """Return data whose features nobody could mistake, and how many each row has."""
    rng = np.random.default_rng(0)
    features = rng.normal(0, 1, (FEATURES, DIMS))
    counts = rng.integers(1, 3, size=n_rows)
    rows = np.array([rng.permutation(np.arange(FEATURES) < k) for k in counts])
    X = rows @ features + 0.1 * rng.normal(size=(n_rows, DIMS))
    X[rng.random(X.shape) < missing] = np.nan
    return X, counts


def fitted(method, X, counts, **options):
    if method == "augmented":
        options = {"max_features": "auto", "mass": 2.0, "n_chains": 1} | options
    model = ribp.RestrictedIBP(method, **(SETTINGS | {"progress": False} | options))
    return model.fit(X, counts=counts)


def buffet(method, X, **options):
    return ribp.IndianBuffet(method, **(SETTINGS | {"progress": False} | options)).fit(X)


def assert_equivariant(one, other, factors):
    """All draws are the same, features and scales times the factors."""
    a, b = one.result_.tree, other.result_.tree
    np.testing.assert_array_equal(a["features"]["rows"], b["features"]["rows"])
    np.testing.assert_array_equal(a["features"]["log_odds"], b["features"]["log_odds"])
    np.testing.assert_array_equal(
        a["features"]["components"] * factors, b["features"]["components"]
    )
    np.testing.assert_array_equal(
        a["posterior"]["noise_scale"] * factors, b["posterior"]["noise_scale"]
    )
    if one.background_choice_.on:
        np.testing.assert_array_equal(
            a["features"]["background"] * factors, b["features"]["background"]
        )
    seen = np.array(one.result_.settings["likelihood"]["units"]["number"])
    away = a["posterior"]["log_joint"] - b["posterior"]["log_joint"] - seen @ np.log(factors)
    assert np.abs(away).max() <= 1e-12 * seen @ np.abs(np.log(factors))
    np.testing.assert_array_equal(one.row_probs_, other.row_probs_)
    np.testing.assert_array_equal(one.components_ * factors, other.components_)


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("method", RESTRICTED)
def test_powers_of_two_change_no_bit(method, background):
    X, counts = clear_data(0.1, n_rows=10 if method == "augmented" else ROWS)
    one = fitted(method, X, counts, background=background)
    other = fitted(method, X * POWERS, counts, background=background)
    assert_equivariant(one, other, POWERS)
    np.testing.assert_array_equal(one.transform(X, counts), other.transform(X * POWERS, counts))
    change = np.isfinite(X) @ np.log(POWERS)
    given, scaled = (
        model.result_.rows_given(ribp_data(values), counts).log_density
        for model, values in ((one, X), (other, X * POWERS))
    )
    np.testing.assert_allclose(given - change, scaled, rtol=1e-12)


def ribp_data(values):
    from ribp.likelihoods.data import with_missing

    return with_missing(values)


@pytest.mark.parametrize("method", BUFFETS)
def test_powers_of_two_change_no_bit_of_a_buffet(method):
    X, _ = clear_data()
    one, other = buffet(method, X), buffet(method, X * POWERS)
    assert_equivariant(one, other, POWERS)


def test_one_factor_changes_no_bit_with_shared_noise():
    X, counts = clear_data()
    one = fitted("gibbs", X, counts, noise="shared")
    other = fitted("gibbs", X * 1024.0, counts, noise="shared")
    np.testing.assert_array_equal(
        one.result_.tree["features"]["rows"], other.result_.tree["features"]["rows"]
    )
    np.testing.assert_array_equal(one.components_ * 1024.0, other.components_)
    scale = one.result_.tree["posterior"]["feature_scale"]
    np.testing.assert_array_equal(scale * 1024.0, other.result_.tree["posterior"]["feature_scale"])


def same_rows(one, other, X, Y, counts):
    """Whether two fits decode their data alike, features in any order."""
    a, b = one.decode(X, counts), other.decode(Y, counts)
    return sorted(map(tuple, a.T.tolist())) == sorted(map(tuple, b.T.tolist()))


@pytest.mark.parametrize("method", RESTRICTED)
def test_units_and_offsets_change_no_row(method):
    slow = method == "augmented"  # it begins at a draw of the prior, and few sweeps lead nowhere
    background = slow or method == "hybrid"  # whose optimum depends on whether there is one
    X, counts = clear_data(n_rows=10 if slow else ROWS)
    one = fitted(method, X, counts, background=background)
    scaled, shifted = X * FACTORS, X + SHIFTS
    other = fitted(method, scaled, counts, background=background)
    assert same_rows(one, other, X, scaled, counts)
    other = fitted(method, shifted, counts, background=True)
    assert same_rows(one, other, X, shifted, counts)
    if slow:
        return
    np.testing.assert_allclose(
        other.inverse_transform(other.decode(shifted, counts)), shifted, atol=1.0
    )


def test_files_and_clusters_have_the_same_units(tmp_path):
    X, counts = clear_data(missing=0.1)
    np.save(tmp_path / "x.npy", X * POWERS)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for method in ("gibbs-rows", "structured"):
        one = fitted(method, X, counts)
        assert_equivariant(one, fitted(method, mapped, counts), POWERS)


def test_rows_brought_to_standard_units_on_demand(monkeypatch):
    """What large arrays do changes no bit."""
    from ribp.rows import local

    X, counts = clear_data(missing=0.1, n_rows=2100)
    before = {name: fitted(name, X, counts) for name in ("gibbs-rows", "structured", "stochastic")}
    monkeypatch.setattr(local, "MANY", 10)
    for name, one in before.items():
        assert_equivariant(one, fitted(name, X, counts), np.ones(DIMS))


# Broken twins


def test_one_variance_for_all_columns_is_noticed(monkeypatch):
    X, counts = clear_data()
    of = Units.of
    monkeypatch.setattr(
        Units, "of", classmethod(lambda cls, seen, shared=False: of(seen, shared=True))
    )
    one, other = fitted("gibbs", X, counts), fitted("gibbs", X * POWERS, counts)
    with pytest.raises(AssertionError):
        assert_equivariant(one, other, POWERS)


def test_a_background_that_is_shrunk_to_zero_is_noticed(monkeypatch):
    X, counts = clear_data()
    monkeypatch.setattr(gaussian_settings, "BACKGROUND_WIDTH", 0.01)
    monkeypatch.setattr(gaussian_settings.GaussianSettings, "_centre", 0.0)
    other = fitted("gibbs", X + SHIFTS, counts, background=True)
    made = other.inverse_transform(other.decode(X + SHIFTS, counts))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(made, X + SHIFTS, atol=1.0)


def test_means_that_are_not_added_back_are_noticed(monkeypatch):
    X, counts = clear_data()
    reported = gaussian_settings.GaussianSettings.reported

    def forgetful(self, parameters):
        found = reported(self, parameters)
        return found._replace(background=found.background - self.units.means)

    monkeypatch.setattr(gaussian_settings.GaussianSettings, "reported", forgetful)
    other = fitted("gibbs", X + SHIFTS, counts, background=True)
    made = other.inverse_transform(other.decode(X + SHIFTS, counts))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(made, X + SHIFTS, atol=1.0)
