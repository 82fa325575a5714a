"""Estimators of tables whose columns have kinds: names of levels, answers by kind, refusals."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

import ribp
from ribp import fitting
from ribp.errors import FitWarning, InputError
from ribp.likelihoods.validation import as_data
from ribp.posterior import predict
from ribp.rows.local import in_memory
from ribp.testing.exact import all_rows
from tests.helpers.same_bits import assert_same_results
from tests.helpers.short_searches import shorten

pytestmark = pytest.mark.jit

QUICK = {"n_chains": 2, "n_warmup": 10, "n_draws": 20, "n_jobs": 1, "progress": False}
KINDS = {
    "crp": "positive",
    "visits": "negbin",
    "shots": ribp.kinds.binomial(4),
    "falls": "log-poisson",
}
N = 60


def frame():
    """Return a table of all kinds, some of it missing, and how many features rows have."""
    rng = np.random.default_rng(4)
    ones = rng.integers(1, 3, N)
    rows = np.array([rng.permutation(np.arange(3) < k) for k in ones])
    eta = rows @ rng.normal(0, 2.5, (3, 10))
    noise = rng.logistic(size=eta.shape)
    X = pd.DataFrame(
        {
            "age": 60 + 4 * (eta[:, 0] + rng.normal(size=N)),
            "crp": np.exp(eta[:, 1] + 0.5 * rng.normal(size=N)),
            "smoker": pd.array(eta[:, 2] + noise[:, 2] > 0, dtype="boolean"),
            "sex": np.where(eta[:, 3] + noise[:, 3] > 0, "m", "f"),
            "stage": pd.Categorical.from_codes(
                np.digitize(eta[:, 4] + noise[:, 4], [-1, 1]), ["I", "II", "III"], ordered=True
            ),
            "site": np.array(["liver", "lung", "skin"])[
                (eta[:, 5:8] + rng.gumbel(size=(N, 3))).argmax(axis=1)
            ],
            "visits": rng.poisson(np.exp(0.4 * eta[:, 8])),
            "shots": rng.binomial(4, 1 / (1 + np.exp(-eta[:, 9]))),
            "falls": rng.poisson(np.exp(0.3 * eta[:, 0])),
        },
        index=[f"p{n}" for n in range(N)],
    )
    return X.mask(rng.random(X.shape) < 0.05), ones


X, ONES = frame()


@pytest.fixture(scope="module", autouse=True)
def short():
    """Make short searches: these tests are not about what they find."""
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch.setattr)
        yield


def fitted(table=X, counts=ONES, likelihood=KINDS, **options):
    settings = QUICK | {"random_state": 2, "max_features": 5} | options
    model = ribp.RestrictedIBP("gibbs-rows", likelihood=likelihood, counts=counts, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return model.fit(table)


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_kinds_and_names_of_levels(model):
    assert model.kinds_["stage"] == ribp.kinds.ordinal(["I", "II", "III"])
    assert model.kinds_["sex"] == ribp.kinds.binary(["f", "m"])
    assert model.kinds_["crp"] == ribp.kinds.positive()
    shown = len(model.components_)
    assert model.components_.shape == (shown, 11)  # one for each of three sites
    frame = model.components_frame()
    assert {"site=lung", "site=skin", "site=liver", "stage", "age", "sex=m"} <= set(frame["column"])
    site = frame[frame["column"].str.startswith("site=")].groupby("feature")["mean"].sum()
    np.testing.assert_allclose(site, 0.0, atol=1e-12)  # contrasts
    assert model.result_.tree["features"].sizes["dim"] == 9
    assert "stage: log width of II" in model.result_.tree["posterior"]["own_number"]
    assert "1 ordinal" in model.result_.model.likelihood.description


def test_rows_and_scores_follow_from_the_draws(model):
    """The log of the mean over draws of sums over all rows, entries that are missing left out."""
    some = X.iloc[:4]
    law, draws = model.result_.model.likelihood, model.result_.draws(100)
    data = model._data(some, reset=False)[0]
    every = all_rows(5)
    ones = every.sum(axis=1)
    found = []
    for n in range(4):
        for theta, given in zip(draws.log_odds, draws.parameters, strict=True):
            prior = every @ theta - logsumexp((every @ theta)[ones == ONES[n]])
            values = np.tile(data.values[n], (len(every), 1))
            terms = law.log_density(values, law.means(every, given), given)[:, data.observed[n]]
            found.append(logsumexp((prior + terms.sum(axis=1))[ones == ONES[n]]))
    expected = logsumexp(np.reshape(found, (4, -1)), axis=1) - np.log(len(draws.log_odds))
    rows = model.result_.rows_given(data, ONES[:4])
    np.testing.assert_allclose(rows.log_density, expected, rtol=1e-10)
    score = model.score(some, counts=ONES[:4])
    assert score == pytest.approx(expected.sum() / data.observed.sum(), rel=1e-10)
    one_state = np.reshape(found, (4, -1))[:, 0]
    assert np.abs(one_state - expected).max() > 1e-3  # a single draw would score otherwise
    decoded = model.decode(some, ONES[:4])
    np.testing.assert_array_equal(decoded.sum(axis=1), ONES[:4])
    np.testing.assert_array_equal(
        model.transform(X.iloc[[2]], ONES[[2]])[0], model.transform(some, ONES[:4])[2]
    )


def test_hidden_entries_are_scored_by_the_mean_over_draws(model):
    law, draws = model.result_.model.likelihood, model.result_.draws()
    data = model._data(X, reset=False)[0]
    hidden = np.zeros(data.shape, bool)
    hidden[3:9, :] = True
    by_draw = [
        law.log_density(data.values, law.means(draws.entries(s), given), given)[hidden]
        for s, given in enumerate(draws.parameters)
    ]
    seen = data.observed[hidden]
    expected = logsumexp(by_draw, axis=0) - np.log(len(by_draw))
    found = model.result_.held_out_log_density(data.values, hidden)
    np.testing.assert_allclose(found[seen], expected[seen])
    assert np.abs(by_draw[0] - expected)[seen].max() > 1e-3


def test_tables_come_back_with_their_levels(model):
    filled = model.impute(X)
    assert not filled.isna().any().any()
    assert filled.index.tolist() == X.index.tolist()
    assert set(filled["stage"]) <= {"I", "II", "III"}
    seen = X["site"].notna()
    assert (filled["site"].astype(str) == X["site"])[seen].all()
    np.testing.assert_allclose(filled["age"][X["age"].notna()], X["age"].dropna())
    new = model.sample(5, counts="exactly(1)", random_state=0)
    assert new.shape == (5, 9)
    assert set(new["sex"]) <= {"f", "m"}
    assert (new["crp"] > 0).all()
    rows = model.decode(X, ONES)
    made, again = model.inverse_transform(rows), model.reconstruct(X, ONES)
    assert made.shape == again.shape == X.shape
    assert (again["stage"].astype(str) == X["stage"].astype(str)).mean() > 0.4
    assert abs((again["age"] - X["age"]).median()) < 10
    centre, spread = model.result_.impute(model._data(X, reset=False)[0])
    level = list(X.columns).index("site")
    missing = X["site"].isna().to_numpy()
    assert ((spread[missing, level] >= 0) & (spread[missing, level] < 2 / 3)).all()
    assert set(centre[:, level]) <= {0.0, 1.0, 2.0}


def test_effects_are_changes_of_probabilities(model):
    frame = model.effects_frame()
    names = frame["event"].tolist()
    assert {"smoker", "sex=m", "stage=II", "site=skin"} <= set(names)
    assert any(name.startswith("age > ") for name in names)
    np.testing.assert_allclose(frame["with"] - frame["without"], frame["change"], atol=1e-12)
    assert frame["with"].between(0, 1).all()
    levels = frame[frame["event"].str.startswith("stage=")].groupby("feature")
    np.testing.assert_allclose(levels["with"].sum(), 1.0)
    np.testing.assert_allclose(levels["change"].sum(), 0.0, atol=1e-12)
    plain = fitted(np.random.default_rng(0).normal(size=(12, 3)), "exactly(1)", "gaussian")
    with pytest.raises(InputError, match="must be one of kinds"):
        plain.effects_frame()


def test_one_time_and_again(model, tmp_path):
    model.save(tmp_path / "fit.nc")
    loaded = ribp.load(tmp_path / "fit.nc")
    assert_same_results(loaded.result_, model.result_)
    assert loaded.likelihood == model.kinds_
    probs = model.transform(X, ONES)
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.transform(X, ONES), probs)
    copied = clone(model)
    assert copied.likelihood == model.likelihood
    assert not hasattr(copied, "kinds_")
    assert_same_results(fitted().result_, model.result_)


def test_other_containers_and_precisions():
    table = np.array([[0, 1, 1.5], [1, 0, 2.5], [1, 1, 3.0], [0, 0, 0.5]] * 5)
    first = fitted(table, "exactly(1)", {2: "real"})
    assert [str(kind) for kind in first.kinds_.values()] == ["binary(0, 1)"] * 2 + ["real"]
    second = fitted(table.astype("float32"), "exactly(1)", {2: "real"})
    assert_same_results(first.result_, second.result_)


def test_runs_resume_from_checkpoints(tmp_path):
    table = X[["smoker", "site", "age"]]
    whole = fitted(table, likelihood="auto")
    settings = {"likelihood": "auto", "checkpoint": tmp_path / "run", "n_draws": 12}
    part = fitted(table, **settings)
    data = part._data(table, reset=False)[0]
    longer = fitting.resume(tmp_path / "run", data, n_draws=20, n_jobs=1, progress=False)
    assert_same_results(longer, whole.result_)


def test_files_have_the_bits_of_memory(tmp_path):
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [rng.random(300) < 0.4, rng.integers(3, size=300), rng.normal(5, 2, 300)]
    ).astype(float)
    asked = {0: "binary", 1: ribp.kinds.categorical(["a", "b", "c"]), 2: "real"}
    np.save(tmp_path / "table.npy", table)
    here = fitted(table, "uniform(0, 2)", asked)
    there = fitted(np.load(tmp_path / "table.npy", mmap_mode="r"), "uniform(0, 2)", asked)
    assert_same_results(here.result_, there.result_)
    table[7, 1] = 3.0
    np.save(tmp_path / "wrong.npy", table)
    words = "numbers of its 3 levels, 0 to 2 where a column is categorical, but got 3 in row 7, col"
    with pytest.raises(InputError, match=words):
        fitted(np.load(tmp_path / "wrong.npy", mmap_mode="r"), "uniform(0, 2)", asked)


def test_draws_for_arviz(model):
    pytest.importorskip("arviz")
    given = model.result_.to_arviz(model.result_.log_likelihood(model._data(X, reset=False)[0]))
    assert given.posterior["own"].shape[-1] == 4
    only = fitted(X[["smoker", "sex"]], likelihood="binary")
    assert "own" not in only.result_.tree["posterior"]


def test_replicates_have_the_columns_of_the_data(model):
    again = model.result_.posterior_predictive(0, 3)
    assert again.shape == (3, N, 9)
    assert set(np.unique(again[:, :, 5])) <= {0.0, 1.0, 2.0}
    fit = predict.fitted(model.result_.draws(), model.result_.model.likelihood, np.arange(4))
    assert fit.shape == (4, 9)
    checks = model.result_.check(0, model._data(X, reset=False)[0], 10)
    assert set(checks.worst)


def test_known_features_stay_what_they_are(model, tmp_path):
    known = model.components_[:2] + 0.25  # what levels of a site have in common does not count
    other = fitted(fixed_components=known, random_state=3)
    sites = [name.startswith("site=") for name in model.result_.tree["features"]["latent"].values]
    np.testing.assert_allclose(other.components_[:2, ~np.array(sites)], known[:, ~np.array(sites)])
    np.testing.assert_allclose(other.components_[:2, sites], model.components_[:2, sites])
    drawn = other.result_.draws(100).parameters
    for given in drawn:
        np.testing.assert_allclose(given.features[:2], other.components_[:2], atol=1e-12)
    assert np.ptp([given.features[2] for given in drawn], axis=0).min() > 0.0
    other.save(tmp_path / "fit.nc")
    again = ribp.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(again.transform(X, ONES), other.transform(X, ONES))
    assert_same_results(fitted(fixed_components=known, random_state=3).result_, other.result_)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "gibbs"}, 'must be "gibbs-rows" where data are columns of kinds'),
        ({"method": "structured"}, 'must be "gibbs-rows"'),
        ({"entries": "strengths"}, 'must be "gaussian" or "poisson" with entries="strengths"'),
        ({"background": False}, "must be on where columns have kinds"),
        ({"fixed_components": np.ones((1, 9))}, "must have 8 columns: one for each column of X,"),
        ({"noise": "shared"}, "noise must be left alone"),
        ({"noise_scale": 1.0}, "noise_scale must be left alone"),
        (
            {"likelihood": "kinds"},
            "must be one of gaussian, poisson, noisy-or, auto, real",
        ),
        ({"likelihood": "binay"}, "or a mapping from columns to kinds, but got 'binay'"),
        ({"likelihood": "auto"}, "must say what columns of integers are"),
    ],
)
def test_what_is_refused(settings, words):
    table = X.drop(columns=["visits", "shots", "falls"]) if "likelihood" not in settings else X
    table = table.fillna({"visits": 0, "shots": 0, "falls": 0}).convert_dtypes()
    options = {"method": "gibbs-rows", "likelihood": {"crp": "positive"}} | settings
    if settings.get("likelihood") in ("kinds", "binay"):
        table = table[["age"]]
    with pytest.raises(InputError, match=words):
        ribp.RestrictedIBP(**options, **QUICK).fit(table)


def test_a_mistyped_likelihood_is_told_before_the_table_is_read():
    for wrong in ("binay", None, ["binary"]):
        with pytest.raises(InputError, match="likelihood must be one of"):
            ribp.RestrictedIBP("gibbs-rows", likelihood=wrong, **QUICK).fit(X)


def test_results_take_the_table_of_the_fit(model):
    """Levels by their names, as in the fit; numbers of levels that cannot be are refused."""
    result, data = model.result_, model._data(X, reset=False)[0]
    for mine, theirs in zip(result.impute(X), result.impute(data), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert str(result.check(0, X)) == str(result.check(0, data))
    np.testing.assert_array_equal(result.log_likelihood(X), result.log_likelihood(data))
    np.testing.assert_array_equal(result.decode(X, ONES), result.decode(data, ONES))
    wrong = data._replace(values=data.values + 1.0)
    for ask in (result.impute, result.log_likelihood, lambda given: result.check(0, given)):
        with pytest.raises(InputError, match="X must hold"):
            ask(wrong)


def test_rows_and_columns_are_those_of_the_fit(model):
    with pytest.raises(ValueError, match="in the same order"):
        model.transform(X[X.columns[::-1]], ONES)
    with pytest.raises(ValueError, match="unseen at fit time:\n- more"):
        model.transform(X.assign(more=1.0), ONES)
    with pytest.raises(InputError, match=f"the {N} rows of 9 columns of the fit"):
        model.impute(X.iloc[:5])
    plain = ribp.RestrictedIBP(max_features=2, **QUICK | {"n_draws": 10})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        plain.fit(np.random.default_rng(0).normal(size=(12, 3)))
    with pytest.raises(InputError, match="the 12 rows of 3 columns of the fit"):
        plain.impute(np.zeros((5, 3)))


def test_the_buffet_refuses_kinds():
    with pytest.raises(
        InputError, match=r'"gaussian" for IndianBuffet.*columns of kinds \(4 b.*"gibbs-rows"'
    ):
        ribp.IndianBuffet(likelihood="binary").fit(np.eye(4))


def test_texts_without_kinds_have_an_error_of_ours():
    with pytest.raises(InputError, match=r'real numbers.*likelihood="auto"'):
        ribp.RestrictedIBP(**QUICK).fit(X)


def test_new_levels_and_other_values_are_refused(model):
    table = X.copy()
    table["site"] = table["site"].replace("skin", "brain")
    with pytest.raises(InputError, match=r"liver, lung, skin in column 'site'.*'brain' in row 'p"):
        model.transform(table, ONES)
    table = X.assign(visits=X["visits"].astype(float) + 0.5)
    with pytest.raises(InputError, match=r"counts 0, 1, 2, .* in column 'visits'"):
        model.transform(table, ONES)
    codes = as_data(np.full((2, 9), 7.0))
    with pytest.raises(InputError, match="levels"):
        model.result_.rows_given(codes)


def test_kinds_of_a_store_follow_from_the_likelihood():
    table = as_data(np.tile([[0.0, 1.5], [1.0, 2.5]], (5, 1)))
    model = ribp.RestrictedIBP("gibbs-rows", likelihood={0: "binary"}, **QUICK)
    kinds = [
        column.kind.name for column in model.prepare(in_memory(table)).model.likelihood.columns
    ]
    assert kinds == ["binary", "real"]
    with pytest.raises(InputError, match="must give the 2 columns of X a kind"):
        model.prepare(in_memory(table), kinds=(ribp.kinds.real(),))


def test_levels_of_data_in_parts_are_numbers(tmp_path):
    """Names of levels are refused where only some rows are in memory, in a fit and after it."""
    settings = {"max_features": 3, "n_chains": 1, "n_warmup": 1, "n_draws": 2, "random_state": 0}
    kind = ribp.kinds.categorical(["1", "2", "3"])
    model = ribp.RestrictedIBP("gibbs-rows", likelihood=kind, progress=False, **settings)
    numbers = 1.0 + np.random.default_rng(0).integers(0, 3, (20, 3))
    np.save(tmp_path / "numbers.npy", numbers)
    np.save(tmp_path / "texts.npy", numbers.astype(int).astype(str))
    mapped = {
        name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("numbers", "texts")
    }
    with pytest.raises(InputError, match="must hold numbers where data are not in memory"):
        model.fit(mapped["texts"])
    with pytest.raises(InputError, match="named by their numbers from 0"):
        model.fit(mapped["numbers"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(numbers)
    with pytest.raises(InputError, match="read all data into memory"):
        model.transform(mapped["numbers"])
