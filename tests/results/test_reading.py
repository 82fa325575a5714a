"""A real fit, read in every way: what it says is what the draws say, and ArviZ agrees."""

import importlib
import warnings

import numpy as np
import pytest

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.errors import FitWarning
from ribp.fitting import fit
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import with_missing
from ribp.model import Model
from ribp.results import Result
from ribp.testing.recovery import f1
from tests.helpers.clear_features import clear_features

pytestmark = pytest.mark.jit

RNG = np.random.default_rng(2)
ONES, TRUTH, _, X = clear_features(RNG, 50, 10)
HOLES = RNG.random(X.shape) < 0.05
DATA = with_missing(np.where(HOLES, np.nan, X))
LAWS = counts.as_row_counts(ONES, 50)
SHORT = {"n_chains": 2, "n_warmup": 60, "n_draws": 40, "thin": 2, "progress": False, "seed": 5}


@pytest.fixture(scope="module")
def result():
    return fit(Model(LAWS, 8, LinearGaussian()), DATA, **SHORT)


def test_summary_and_diagnostics(result):
    found = result.summary()
    assert len(found.features) == 4
    assert len(found.modes) == 1
    assert max(len(line) for line in str(found).splitlines()) <= 80
    assert found.diagnostics.keys() == result.diagnostics().keys()


def test_rows_that_were_seen_are_found_again(result):
    given = result.rows_given(DATA, ONES)
    assert not given.standard_error.any()
    np.testing.assert_allclose(given.probs.sum(axis=1), ONES, atol=1e-9)
    rows = result.decode(DATA, ONES)
    assert (rows.sum(axis=1) == ONES).all()
    assert f1(rows, TRUTH) > 0.98
    np.testing.assert_allclose(given.probs, result.draws().row_probs(), atol=0.5)
    np.testing.assert_array_equal(result.decode(DATA.rows(slice(3, 5)), ONES[3:5]), rows[3:5])


def test_new_rows_without_counts_get_the_average_law(result):
    with pytest.warns(FitWarning, match="average"):
        given = result.rows_given(DATA)
    assert (result.rows_given(DATA, "uniform(1, 2)").probs.sum(axis=1) > 0.99).all()
    assert given.probs.shape == (50, 8)


def test_entries(result):
    mean, sd = result.impute(DATA)
    assert np.abs((X - mean)[HOLES] / sd[HOLES]).max() < 5
    scores = result.held_out_log_density(X, HOLES)
    assert scores.shape == (HOLES.sum(),)
    assert scores.mean() > result.held_out_log_density(X + 2.0, HOLES).mean()
    assert result.posterior_predictive(np.random.default_rng(0), 3).shape == (3, 50, 10)
    assert "column mean" in str(result.check(np.random.default_rng(0), DATA, 20))
    shared = result.coactivation()
    np.testing.assert_allclose(np.diag(shared), ONES)


def arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 0.23 announces its successor
        return importlib.import_module("arviz")


@pytest.mark.filterwarnings("ignore")
def test_leave_one_out(result):
    az = arviz()
    pointwise = result.log_likelihood(DATA)
    assert pointwise.shape == (2, 20, 50)
    together = np.logaddexp.reduce(pointwise.reshape(40, 50)) - np.log(40)
    of_all = result.rows_given(DATA, ONES, max_draws=None)
    np.testing.assert_allclose(of_all.log_density, together, rtol=1e-9)
    found = az.loo(result.to_arviz(pointwise))
    assert np.isfinite(getattr(found, "elpd_loo", getattr(found, "elpd", np.nan)))
    assert "mass" in az.summary(result.to_arviz(), var_names=["mass"]).index


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize(
    ("method", "model", "shown"),
    [
        ("gibbs-rows", Model(LAWS, 6, PoissonCounts(background=True)), np.abs(X).round()),
        ("buffet", BuffetModel(50, LinearGaussian()), X),
        ("augmented", Model(LAWS, 8, LinearGaussian(), mass=3.0), X),
        ("structured", Model(LAWS, 8, LinearGaussian()), X),
        ("hybrid", Model(LAWS, 8, LinearGaussian()), X),
        ("buffet-variational", FiniteBuffetModel(50, 6, LinearGaussian()), X),
    ],
)
def test_other_methods_are_read_alike(method, model, shown, tmp_path):
    result = fit(model, with_missing(shown), method, **{**SHORT, "n_warmup": 4, "n_draws": 8})
    assert str(result.summary())
    known = None if "buffet" in method else ONES
    rows = result.decode(with_missing(shown), known, max_draws=5)
    assert rows.shape[0] == 50
    if known is not None:
        assert (rows.sum(axis=1) == ONES).all()
    assert result.log_likelihood(with_missing(shown)).shape == (2, 4, 50)
    result.save(tmp_path / "fit.nc")
    assert Result.load(tmp_path / "fit.nc") == result


def test_chains_in_two_modes_are_told_apart(result):
    """One chain at the truth, one at features that explain the rows in another way."""
    tree = result.tree.copy(deep=True)
    rows = tree["features"]["rows"].to_numpy()
    rows[1] = np.roll(rows[1], 7, axis=1)  # the same features, given to other rows
    tree["posterior"]["log_joint"].to_numpy()[1] -= 500.0
    found = Result(tree)
    assert [mode.chains for mode in found.modes] == [(0,), (1,)]
    assert found.diagnostics()["log_joint"].r_hat > 1.5
    said = " ".join(notice.text for notice in found.summary().warnings)
    assert "2 different sets of features" in said
    assert "R-hat" in said
