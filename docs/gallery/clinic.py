"""A table of patients, columns of six kinds with gaps: what a feature changes in each of them."""

import numpy as np
import pandas as pd

import ribp

rng = np.random.default_rng(0)
n_features = rng.integers(1, 3, 240)
z = np.array([rng.permutation(np.arange(3) < k) for k in n_features])
size = np.array([[0, 5, 4, 0, 3, 0, 0, 4], [4, 0, 0, 4, 3, 0, 3, 0], [0, 0, -4, 4, 0, 3, 4, -4]])
eta = z @ size + rng.logistic(size=(240, 8)) - 1.5
table = pd.DataFrame({
    "age": 50 + 4 * eta[:, 0], "CRP": np.exp(0.5 * eta[:, 1]),
    "smoker": eta[:, 2] > 0, "sex": np.where(eta[:, 3] > 0, "male", "female"),
    "stage": pd.Categorical.from_codes(np.digitize(eta[:, 4], [0, 2]), ["I", "II", "III"], True),
    "visits": rng.poisson(np.exp(0.4 * (z @ size)[:, 5] + 0.5)),
    "site": np.where(eta[:, 6] > 0, "lung", np.where(eta[:, 7] > 0, "skin", "liver")),
})  # fmt: skip
table = table.mask(rng.random(table.shape) < 0.05)
kinds = {"age": "real", "CRP": "positive", "visits": "negbin"}  # the others by their types
short = {"n_chains": 2, "n_warmup": 60, "n_draws": 100, "random_state": 1}
model = ribp.RestrictedIBP("gibbs-rows", likelihood=kinds, max_features=6, **short)
model.fit(table, counts=n_features)
ribp.plots.features(model.result_)[0].figure.savefig("clinic.png")
