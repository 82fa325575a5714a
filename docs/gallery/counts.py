"""How many features rows have beside what is known of it, and how likely each feature is."""

import ribp
from ribp import plots
from ribp.datasets import toy_one_inflated

toy = toy_one_inflated(5, rate=3.0, n_rows=120)
model = ribp.RestrictedIBP(max_features=16, n_chains=2, n_warmup=60, n_draws=100, random_state=1)
model.fit(toy.data, counts=toy.group_counts)

plots.counts(model.result_)[0].figure.savefig("counts.png")
plots.weights(model.result_).figure.savefig("counts-weights.png")
