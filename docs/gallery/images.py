"""Features that are images: bars in pictures of 6 x 6 pixels, one to three a picture."""

import numpy as np

import ribp
from ribp import plots

rng = np.random.default_rng(0)
bars = np.zeros((8, 6, 6))
for i in range(4):
    bars[i, i + 1] = bars[4 + i, :, i + 1] = 1
rows = np.array([rng.permutation(np.arange(8) < k) for k in rng.integers(1, 4, 150)])
X = rows @ bars.reshape(8, 36) + 0.2 * rng.normal(size=(150, 36))

model = ribp.RestrictedIBP(max_features=12, n_chains=2, n_warmup=150, n_draws=100, random_state=1)
model.fit(X, counts=rows.sum(axis=1))

axes = plots.features(model.result_, shape=(6, 6))
axes[0].figure.savefig("images.png")
