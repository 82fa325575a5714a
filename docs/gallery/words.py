"""Features with names: topics in counts of words, one or two topics a text."""

import numpy as np
import pandas as pd

import ribp
from ribp import plots

rng = np.random.default_rng(0)
words = ["goal", "team", "match", "coach", "tax", "vote", "law", "party", "oil", "price", "bank"]
topics = np.kron(np.eye(3), [5, 4, 3, 2])[:, :11]
texts = np.array([rng.permutation(np.arange(3) < k) for k in rng.integers(1, 3, 100)])
counts = pd.DataFrame(rng.poisson(texts @ topics + 0.2), columns=words)

short = {"n_chains": 2, "n_warmup": 60, "n_draws": 100, "random_state": 1}
model = ribp.RestrictedIBP("gibbs-rows", max_features=6, likelihood="poisson", **short)
model.fit(counts, counts=texts.sum(axis=1))

axes = plots.features(model.result_)
axes[0].figure.savefig("words.png")
