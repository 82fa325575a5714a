"""Chords whose notes have a random loudness, and binary data.

All 12 single notes and 220 chords of three notes of an octave, or the chords alone. The log of the
loudness of a note in a row has a standard deviation of .2, .4 or .7. Square roots of spectra:

- **recorded** notes add up: sum_i z_ni s_ni A_i, with A the spectra of the twelve notes that ship,
  and noise as large in each column as what the chords that ship have beyond the sum of their notes;
- a **piano** is played (`synthesise_chords`): strings are struck with a random strength, and what
  is heard is not quite linear: notes share frequencies, and neighbours beat. Seeds draw the piano.

Binary data:

- `chords`: the 232 recorded chords that ship, all struck alike;
- `bars`: images of bars that are there or not (`experiments.recovery.cases`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.recovery.cases import load
from ribp.checks import FloatArray, IntArray
from ribp.datasets import load_chords, scaled, synthesise_chords
from ribp.likelihoods.data import Rows

RECORDED, RECORDED_THREE = "recorded, one or three notes", "recorded, three notes"
PIANO, PIANO_THREE = "piano, one or three notes", "piano, three notes"
WHICH = (RECORDED, RECORDED_THREE, PIANO, PIANO_THREE)
SPREADS = (0.2, 0.4, 0.7)
BINARY_DATA = {"chords": "chords-exact", "bars": "bars"}
_HIDDEN = 0.01  # of entries


class Made(NamedTuple):
    """Data that were made."""

    values: FloatArray
    notes: Rows
    counts: IntArray
    spectra: FloatArray
    """Of the notes alone, struck alike."""


def loud(seed: int, spread: float, which: str) -> Made:
    """Return chords with random loudness."""
    made = _recorded(seed, spread) if "recorded" in which else _piano(seed, spread)
    if which in (PIANO, RECORDED):
        return made
    three = made.counts == 3
    return made._replace(
        values=made.values[three], notes=made.notes[three], counts=made.counts[three]
    )


def _recorded(seed: int, spread: float) -> Made:
    rng, chords = np.random.default_rng([seed, 4]), load_chords()
    spectra = scaled(chords.spectra)
    alone = spectra[:12]
    noise = np.sqrt(((spectra - chords.notes @ alone)[12:] ** 2).mean(axis=0))
    loudness = np.exp(spread * rng.standard_normal(chords.notes.shape))
    values = (chords.notes * loudness) @ alone + noise * rng.standard_normal(spectra.shape)
    return Made(values, chords.notes, chords.counts, alone)


def _piano(seed: int, spread: float) -> Made:
    chords = synthesise_chords(seed, strike_spread=spread)
    alone = synthesise_chords(seed, chord_sets=[(i,) for i in range(12)], strike_spread=0.0)
    return Made(scaled(chords.spectra), chords.notes, chords.counts, np.sqrt(alone.spectra))


class Hidden(NamedTuple):
    """Binary data of which some entries are hidden."""

    values: FloatArray
    """NaN where hidden."""
    truth: FloatArray
    hidden: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    rows: Rows
    counts: IntArray


def binary(name: str, seed: int) -> Hidden:
    """Return data whose features are there or not, an entry in a hundred hidden."""
    case = load(BINARY_DATA[name], seed)
    hidden = np.random.default_rng([seed, 9]).random(case.data.shape) < _HIDDEN
    ones = case.rows.sum(axis=1, dtype=np.int64)
    return Hidden(np.where(hidden, np.nan, case.data), case.data, hidden, case.rows, ones)
