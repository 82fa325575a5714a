"""The estimators as people use them: pipelines, cross-validation, frames, files, bad arguments."""

import re

import numpy as np
import pandas as pd
import polars
import pytest
import sklearn
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ribp
from ribp.errors import FitWarning, InputError, StorageError
from ribp.results import Result
from ribp.testing.recovery import f1
from tests.helpers.clear_features import clear_features
from tests.helpers.marks import short_of_convergence, whatever_is_found

pytestmark = [pytest.mark.jit, short_of_convergence]

RNG = np.random.default_rng(3)
ONES, TRUTH, COMPONENTS, X = clear_features(RNG, 80, 9)
SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 30, "progress": False, "random_state": 1}


def model(**options):
    return ribp.RestrictedIBP(**{"max_features": 7, **SHORT, **options})


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, counts=ONES)


def test_what_is_found(fitted):
    assert fitted.components_.shape == (4, 9)
    assert fitted.weights_.shape == (4,)
    assert fitted.row_probs_.shape == (80, 4)
    assert not fitted.background_.any()
    distance = np.linalg.norm(fitted.components_[:, None] - COMPONENTS, axis=2)
    assert distance[linear_sum_assignment(distance)].max() < 0.5
    assert isinstance(fitted.counts_, ribp.counts.RowCounts)
    assert isinstance(fitted.result_, Result)
    assert list(fitted.get_feature_names_out()) == [f"feature{i}" for i in range(4)]


@whatever_is_found
def test_probabilities_of_rows_are_those_of_the_last_fit():
    again = model(n_chains=1)
    assert not hasattr(again, "row_probs_")
    assert again.fit(X[:40], counts=ONES[:40]).row_probs_.shape[0] == 40
    assert again.row_probs_ is again.row_probs_
    assert again.fit(X[:50], counts=ONES[:50]).row_probs_.shape[0] == 50


def test_rows_and_back(fitted):
    probs = fitted.transform(X, counts=ONES)
    np.testing.assert_allclose(probs.sum(axis=1), ONES, atol=1e-6)
    rows = fitted.decode(X, counts=ONES)
    assert (rows.sum(axis=1) == ONES).all()
    assert f1(rows, TRUTH) > 0.98
    assert np.abs(fitted.inverse_transform(rows) - X).std() < 0.5
    with pytest.raises(InputError, match="4 columns"):
        fitted.inverse_transform(X)
    with pytest.raises(InputError, match="4 features of the fit"):
        fitted.decode(X[:2], counts=[6, 6])


@pytest.mark.parametrize("method", ["structured", "stochastic", "hybrid"])
def test_variational_methods_find_the_same(method):
    found = model(method=method, n_chains=1, n_warmup=60).fit(X, counts=ONES)
    assert f1(found.decode(X, counts=ONES), TRUTH) > 0.98
    assert found.result_.tree["posterior"]["log_joint"].shape == (1, 30)


def test_transform_knows_one_row_at_a_time(fitted):
    whole = fitted.transform(X, counts=ONES)
    order = np.random.default_rng(0).permutation(80)
    np.testing.assert_array_equal(fitted.transform(X[order], counts=ONES[order]), whole[order])
    for n in range(80):
        alone = fitted.transform(X[n : n + 1], counts=ONES[n : n + 1])
        np.testing.assert_array_equal(alone, whole[n : n + 1])


def test_score_is_a_density_of_entries(fitted):
    right, wrong = fitted.score(X, counts=ONES), fitted.score(X + 3.0, counts=ONES)
    assert right > wrong
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.5, np.nan, X)
    assert abs(fitted.score(holes, counts=ONES) - right) < 1.0
    assert fitted.score(np.full((2, 9), np.nan), counts=[1, 1]) == 0.0
    first = np.arange(80) < 20
    part = fitted.score(X[first], counts=ONES[first])
    weighted = fitted.score(X, counts=ONES, sample_weight=3.0 * first)
    assert weighted == pytest.approx(part)
    with pytest.raises(InputError, match="sample_weight"):
        fitted.score(X, counts=ONES, sample_weight=[1.0])


def test_new_data(fitted):
    drawn = fitted.sample(500, counts="exactly(2)", random_state=0)
    assert drawn.shape == (500, 9)
    np.testing.assert_array_equal(drawn, fitted.sample(500, "exactly(2)", random_state=0))
    assert np.abs(drawn.mean(axis=0) - X[ONES == 2].mean(axis=0)).max() < 1.5


def test_new_rows_without_counts(fitted):
    with pytest.warns(FitWarning, match="average"):
        fitted.transform(X[:3])


def test_a_law_that_is_learned():
    found = model(max_features=6).fit(X)
    probs = np.exp(found.counts_.log_probs(6))
    assert probs[1:3].sum() > 0.85
    assert found.transform(X).shape[1] == len(found.components_)


@pytest.mark.parametrize(
    "counts", ["uniform(1, 2)", ribp.counts.uniform(1, 2), np.tile([1, 2], (80, 1))]
)
def test_counts_of_every_kind(counts):
    assert f1(model(counts=counts, n_chains=1).fit(X).decode(X), TRUTH) > 0.9


def test_auto_number_of_features():
    found = model(max_features="auto").fit(X, counts=ONES)
    assert len(found.components_) == 4
    assert found.result_.settings["n_features"] == 16


# Features by name, and as tables


def test_features_by_name(fitted, tmp_path):
    named = clone(fitted)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        named.feature_names_  # noqa: B018
    named.adopt(fitted.result_).name_features({1: "loud C"})
    names = ["feature0", "loud C", "feature2", "feature3"]
    assert fitted.feature_names_.tolist() == ["feature0", "feature1", "feature2", "feature3"]
    assert named.get_feature_names_out().tolist() == named.feature_names_.tolist() == names
    assert named.result_.short_feature_names == ["0", "loud C", "2", "3"]
    named.save(tmp_path / "fit.nc")
    assert ribp.load(tmp_path / "fit.nc").feature_names_.tolist() == names
    summary = named.result_.summary()
    assert summary.to_frame().index.tolist() == names
    assert "\nloud C " in str(summary)
    for shown in (named._repr_html_(), named.result_._repr_html_(), summary._repr_html_()):
        assert "loud C" in shown
    named.name_features({1: "<script>alert(1)</script>"})
    assert "<script>alert" not in named._repr_mimebundle_()["text/html"]
    assert "loud C" not in clone(fitted)._repr_html_()
    again = Result(fitted.result_.tree).named_as(named.result_)
    assert again.feature_names[1] == "<script>alert(1)</script>"
    assert Result(fitted.result_.tree).named_as(fitted.result_).feature_names == (
        fitted.result_.feature_names
    )


def test_features_and_rows_as_frames(fitted):
    frame = fitted.components_frame()
    assert frame.columns.tolist() == ["feature", "column", "mean", "5%", "95%"]
    means = frame.pivot(index="feature", columns="column", values="mean")
    np.testing.assert_allclose(means.to_numpy(), fitted.components_)
    assert (frame["5%"] <= frame["95%"]).all()
    rows = fitted.rows_frame()
    assert rows.columns.tolist() == fitted.feature_names_.tolist()
    np.testing.assert_array_equal(rows.to_numpy(), fitted.row_probs_)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_decoded_rows_and_data_obey_set_output(fitted, kind):
    found = clone(fitted).adopt(fitted.result_, list("abcdefghi")).set_output(transform=kind)
    frame = pd.DataFrame(X, columns=list("abcdefghi"), index=[f"row {n}" for n in range(80)])
    rows = found.decode(frame, counts=ONES)
    assert list(rows.columns) == found.feature_names_.tolist()
    assert (rows.to_numpy().sum(axis=1) == ONES).all()
    made = found.inverse_transform(rows)
    assert list(made.columns) == list("abcdefghi")
    if kind == "pandas":
        assert list(made.index) == list(frame.index)


def test_results_take_what_fit_takes(fitted):
    result, frame = fitted.result_, pd.DataFrame(X)
    data = ribp.likelihoods.validation.as_data(X)
    for taken in (X, frame, X.tolist(), data):
        np.testing.assert_array_equal(result.impute(taken)[0], result.impute(data)[0])
        assert str(result.check(0, taken)) == str(result.check(np.random.default_rng(0), data))
    assert result.log_likelihood(frame[:]).shape == (2, 30, 80)
    assert result.rows_given(frame[:3], ONES[:3]).probs.shape[0] == 3
    assert result.decode(X[:3], ONES[:3]).shape[0] == 3
    np.testing.assert_array_equal(
        result.posterior_predictive(3, 2), result.posterior_predictive(np.random.default_rng(3), 2)
    )
    assert result.sample(0, 4)[1].shape == (4, 9)
    with pytest.raises(InputError, match="must be the 80 rows of 9 columns of the fit"):
        result.impute(X[:5])
    with pytest.raises(InputError, match="must have the 9 columns of the fit"):
        result.rows_given(X[:, :5])


@pytest.mark.parametrize("holes", [False, True])
def test_rows_are_weighed_in_parts_that_change_nothing(fitted, monkeypatch, holes):
    rows = np.where(RNG.random(X.shape) < 0.1, np.nan, X) if holes else X
    whole = fitted.result_.rows_given(rows, ONES)
    decoded = fitted.decode(rows, counts=ONES)
    monkeypatch.setattr("ribp.blocks.GROUP", 7)
    parts = fitted.result_.rows_given(rows, ONES)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(fitted.decode(rows, counts=ONES), decoded)


@whatever_is_found
def test_missing_counts():
    counts = np.where(np.arange(80) % 4 == 0, np.nan, ONES)
    found = model(n_chains=1).fit(X, counts=counts)
    laws = [str(law) for law in found.counts_.laws]
    assert sorted(law[:5] for law in laws) == ["exact", "exact", "table"]
    rows = found.decode(X, counts=counts)
    known = ~np.isnan(counts)
    assert (rows.sum(axis=1) == ONES)[known].all()


# Frames, sparse matrices, seeds


@whatever_is_found
def test_frames_in_and_out():
    frame = pd.DataFrame(X, columns=list("abcdefghi"), index=[f"row {n}" for n in range(80)])
    found = model().set_output(transform="pandas").fit(frame, counts=ONES)
    out = found.transform(frame, counts=ONES)
    assert list(out.index) == list(frame.index)
    assert list(out.columns) == list(found.get_feature_names_out())
    assert found.result_.tree["features"]["dim"].to_numpy().tolist() == list("abcdefghi")
    assert found.result_.tree["features"]["row"].to_numpy()[3] == "row 3"
    with pytest.raises(ValueError, match="feature names"):
        found.transform(frame[list("ihgfedcba")], counts=ONES)


@whatever_is_found
def test_polars_out():
    found = model().set_output(transform="polars").fit(polars.DataFrame(X), counts=ONES)
    assert isinstance(found.transform(polars.DataFrame(X), counts=ONES), polars.DataFrame)


@whatever_is_found
def test_sparse_in():
    whole = model().fit(X, counts=ONES)
    sparse = model().fit(csr_array(X), counts=ONES)
    np.testing.assert_array_equal(whole.components_, sparse.components_)


@whatever_is_found
@pytest.mark.parametrize(
    "make", [lambda: 5, lambda: np.random.default_rng(5), lambda: np.random.RandomState(5)]
)
def test_seeds(make):
    one, two = (model(random_state=make()).fit(X, counts=ONES) for _ in range(2))
    np.testing.assert_array_equal(one.components_, two.components_)


# Inside scikit-learn


@whatever_is_found
def test_cross_validation_with_counts_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        step = model().set_fit_request(counts=True).set_score_request(counts=True)
        pipeline = make_pipeline(StandardScaler(), step.set_transform_request(counts=True))
        found = cross_validate(pipeline, X, params={"counts": ONES}, cv=KFold(2))
        laws = ribp.counts.as_row_counts(ONES, 80)
        same = cross_validate(pipeline, X, params={"counts": laws}, cv=KFold(2))
    assert np.isfinite(found["test_score"]).all()
    np.testing.assert_array_equal(found["test_score"], same["test_score"])


@whatever_is_found
def test_grid_search():
    search = GridSearchCV(
        model(counts="uniform(1, 2)", n_chains=1), {"max_features": [2, 6]}, cv=KFold(2)
    )
    assert search.fit(X).best_params_ == {"max_features": 6}


def test_clone_and_repr():
    made = model(counts=ribp.counts.exactly(2))
    again = clone(made)
    assert again.get_params() == made.get_params()
    assert "counts=exactly(2)" in repr(made)


# Files


@whatever_is_found
def test_save_and_load(fitted, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdefghi"))
    made = model(counts="uniform(1, 2)").fit(frame)
    path = tmp_path / "fit.nc"
    made.save(path)
    again = ribp.load(path)
    assert again.get_params() == made.get_params()
    np.testing.assert_array_equal(again.components_, made.components_)
    np.testing.assert_array_equal(again.transform(frame), made.transform(frame))
    assert list(again.feature_names_in_) == list("abcdefghi")
    with pytest.raises(StorageError, match="there already"):
        made.save(path)
    fitted.result_.save(tmp_path / "result.nc")
    assert ribp.load(tmp_path / "result.nc") == fitted.result_
    made.result_.with_estimator("Stranger", {"parameters": {}}).save(tmp_path / "strange.nc")
    with pytest.raises(StorageError, match="does not have"):
        ribp.load(tmp_path / "strange.nc")


# The baseline


@whatever_is_found
def test_indian_buffet(tmp_path):
    found = ribp.IndianBuffet(**SHORT).fit(X)
    assert found.transform(X).shape == (80, len(found.components_))
    assert set(np.unique(found.decode(X))) <= {0, 1}
    assert found.sample(3, random_state=0).shape == (3, 9)
    assert found.score(X) > found.score(X + 3)
    found.save(tmp_path / "fit.nc")
    again = ribp.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(again.transform(X), found.transform(X))
    with pytest.raises(InputError, match="gaussian"):
        ribp.IndianBuffet(likelihood="poisson", **SHORT).fit(X)


def test_counts_of_words():
    words = np.random.default_rng(0).poisson(TRUTH @ np.abs(COMPONENTS) * 3 + 0.2)
    found = model(method="gibbs-rows", likelihood="poisson", background=True)
    found.fit(words, counts=ONES)
    assert found.background_.min() > 0
    assert f1(found.decode(words, counts=ONES), TRUTH) > 0.8
    with pytest.raises(InputError, match="gibbs-rows"):
        model(likelihood="poisson").fit(words, counts=ONES)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"method": "vb"}, "method"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": "many"}, "max_features"),
        ({"counts": "exactly(9)"}, "counts"),
        ({"counts": [1, 2]}, "counts"),
        ({"likelihood": "normal"}, "likelihood"),
        ({"mass": -1}, "mass"),
        ({"concentration": "much"}, "concentration"),
        ({"noise": "none"}, "noise"),
        ({"noise_scale": 0}, "noise_scale"),
        ({"feature_scale": "big"}, "feature_scale"),
        ({"n_chains": 0}, "n_chains"),
        ({"random_state": "x"}, "random_state"),
        ({"progress": "loud"}, "progress"),
    ],
)
def test_bad_arguments(wrong, says):
    with pytest.raises(InputError, match=says):
        model(**wrong).fit(X)


# Features that are known


def test_known_features_stay_and_others_are_found():
    found = model(method="gibbs-rows", fixed_components=COMPONENTS[:2]).fit(X, counts=ONES)
    np.testing.assert_array_equal(found.components_[:2], COMPONENTS[:2])
    assert len(found.components_) == 4
    rows = found.decode(X, counts=ONES)
    assert (rows[:, :2] == TRUTH[:, :2]).mean() > 0.98
    assert f1(rows, TRUTH) > 0.98


def test_all_features_known(tmp_path):
    unused = np.full((1, 9), 30.0)
    known = np.vstack([COMPONENTS, unused])
    made = model(method="gibbs-rows", max_features=5, fixed_components=known)
    found = made.fit(X, counts=ONES)
    np.testing.assert_array_equal(found.components_, known)
    assert (found.decode(X, counts=ONES)[:, :4] == TRUTH).mean() > 0.99
    found.save(tmp_path / "fit.nc")
    np.testing.assert_array_equal(ribp.load(tmp_path / "fit.nc").components_, known)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"method": "gibbs"}, "gibbs-rows"),
        ({"fixed_components": COMPONENTS[:, :3]}, "columns"),
        ({"fixed_components": COMPONENTS[0]}, "shape"),
        ({"fixed_components": COMPONENTS, "max_features": 3}, "max_features"),
        ({"fixed_components": COMPONENTS, "likelihood": "poisson"}, "counts"),
    ],
)
def test_known_features_that_cannot_be(wrong, says):
    with pytest.raises(InputError, match=says):
        model(**{"method": "gibbs-rows", "fixed_components": COMPONENTS, **wrong}).fit(X)


# Numbers that break arithmetic, or cannot be meant


def test_an_entry_that_is_too_large_is_named(fitted):
    wrong = X.copy()
    wrong[5, 2] = -1e151
    frame = pd.DataFrame(wrong, columns=list("abcdefghi"), index=[f"r{n}" for n in range(80)])
    for ask in (model().fit, fitted.transform, fitted.score, fitted.decode):
        with pytest.raises(InputError, match=r"-1e\+151 in row 5, column 2.*divide the column"):
            ask(wrong)
    with pytest.raises(InputError, match=r"-1e\+151 in row 'r5', column 'c'"):
        model().fit(frame)
    frame = frame.astype(object)
    frame.loc["r7", "b"] = "x"
    with pytest.raises(InputError, match="'x' in row 'r7', column 'b'"):
        model().fit(frame)


@whatever_is_found
def test_a_cell_absurd_beside_its_column_gives_a_warning():
    wrong = 1e-3 * X
    wrong[5, 2], wrong[:, 3], wrong[:, 4] = -99999.0, 3.0, np.nan
    with pytest.warns(FitWarning, match="-99999 in row 5, column 2.*Use NaN") as heard:
        found = model(n_chains=1, background=True).fit(wrong)
    assert sum("-99999" in str(one.message) for one in heard) == 1
    codes = ["absurd-cell", "constant-column", "missing-column"]
    assert [notice.code for notice in found.result_.warnings] == codes
    summary = found.result_.summary()
    assert summary.warnings[0].code == codes[0]  # which may spoil a fit
    assert [notice.code for notice in summary.notes[:2]] == codes[1:]  # which do no harm


@whatever_is_found
def test_columns_far_from_zero_without_a_background_are_named():
    far = X + 1000.0 * (np.arange(X.shape[1]) == 4)
    with pytest.warns(FitWarning, match="mean of column 4 is more than 10 times its spread"):
        found = model(n_chains=1, background=False).fit(far)
    assert "far-from-zero" in [notice.code for notice in found.result_.warnings]
    found = model(n_chains=1, background=True).fit(far)
    assert "far-from-zero" not in [notice.code for notice in found.result_.warnings]


@whatever_is_found
def test_counts_of_rare_things_give_a_warning_where_they_have_noise_by_column():
    words = np.random.default_rng(2).poisson(0.1, (40, 6)).astype(float)
    with pytest.warns(FitWarning, match="X holds .*features of rare entries") as heard:
        found = model(n_chains=1, background=True).fit(words)
    assert sum("rare entries" in str(one.message) for one in heard) == 1
    assert "rare-counts" in [notice.code for notice in found.result_.summary().warnings]
    rows = {"method": "gibbs-rows", "likelihood": "poisson"}
    for options in ({"noise": "shared"}, rows, {"noise_scale": 0.3}):
        found = model(n_chains=1, background=True, **options).fit(words)
        assert "rare-counts" not in [notice.code for notice in found.result_.warnings]


@whatever_is_found
def test_data_of_which_nothing_was_observed():
    with pytest.warns(FitWarning, match="No entry of X was observed.*prior"):
        model(n_chains=1).fit(np.full((5, 3), np.nan))


@pytest.mark.parametrize("method", ["gibbs", "gibbs-rows", "augmented"])
def test_a_mistyped_count_is_refused_before_a_search(method):
    ks = ONES.copy()
    ks[7] = 1000
    with pytest.raises(InputError, match=r"exactly\(1000\) in row 7\..*set max_features"):
        model(max_features="auto", method=method).fit(X, counts=ks)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mass", 1e300),
        ("mass", 1e-300),
        ("mass", 7.0),  # max_features
        ("concentration", 1e300),
        ("noise_scale", 1e-300),
        ("noise_scale", 1e300),
        ("noise_scale", 1e-9),
        ("feature_scale", 1e300),
        ("feature_scale", 1e-300),
        ("feature_scale", 1e9),
    ],
)
def test_numbers_beyond_what_arithmetic_can_bear(name, value):
    with pytest.raises(InputError, match=f"^{name} must be .*but got {re.escape(str(value))}"):
        model(**{name: value}).fit(X)


def test_counts_beyond_what_doubles_hold():
    wrong = np.rint(np.abs(X))
    wrong[4, 1] = 1e18
    with pytest.raises(InputError, match=r"2\*\*53.*1e\+18 in row 4, column 1"):
        model(likelihood="poisson", method="gibbs-rows").fit(wrong)


@whatever_is_found
def test_a_mass_has_room_if_features_are_found_out():
    assert model(mass=20.0, max_features="auto", n_chains=1).fit(X[:9]).components_.shape[1] == 9


def test_a_sample_must_fit_into_memory(fitted):
    with pytest.raises(InputError, match=r"n_rows must be at most \d+.*got 1000000000000"):
        fitted.sample(10**12, counts="exactly(1)")


@whatever_is_found
def test_columns_far_from_zero_have_a_background():
    far = X + 1e9
    found = model(n_chains=1, background="auto").fit(far)
    assert "units from zero" in found.background_choice_.reason
    np.testing.assert_allclose(found.background_, 1e9, rtol=1e-6)
    with pytest.raises(InputError, match=r"background must not be False.*column \d.*subtract"):
        model(background=False).fit(far)
