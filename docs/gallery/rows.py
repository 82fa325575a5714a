"""Which row has which features, and how many of them two rows share."""

import ribp
from ribp import plots
from ribp.datasets import toy_one_inflated

toy = toy_one_inflated(5, rate=3.0, n_rows=120)
model = ribp.RestrictedIBP(max_features=16, n_chains=2, n_warmup=60, n_draws=100, random_state=1)
model.fit(toy.data, counts=toy.group_counts)

plots.activity(model.result_).figure.savefig("rows-activity.png")
plots.coactivation(model.result_).figure.savefig("rows-coactivation.png")
