"""Which model predicts hidden entries best, and could it have made the data."""

import numpy as np

import ribp
from ribp import plots
from ribp.datasets import toy_one_inflated
from ribp.likelihoods.validation import as_data

toy, rng = toy_one_inflated(5, rate=3.0, n_rows=120), np.random.default_rng(0)
hidden = rng.random(toy.data.shape) < 0.05
X = np.where(hidden, np.nan, toy.data)
short = {"n_chains": 2, "n_warmup": 100, "n_draws": 100, "random_state": 1}
models = {
    "restricted": ribp.RestrictedIBP(max_features=16, counts=toy.group_counts, **short).fit(X),
    "unrestricted": ribp.IndianBuffet(**short).fit(X),
}
scores = {}
for name, model in models.items():
    found = model.result_.held_out_log_density(toy.data, hidden)
    scores[name] = {"log_density": found.mean(), "standard_error": found.std() / found.size**0.5}
plots.held_out(scores).figure.savefig("scores.png")
checks = models["restricted"].result_.check(rng, as_data(X))
plots.predictive_checks(checks.worst).figure.savefig("scores-checks.png")
