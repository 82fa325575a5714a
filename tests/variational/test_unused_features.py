"""Features that no row has are given a use, and only these."""

import numpy as np
import pytest

import ribp
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data, complete
from ribp.likelihoods.linear_gaussian import GaussianParameters
from ribp.model import Model
from ribp.variational import stochastic
from ribp.variational.features import FeatureFactor
from ribp.variational.unused_features import seeded
from tests.helpers.stochastic_cases import begun
from tests.helpers.structured_cases import from_rows, rows_of

DIMS, NOISE, SCALE = 12, 0.3, 1.5


def planted(
    rng: np.random.Generator, missing: float = 0.0, background: bool = False
) -> tuple[LinearGaussian, Data, np.ndarray, FeatureFactor, GaussianParameters, np.ndarray]:
    """Rows of two features and of a third that nobody knows, which one in ten rows has."""
    features = rng.normal(0, SCALE, (3, DIMS))
    constant = rng.normal(size=DIMS) if background else np.zeros(DIMS)
    rows = (rng.random((200, 3)) < (0.5, 0.5, 0.1)).astype(float)
    values = rows @ features + constant + NOISE * rng.normal(size=(200, DIMS))
    observed = rng.random(values.shape) >= missing
    data = Data(np.where(observed, values, 0.0), observed) if missing else complete(values)
    mean = np.vstack([features[:2], np.zeros((1, DIMS))] + [constant] * background)
    factor = FeatureFactor(mean, np.eye(len(mean))[None] * 0.1)
    parameters = GaussianParameters(mean[:3], constant, np.full(DIMS, NOISE), SCALE)
    means = rows * (1.0, 1.0, 0.0)
    return (
        LinearGaussian(shared=True, background=background),
        data,
        means,
        factor,
        parameters,
        features[2],
    )


IN_USE, LOG_ODDS = np.array([True, True, False]), np.array([0.5, -1.0, -9.0])


@pytest.mark.parametrize(("missing", "background"), [(0.0, False), (0.2, False), (0.0, True)])
def test_what_rows_lack_becomes_the_unused_feature(missing, background):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        likelihood, data, means, factor, parameters, lacking = planted(rng, missing, background)
        features, log_odds = seeded(likelihood, data, means, factor, parameters, LOG_ODDS, IN_USE)
        seen = features.mean[2] != 0.0
        assert seen.mean() >= 0.5
        assert np.corrcoef(features.mean[2][seen], lacking[seen])[0, 1] > 0.85
        assert np.array_equal(np.delete(features.mean, 2, 0), np.delete(factor.mean, 2, 0))
        assert log_odds.tolist() == [0.5, -1.0, -1.0]


def test_a_row_alone_gives_its_own_posterior():
    rng = np.random.default_rng(0)
    likelihood, data, means, factor, parameters, _ = planted(rng)
    one = complete(data.values[:1])
    found, _ = seeded(likelihood, one, 0.0 * means[:1], factor, parameters, LOG_ODDS, IN_USE)
    precision = 1 / NOISE**2 + 1 / SCALE**2
    assert np.allclose(found.mean[2], data.values[0] / NOISE**2 / precision, rtol=1e-12)
    assert np.allclose(found.covariance[0][2], [0.0, 0.0, 1 / (precision * NOISE**2)], rtol=1e-12)


def test_one_odd_row_is_not_what_rows_have_in_common():
    rng = np.random.default_rng(3)
    likelihood, data, means, factor, parameters, lacking = planted(rng)
    odd = 9.0 * rng.normal(size=DIMS)
    values = np.vstack([data.values, odd])
    found, _ = seeded(
        likelihood, complete(values), np.vstack([means, np.zeros(3)]), factor, parameters,
        LOG_ODDS, IN_USE,
    )  # fmt: skip
    assert np.corrcoef(found.mean[2], lacking)[0, 1] > 0.85


@pytest.mark.jit
def test_passes_find_a_feature_that_the_start_had_not_seen(monkeypatch):
    rng, n_rows, law = np.random.default_rng(1), 12_000, "uniform(1, 3)"
    features = rng.normal(size=(6, DIMS))
    rows = ribp.RestrictedBernoulli([0.5, 0.5, 0.5, 0.5, 0.5, -3.0], law).sample(rng, n_rows)
    data = complete(rows @ features + 0.4 * rng.normal(size=(n_rows, DIMS)))
    model = Model(ribp.counts.as_row_counts(law, n_rows), 6, LinearGaussian())
    without = np.flatnonzero(rows[:, 5] == 0)[:1500]
    part, here = model.on_rows(without), data.rows(without)
    first = part.draw_prior(rng, DIMS)
    guess = model.likelihood.first_guess(data, 6)._replace(features=features)
    small = from_rows(part, here, rows[without], first._replace(parameters=guess))
    start, everyone = begun(small, model, data, without), rows_of(model, data)

    def found() -> float:
        rng = np.random.default_rng(0)
        state, _ = stochastic.update(rng, np.uint64(0), start, model, everyone)
        return float(max(np.abs(np.corrcoef(features[5], state.features.mean)[0, 1:])))

    assert found() > 0.98
    monkeypatch.setattr(stochastic, "_with_seed", lambda state, *given: state)
    assert found() < 0.7
