"""Do chains agree: four chains of an unrestricted buffet after a short warm-up."""

import numpy as np

import ribp
from ribp import plots

rng = np.random.default_rng(2)
rows = (rng.random((100, 6)) < 0.4).astype(int)
X = rows @ rng.normal(0, 1, (6, 10)) + 0.5 * rng.normal(size=(100, 10))
model = ribp.IndianBuffet(n_chains=4, n_warmup=20, n_draws=150, random_state=0)
model.fit(X)

plots.traces(model.result_)[0].figure.savefig("chains-traces.png")
plots.ranks(model.result_)[0].figure.savefig("chains-ranks.png")
plots.stability(model.result_).figure.savefig("chains-stability.png")
