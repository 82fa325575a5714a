"""Pictures of real fits show what the estimator says, for every kind of method."""

import numpy as np
import pandas as pd
import pytest

import ribp
from ribp import plots
from tests.helpers.clear_features import clear_features
from tests.helpers.marks import short_of_convergence
from tests.helpers.plot_cases import made

pytestmark = [pytest.mark.jit, short_of_convergence]

RNG = np.random.default_rng(3)
ONES, TRUTH, _, X = clear_features(RNG, 60, 6)
SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 20, "progress": False, "random_state": 1}


def restricted(method, **options):
    return ribp.RestrictedIBP(method, max_features=6, **SHORT, **options)


FITS = {
    "gibbs": lambda: restricted("gibbs").fit(X, counts=ONES),
    "structured": lambda: restricted("structured").fit(X, counts=ONES),
    "hybrid": lambda: restricted("hybrid").fit(X, counts=ONES),
    "poisson": lambda: restricted(
        "gibbs-rows", likelihood="poisson", counts="uniform(1, 2)", background=True
    ).fit(pd.DataFrame(RNG.poisson(np.abs(X)), columns=list("abcdef"))),
    "buffet": lambda: ribp.IndianBuffet(**SHORT).fit(X),
}


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize("name", list(FITS))
def test_pictures_show_what_the_estimator_says(name):
    model = FITS[name]()
    result, n_features = model.result_, len(model.components_)
    axes = plots.features(result, axis=np.arange(6.0))
    means = [ax.lines[-1].get_ydata() for ax in axes]
    np.testing.assert_allclose(means, model.components_, rtol=1e-9, atol=1e-12)
    weights, shares = (line.get_ydata() for line in plots.weights(result).lines)
    np.testing.assert_allclose(weights, model.weights_, rtol=1e-9)
    np.testing.assert_allclose(shares, model.row_probs_.mean(axis=0), rtol=1e-9)
    image = np.asarray(plots.activity(result).images[0].get_array())
    assert image.shape == (60, n_features)
    np.testing.assert_allclose(np.sort(image, axis=0), np.sort(model.row_probs_, axis=0), rtol=1e-9)
    for draw in (plots.counts, plots.traces, plots.ranks, plots.stability, plots.coactivation):
        assert all(ax.has_data() for ax in np.ravel(draw(result)))


def test_a_buffet_without_any_features():
    result = made(np.zeros((20, 0), np.int8), np.zeros((0, 5)), laws=None)
    model = ribp.IndianBuffet().adopt(result)
    assert model.components_.shape == (0, 5)
    assert model.row_probs_.shape == (20, 0)
