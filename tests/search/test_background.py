"""Whether data need a background: found by what it gains, on data where the answer is known."""

import numpy as np
import pytest

import ribp
from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.errors import InputError
from ribp.estimators.arguments import background_or_auto
from ribp.likelihoods import LIKELIHOODS, PoissonCounts
from ribp.likelihoods.likelihood import Asked
from ribp.likelihoods.moments import moments
from ribp.likelihoods.validation import as_data
from ribp.model import Model
from ribp.search import background, pool
from ribp.search.background import BackgroundChoice, asked_for
from tests.helpers.clear_features import clear_features

pytestmark = pytest.mark.jit

FEATURES = 3


def table(seed=0, offset=0.0, n_rows=60, dims=8):
    rng = np.random.default_rng(seed)
    made = clear_features(rng, n_rows, dims, FEATURES, size=1.0, noise=0.2)
    return made.values + offset * rng.normal(size=dims), made.counts


def model_of(X, laws, kind="gaussian"):
    law = LIKELIHOODS[kind].make(Asked(), moments(as_data(X)))
    return Model(counts.as_row_counts(laws, len(X)), 6, law)


def chosen(model, X, seed=0):
    search = pool.Search(model, as_data(X), np.arange(len(X)), (seed,), 0, choose=True)
    return pool.settle(search).choice


@pytest.mark.parametrize("seed", range(3))
def test_offsets_need_one_and_nothing_else_does(seed):
    X, k = table(seed)
    found = chosen(model_of(X, k), X)
    assert (found.on, found.gain < 1.0) == (False, True)
    shifted, k = table(seed, offset=3.0)
    found = chosen(model_of(shifted, k), shifted)
    assert (found.on, found.gain > background.LEAST_GAIN) == (True, True)
    assert "times the price of a feature, more than 3" in found.reason


def test_units_do_not_matter():
    X, k = table(1, offset=1.0)
    larger = X * 2.0 ** np.arange(-20, 20, 5)
    assert chosen(model_of(X, k), X) == chosen(model_of(larger, k), larger)


def test_a_feature_that_all_rows_have_is_a_background():
    """Counts known to plus or minus one let a feature take its place, for the price of one."""
    X, k = table(2, n_rows=150)
    X -= X.min(axis=0)
    window = np.stack([np.maximum(k - 1, 0), k + 1], axis=1)
    found = chosen(model_of(X, window), X)
    assert found.on
    rows = np.ones((20, 1), np.int8)
    assert background._stands_in(model_of(X, window), rows)
    assert not background._stands_in(model_of(X, k), rows)  # exact counts leave no choice
    assert not background._stands_in(model_of(X, window), np.eye(20, dtype=np.int8))


@pytest.mark.parametrize("kind", [BuffetModel, FiniteBuffetModel])
def test_buffets_choose_too(kind):
    for offset, on in ((0.0, False), (5.0, True)):
        X, k = table(0, offset=offset)
        law = model_of(X, k).likelihood
        sizes = (len(X),) if kind is BuffetModel else (len(X), 6)
        assert chosen(kind(*sizes, law), X).on == on


def test_counts_that_no_features_could_give():
    X = np.random.default_rng(0).poisson(4.0, (20, 3)).astype(float)
    laws = counts.by_row([counts.exactly(0)] + [counts.exactly(1)] * 19)
    found = chosen(Model(laws, 4, PoissonCounts()), X)
    assert found == BackgroundChoice(True, "row 0 is not zero and may have no features")


def test_columns_very_far_from_zero_need_no_search(monkeypatch):
    X, k = table()
    X[:, 2] += 1e6
    monkeypatch.setattr(pool, "repaired", None)
    assert chosen(model_of(X, k), X).on


def test_nothing_to_compare():
    X = np.full((12, 3), np.nan)
    found = chosen(model_of(X, counts.exactly(1)), X)
    assert not found.on


@pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
def test_what_is_asked_for_is_not_searched():
    X, k = table(0, offset=3.0)
    settings = {"max_features": 5, "n_chains": 1, "n_warmup": 5, "n_draws": 10, "progress": False}
    for asked, text in ((True, "on: it was asked for"), (False, "off: none was asked for")):
        model = ribp.RestrictedIBP(background=asked, random_state=0, **settings)
        model.fit(X, counts=k)
        assert model.background_choice_ == asked_for(asked)
        assert str(model.background_choice_) == text
        assert (model.background_ != 0).any() == asked


@pytest.mark.parametrize("wrong", ["on", None, 1, "Auto", 0.0])
def test_wrong_answers_are_refused(wrong):
    with pytest.raises(InputError, match='background must be True, False or "auto"'):
        background_or_auto(wrong)
