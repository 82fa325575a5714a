"""The chords that ship, the synthetic ones, and the scale for both."""

import re
from functools import partial
from importlib.resources import files

import numpy as np
import pytest
from scipy import stats
from scipy.signal import welch

from ribp.datasets import load_chords, scaled, synthesise_chords, synthesiser
from ribp.errors import InputError
from ribp.testing.goodness import holds, is_caught, replicates


def explained(data, notes):
    """R^2 of least squares of the data on the notes."""
    fit = notes @ np.linalg.lstsq(notes.astype(float), data, rcond=None)[0]
    return 1 - ((data - fit) ** 2).sum() / ((data - data.mean(axis=0)) ** 2).sum()


def row_correlations(a, b):
    return np.array([np.corrcoef(x, y)[0, 1] for x, y in zip(a, b, strict=True)])


def test_what_ships():
    chords = load_chords()
    assert chords.spectra.shape == (232, 100)
    assert chords.notes.shape == (232, 12)
    assert chords.counts.shape == (232,)
    assert chords.frequencies.shape == (100,)
    types = [x.dtype for x in (chords.spectra, chords.notes, chords.counts, chords.frequencies)]
    assert types == [np.float64, np.int8, np.int64, np.float64]
    assert chords.note_names == ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
    assert np.array_equal(chords.frequencies, np.arange(0, 1000, 10))
    assert np.isfinite(chords.spectra).all()
    assert (chords.spectra > 0).all()
    assert repr(chords) == "<Chords: 232 rows of 12 notes, 100 frequencies>"


def test_single_notes_then_chords_in_order_each_once():
    chords = load_chords()
    assert np.array_equal(chords.counts, [1] * 12 + [3] * 220)
    assert np.array_equal(chords.counts, chords.notes.sum(axis=1))
    sets = [tuple(row.nonzero()[0].tolist()) for row in chords.notes]
    assert len(set(sets)) == 232
    assert sets == sorted(sets, key=lambda notes: (len(notes), notes))
    assert len(np.unique(chords.spectra, axis=0)) == 232


def test_loudest_bin_of_a_note_is_its_pitch():
    chords = load_chords()
    pitch = 440 * 2.0 ** ((np.arange(12) - 9) / 12)
    loudest = chords.frequencies[chords.spectra[:12].argmax(axis=1)]
    assert (np.abs(loudest - pitch) <= 5).all()


def test_linear_in_the_notes():
    chords = load_chords()
    assert explained(chords.spectra, chords.notes) > 0.999
    assert 0.99 < explained(scaled(chords.spectra), chords.notes) < 0.999


def test_loading_twice_gives_fresh_arrays():
    first = load_chords()
    first.spectra[:] = 0
    assert load_chords().spectra.all()


def test_file_is_small_and_has_its_notice():
    folder = files("ribp.datasets")
    assert len((folder / "chords.npz").read_bytes()) < 150_000
    notice = (folder / "NOTICE").read_text()
    for word in ("FluidSynth", "FluidR3", "MIT", "Frank Wen"):
        assert word in notice


def test_scaled():
    chords = load_chords()
    x = scaled(chords.spectra)
    assert x.std() == pytest.approx(1, rel=1e-12)
    assert np.allclose(x / np.sqrt(chords.spectra), x[0, 0] / np.sqrt(chords.spectra[0, 0]))
    assert np.allclose(scaled(1e9 * chords.spectra), x)
    gaps = chords.spectra.copy()
    gaps[3, 4] = np.nan
    y = scaled(gaps)
    assert np.array_equal(np.argwhere(np.isnan(y)), [[3, 4]])
    assert np.nanstd(y) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("spectra", "rule"),
    [
        ([[1.0, -1.0]], "not negative, but got -1.0"),
        ([[1.0, np.inf]], "finite"),
        ([[2.0, 2.0]], "two different powers"),
        ([[np.nan, np.nan]], "two different powers"),
        ([], "two different powers"),
        ("loud", "array of numbers"),
        ([[1.0], [1.0, 2.0]], "array of numbers"),
    ],
)
def test_scaled_errors(spectra, rule):
    with pytest.raises(InputError, match=re.escape(rule)):
        scaled(spectra)


@pytest.mark.parametrize("seed", range(5))
def test_synthetic_spectra_are_like_the_rendered_ones(seed):
    rendered, synthetic = load_chords(), synthesise_chords(seed)
    assert np.array_equal(synthetic.notes, rendered.notes)
    assert np.array_equal(synthetic.counts, rendered.counts)
    assert np.array_equal(synthetic.frequencies, rendered.frequencies)
    assert synthetic.note_names == rendered.note_names
    assert synthetic.spectra.dtype == np.float64
    assert (synthetic.spectra >= 0).all()
    r = row_correlations(np.sqrt(rendered.spectra), np.sqrt(synthetic.spectra))
    assert 0.8 < np.median(r) < 0.95
    assert np.median(r[:12]) > 0.95
    # Rows of other chords do not correlate: the number above says something.
    assert np.median(row_correlations(rendered.spectra, np.roll(synthetic.spectra, 50, 0))) < 0.6


@pytest.mark.parametrize("seed", range(5))
def test_synthetic_spectra_are_linear_in_the_notes(seed):
    chords = synthesise_chords(seed)
    assert explained(chords.spectra, chords.notes) > 0.95
    assert explained(scaled(chords.spectra), chords.notes) > 0.95
    even = synthesise_chords(seed, strike_spread=0)
    assert explained(even.spectra, even.notes) > 0.99


def test_synthetic_spectra_are_welch_averages():
    sounds = synthesiser._sounds(np.random.default_rng(1), 5, 1.0)
    sets = [(0,), (0, 1), (0, 2, 4)]
    chords = synthesise_chords(1, notes=5, chord_sets=sets, seconds=1.0, strike_spread=0)
    mixed = np.array([sounds[list(notes)].sum(axis=0) for notes in sets])
    frequencies, density = welch(mixed, 4000, nperseg=400, detrend=False)
    assert np.array_equal(frequencies[:100], chords.frequencies)
    assert np.allclose(chords.spectra[:, 1:], density[:, 1:100], rtol=1e-8, atol=0)


def test_any_sets_of_notes():
    chords = synthesise_chords(
        0, notes=13, chord_sets=[("C", "E", "G"), (12, 0), {"B"}, np.array([], dtype=int)]
    )
    assert chords.notes.shape == (4, 13)
    sets = [row.nonzero()[0].tolist() for row in chords.notes]
    assert sets == [[0, 4, 7], [0, 12], [11], []]
    assert chords.counts.tolist() == [3, 2, 1, 0]
    assert chords.note_names[-1] == "C'"
    assert not chords.spectra[3].any()
    assert chords.spectra[:3].any(axis=1).all()
    assert synthesise_chords(0, notes=24).notes.shape == (24 + 2024, 24)
    assert synthesise_chords(0, notes=2, seconds=0.1).counts.tolist() == [1, 1]


def test_strike_spread_moves_rows_apart():
    def loudness(spread, n=2000, seed=0):
        chords = synthesise_chords(seed, chord_sets=[(0,)] * n, strike_spread=spread)
        return 0.5 * np.log(chords.spectra.sum(axis=1))

    def p_values(n, seed, spread=0.3):
        seen = loudness(0.3, n, seed)
        total = ((seen - seen.mean()) ** 2).sum() / spread**2
        return [2 * min(stats.chi2.cdf(total, n - 1), stats.chi2.sf(total, n - 1))]

    assert np.ptp(loudness(0)) < 1e-12
    assert holds(p_values, replicates(2000))
    assert is_caught(partial(p_values, spread=0.36), 2000)


def test_same_seed_same_chords():
    a, b = synthesise_chords(7), synthesise_chords(np.random.default_rng(7))
    assert np.array_equal(a.spectra, b.spectra)
    assert not np.array_equal(a.spectra, synthesise_chords(8).spectra)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"notes": 0}, "notes must be between 1 and 24"),
        ({"notes": 25}, "notes must be between 1 and 24"),
        ({"notes": 1.5}, "notes must be a whole number"),
        ({"chord_sets": []}, "list of sets of notes"),
        ({"chord_sets": "CEG"}, "list of sets of notes"),
        ({"chord_sets": ["C"]}, "list of sets of notes"),
        ({"chord_sets": [0, 4, 7]}, "list of sets of notes"),
        ({"chord_sets": 3}, "list of sets of notes"),
        ({"chord_sets": [(0, 12)]}, "chord_sets must be between 0 and 11"),
        ({"chord_sets": [(-1,)]}, "chord_sets must be between 0 and 11"),
        ({"chord_sets": [(0.5,)]}, "chord_sets must be a whole number"),
        ({"chord_sets": [("H",)]}, "among C, C#, D, D#, E, F, F#, G, G#, A, A#, B, but got 'H'"),
        ({"chord_sets": [(0, "C")]}, "a note once in a row"),
        ({"seconds": 0}, "seconds must be positive"),
        ({"seconds": 0.05}, "seconds must be between 0.1 and 60"),
        ({"seconds": 1e6}, "seconds must be between 0.1 and 60"),
        ({"strike_spread": -0.1}, "strike_spread must be between 0 and 2"),
        ({"strike_spread": float("nan")}, "strike_spread must be a number"),
    ],
)
def test_synthesiser_errors(arguments, rule):
    with pytest.raises(InputError, match=re.escape(rule)):
        synthesise_chords(0, **arguments)


def test_seed_is_required():
    with pytest.raises(InputError, match="rng must be"):
        synthesise_chords(None)
