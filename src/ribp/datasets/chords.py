"""Piano chords: power spectra whose hidden features are the notes that sound.

Row n of the spectra is the average power of a recording of one chord (three notes, k_n = 3) or of
one note (k_n = 1) in 100 frequency bins. Power adds up over notes that share no frequency, so that
the spectra are close to linear in the 0/1 notes: R^2 = 0.999, and 0.99 for their square root,
which is the better scale for Gaussian noise, since loud partials no longer drown the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError


@dataclass(frozen=True, eq=False)
class Chords:
    """Spectra of chords, and the notes that were struck.

    Attributes
    ----------
    spectra
        Power in each frequency bin, shape (rows, dims), not negative.
    notes
        The truth: 1 where a note sounds in a row and 0 elsewhere, shape (rows, features).
    counts
        How many notes a row has, shape (rows,); the row sums of `notes`.
    note_names
        The name of each feature, from "C" (middle C) upwards.
    frequencies
        The centre of each bin in Hz, shape (dims,).
    """

    spectra: FloatArray
    notes: NDArray[np.int8]
    counts: IntArray
    note_names: tuple[str, ...]
    frequencies: FloatArray

    def __repr__(self) -> str:
        rows, dims = self.spectra.shape
        return f"<Chords: {rows} rows of {len(self.note_names)} notes, {dims} frequencies>"


def load_chords() -> Chords:
    """Return the 12 notes and the 220 three-note chords of the octave from middle C.

    They were rendered with FluidSynth and the FluidR3 font (MIT licence, (c) Frank Wen), which
    plays recorded notes of a piano. The single notes come first, then the chords in lexicographic
    order. There are 100 bins, 10 Hz apart from 0 to 990 Hz (Welch's average of periodograms).

    All 1320 orderings of three notes, which the paper counts as rows, would repeat each of these
    chords six times, and entries held out of one row could be read off its twins.

    Examples
    --------
    >>> from ribp.datasets import load_chords
    >>> chords = load_chords()
    >>> chords
    <Chords: 232 rows of 12 notes, 100 frequencies>
    >>> [chords.note_names[i] for i in chords.notes[-1].nonzero()[0]]
    ['A', 'A#', 'B']
    """
    path = files("ribp.datasets") / "chords.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    notes = arrays["notes"].astype(np.int8)
    return Chords(
        spectra=arrays["spectra"].astype(np.float64),
        notes=notes,
        counts=notes.sum(axis=1, dtype=np.int64),
        note_names=tuple(arrays["note_names"].tolist()),
        frequencies=arrays["frequencies"].astype(np.float64),
    )


def scaled(spectra: ArrayLike) -> FloatArray:
    """Return the square root of power spectra, divided by its overall standard deviation.

    The scale on which noise is closest to Gaussian and default priors fit; NaN (a missing entry)
    stays NaN and does not count.

    Parameters
    ----------
    spectra
        Powers, not negative and not all alike, of any shape.
    """
    try:
        power = np.asarray(spectra, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "spectra", "must be an array of numbers", spectra, "Pass floats of shape (rows, dims)."
        ) from None
    wrong = power[(power < 0) | np.isinf(power)]
    if wrong.size:
        raise InputError(
            "spectra", "must be powers: finite, not negative", wrong[0], "Correct that entry."
        )
    amplitude: FloatArray = np.sqrt(power)
    observed = amplitude[~np.isnan(amplitude)]
    if observed.size == 0 or observed.max() == observed.min():
        raise InputError(
            "spectra",
            "must have at least two different powers to be scaled",
            f"shape {power.shape} with {observed.size} observed entries, all alike",
            "Pass spectra that vary.",
        )
    return amplitude / float(observed.std())
