"""How loud each note is in each chord: entries with a strength."""

import matplotlib.pyplot as plt
import numpy as np

import ribp
from ribp.datasets import load_chords, scaled
from ribp.testing.recovery import correlations

rng, chords = np.random.default_rng(0), load_chords()
alone = scaled(chords.spectra)[:12]  # each note by itself
loudness = np.where(chords.notes, rng.lognormal(0, 0.5, chords.notes.shape), np.nan)
X = np.nan_to_num(loudness) @ alone + 0.1 * rng.normal(size=chords.spectra.shape)
short = {"max_features": 16, "n_chains": 2, "n_warmup": 60, "n_draws": 60, "random_state": 1}
model = ribp.RestrictedIBP("gibbs-rows", entries="strengths", background=False, **short)
strengths = model.fit(X, counts=chords.counts).strengths(X, counts=chords.counts)
note = correlations(model.components_, alone).argmax(axis=0)  # which feature is which
found = np.where(model.row_probs_ > 0.5, strengths, np.nan)[:, note]
figure, (rows, dots) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
image = rows.imshow(found[12::5], aspect="auto", vmin=0, vmax=3, interpolation="nearest")
rows.set(ylabel="chord", xticks=range(12), xticklabels=chords.note_names, yticks=[])
figure.colorbar(image, label="strength found", extend="max")
dots.plot(loudness / np.nanmean(loudness, axis=0), found, ".", color="#0072B2", alpha=0.3)
dots.set(xlabel="true loudness of a note, its mean one", ylabel="strength found")
figure.savefig("loudness.png")
