"""Diagnoses and symptoms: each diagnosis of a patient may cause each symptom, and so may a leak."""

import numpy as np
import pandas as pd

import ribp
from ribp import plots

causes = {
    "influenza": {"fever": 0.9, "cough": 0.7, "aching muscles": 0.8, "fatigue": 0.8},
    "allergy": {"sneezing": 0.9, "itching eyes": 0.9, "runny nose": 0.8, "cough": 0.3},
    "gastritis": {"nausea": 0.8, "stomach pain": 0.9, "vomiting": 0.6, "fatigue": 0.3},
    "migraine": {"headache": 0.95, "nausea": 0.6, "dislike of light": 0.8},
}
q = pd.DataFrame(causes).T.fillna(0.0)
rng = np.random.default_rng(0)
n_diagnoses = rng.integers(1, 3, 300)
patients = np.array([rng.permutation(np.arange(4) < k) for k in n_diagnoses])
without = 0.98 * np.exp(patients @ np.log1p(-q.to_numpy()))
symptoms = pd.DataFrame(rng.random(without.shape) > without, columns=q.columns)

short = {"n_chains": 2, "n_warmup": 60, "n_draws": 100, "random_state": 0}
model = ribp.RestrictedIBP("gibbs-rows", likelihood="noisy-or", max_features=8, **short)
model.fit(symptoms, counts=n_diagnoses)
plots.features(model.result_)[0].figure.savefig("diagnoses.png")
