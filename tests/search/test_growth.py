"""Features grown from nothing: what is found, what is not made up, and when it ends."""

from functools import partial

import numpy as np
import pytest

from ribp.datasets import load_chords, scaled
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.validation import as_data
from ribp.search import growth
from ribp.search.growth import GrowingBuffet, annealed, grown
from ribp.testing.recovery import f1

pytestmark = pytest.mark.jit


def nothing():
    pass


def noise_alone(seed, n_rows=60, dims=8):
    return as_data(np.random.default_rng(seed).normal(size=(n_rows, dims)))


@pytest.mark.parametrize("heat", [0.5, 1.0])
def test_a_falling_noise_finds_notes_that_growing_alone_does_not(heat):
    chords = load_chords()
    data = as_data(scaled(chords.spectra))
    buffet = GrowingBuffet(LinearGaussian())
    alone = grown(np.random.default_rng(0), buffet, data, 40, nothing)
    found = annealed(np.random.default_rng(0), buffet, data, heat, nothing)
    assert alone.rows.shape[1] <= 2
    assert f1(found.rows, chords.notes) > 0.75
    assert buffet.log_joint(found, data) > buffet.log_joint(alone, data) + 10_000


def test_noise_has_no_features():
    for seed in range(5):
        data, buffet = noise_alone(seed), GrowingBuffet(LinearGaussian())
        found = annealed(np.random.default_rng(seed), buffet, data, 1.0, nothing)
        assert found.rows.shape[1] <= 3


def test_an_explosion_ends_the_search(monkeypatch):
    """Without the guard rows ask for hundreds of features before the next look."""
    data = noise_alone(1, n_rows=200, dims=30)

    def most_features(guard):
        monkeypatch.setattr(growth, "_EXPLODED", guard)
        monkeypatch.setattr(growth, "_LOSS", 1e9)  # the other end is out of order
        seen = []
        update = growth.rows_buffet.update

        def watched(*arguments):
            rows = update(*arguments)
            seen.append(rows.shape[1])
            return rows

        with monkeypatch.context() as patched:
            patched.setattr(growth.rows_buffet, "update", watched)
            patched.setattr(growth, "_STEPS", 40)
            buffet = GrowingBuffet(LinearGaussian(), most=10**6)
            annealed(np.random.default_rng(0), buffet, data, 0.5, nothing)
        return max(seen), len(seen)

    many, all_steps = most_features(10**6)
    few, some_steps = most_features(20)
    assert all_steps == 40
    assert some_steps < 40
    assert few < many / 2


def test_growth_ends_when_there_are_enough_features():
    chords = load_chords()
    data = as_data(scaled(chords.spectra))
    rng, seen = np.random.default_rng(0), []
    fixed = LinearGaussian(noise_scale=0.02, feature_scale=50.0)  # far too little noise
    for most in (5, None):
        ticks = []
        state = grown(rng, GrowingBuffet(fixed, most=most), data, 12, partial(ticks.append, 1))
        seen.append((len(ticks), state.rows.shape[1]))
    assert seen[0][0] < 12
    assert seen[0][1] > 5


def test_scales_that_are_given_stay():
    likelihood = LinearGaussian(shared=True, noise_scale=0.7, feature_scale=2.0, background=True)
    data = noise_alone(3)
    found = annealed(
        np.random.default_rng(0), GrowingBuffet(likelihood, mass=0.5), data, 1.0, nothing
    )
    assert (found.parameters.noise_scale == 0.7).all()
    assert found.parameters.feature_scale == 2.0
    assert found.mass == 0.5
    assert found.parameters.background.any()


def test_missing_entries_and_columns_never_seen():
    chords = load_chords()
    x = scaled(chords.spectra)
    x[np.random.default_rng(0).random(x.shape) < 0.1] = np.nan
    x[:, 7] = np.nan
    found = annealed(
        np.random.default_rng(1), GrowingBuffet(LinearGaussian()), as_data(x), 0.5, nothing
    )
    assert f1(found.rows, chords.notes) > 0.5  # 0.66 to 0.90 in eight seeds


@pytest.mark.parametrize("background", [False, True])
def test_spread(background):
    x = np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 9.0]])
    around = np.array([2.0, 7.0]) if background else 4.0
    expected = np.sqrt(np.nanmean((x - around) ** 2))
    assert LinearGaussian(background=background).spread(as_data(x)) == pytest.approx(expected)
    assert LinearGaussian().spread(as_data(np.full((2, 2), np.nan))) == 1.0
    assert LinearGaussian().spread(as_data(np.ones((2, 2)))) == 1.0
