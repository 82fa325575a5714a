"""What the features look like: the notes behind spectra of piano chords."""

import ribp
from ribp import plots
from ribp.datasets import load_chords, scaled

chords = load_chords()
model = ribp.RestrictedIBP(max_features=16, n_chains=2, n_warmup=60, n_draws=100, random_state=1)
model.fit(scaled(chords.spectra), counts=chords.counts)

axes = plots.features(model.result_, axis=(chords.frequencies, "frequency (Hz)"))
axes[0].figure.savefig("features.png")
