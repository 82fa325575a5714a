"""Chains that are calibrated: by sampler, law and name, and how many sweeps they take to forget.

A chain that remembers looks too sure, so draws are thinned until correlations are below a tenth:
eight sweeps. Some take longer: units of rows whose negative binomial non-zeros are restricted (a
fifth after eight), and kinds and noisy-ORs (backgrounds of counts, and the feature scale of a mixed
table: .4 after eight, a fifth after sixteen); longest of all where features are known (what is like
a known feature goes from the background to it and back over hundreds of sweeps). The mass has a
half after six, and a fifth after twenty: it is fixed, and left to the joint tests, which need no
chain that forgets. Rows that must cross a gap, with learned laws and entries missing, seldom move
at all in some data sets: they have a test of their own in the suite, which looks at few statistics.
"""

from dataclasses import replace

from ribp.likelihoods import (
    GaussianStrengths,
    NegativeBinomialMultiplicities,
    PoissonMultiplicities,
)
from ribp.mcmc import gibbs, gibbs_rows
from tests.helpers import buffet_trials, gibbs_cases, kind_cases
from tests.helpers.entry_cases import EXPOSED, LEARNING, NOISY_OR, Exposed, Learning
from tests.helpers.gibbs_cases import INTERVALS, SOME, Trial, case

MASS = 1.2
FORGETS, LONG, LONGEST = 8, 24, 160
_UPDATES = {"gibbs": gibbs.update, "gibbs-rows": gibbs_rows.update_in_memory}
_KNOWN = [name for name in gibbs_cases.KNOWN if "counts" not in name][:1]


def _sized(likelihood, weights, concentration=1.5):
    """Return a case whose entries have sizes, some data missing."""
    return case(INTERVALS, likelihood, weights, SOME, MASS, concentration)


_STRENGTHS = {
    law: _sized(GaussianStrengths(strength_law=law), "weak-limit")
    for law in ("around-one", "signed", "positive")
}
_MULTIPLICITIES = {}
for restrict in ("sum", "nonzeros"):
    _MULTIPLICITIES |= {
        f"poisson, {restrict}": _sized(PoissonMultiplicities(restrict=restrict), "gamma-odds"),
        f"negative binomial, {restrict}": _sized(
            NegativeBinomialMultiplicities(restrict=restrict, failures=2.0), "weak-limit", 3.0
        ),
    }
_GAUSSIAN = ["fixed scales", "gap, missing", "noise per column", "shared noise"]
_CASES = {
    "Gaussian": {name: gibbs_cases.GAUSSIAN[name] for name in _GAUSSIAN},
    "Poisson": {name: gibbs_cases.POISSON[name] for name in ("counts", "counts, background")},
    "known features": {name: gibbs_cases.KNOWN[name] for name in _KNOWN},
    "strengths": _STRENGTHS,
    "multiplicities": _MULTIPLICITIES,
    "counts with exposures": {name: EXPOSED[name] for name in ("strengths", "binary")},
    "counts, exposures learned": {name: LEARNING[name] for name in ("strengths", "binary")},
    "noisy-OR": {name: NOISY_OR[name] for name in ("intervals", "known")},
}
_TRIALS = {"counts with exposures": Exposed, "counts, exposures learned": Learning}
_EXPOSED = "counts with exposures"
_KINDS = {name: [name] * 2 for name in kind_cases.KINDS} | {
    "mixed": list(kind_cases.KINDS),
    _EXPOSED: ["log-poisson", "negbin", "binary"],
}
_LAWS = {"laws of all kinds": buffet_trials.MIXED, "few": buffet_trials.FEW}

RANKED = [
    *(("gibbs", "Gaussian", name) for name in _GAUSSIAN),
    *(("gibbs-rows", law, name) for law, found in _CASES.items() for name in found),
    *(("gibbs-rows", "columns of kinds", name) for name in _KINDS),
    *(("augmented", "Gaussian", name) for name in _LAWS),
    ("IndianBuffet", "Gaussian", "mass known"),
]
"""Sampler, law of data or entries, and name of all of them."""


def ranked_trial(sampler, law, name):
    """Return a trial, and the sweeps from draw to draw of its chains."""
    if sampler == "augmented":
        step = buffet_trials.augmented_sweep(learn_mass=False)
        return buffet_trials.AugmentedTrial(step, _LAWS[name]), FORGETS
    if sampler == "IndianBuffet":
        return buffet_trials.BuffetTrial(mass=MASS), FORGETS
    if law == "columns of kinds":
        exposure = "given" if name == _EXPOSED else "one"
        trial = kind_cases.Joint(kind_cases.table(_KINDS[name], exposure=exposure))
        trial.model = replace(trial.model, mass=MASS)
        return trial, LONG
    model, missing = _CASES[law][name]
    made = _TRIALS.get(law, Trial)((replace(model, mass=MASS), missing), _UPDATES[sampler])
    if law == "known features":
        return made, LONGEST
    slow = law == "noisy-OR" or name == "negative binomial, nonzeros"
    return made, LONG if slow else FORGETS
