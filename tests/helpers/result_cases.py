"""Short real chains of every kind of model, and the settings that go with them."""

import numpy as np

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.counts import Learned
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import complete
from ribp.model import Model
from ribp.recording import ChainDraws, pack_rows, record, record_features
from ribp.results import build
from ribp.results.settings import describe

ROWS, FEATURES, DIMS = 6, 10, 3

KNOWN = counts.by_group({"a": counts.exactly(1), "b": counts.uniform(0, 3)}, list("aabbba"))
LEARNED = counts.by_group(
    {"a": counts.learned([1.0, 2.0, 1.0]), "b": counts.learned([1.0, 2.0, 1.0])}, list("aabbba")
)

MODELS = {
    "noise per column": Model(KNOWN, FEATURES, LinearGaussian(background=True)),
    "shared noise": Model(LEARNED, FEATURES, LinearGaussian(shared=True), 2.0, None),
    "counts": Model(KNOWN, FEATURES, PoissonCounts(), None, 1.0, "size-ordered"),
    "counts, background": Model(LEARNED, FEATURES, PoissonCounts(background=True)),
    "buffet": BuffetModel(ROWS, LinearGaussian(), 1.5),
    "empty buffet": BuffetModel(ROWS, LinearGaussian(shared=True), 1e-9),
}


def settings_of(model, *, n_chains=2, n_warmup=4, n_draws=7, thin=2, dims=DIMS):
    """Return settings as a fit would write them."""
    n_rows = len(model.counts) if isinstance(model, Model) else model.n_rows
    method = "gibbs" if isinstance(model, Model) else "buffet"
    return describe(model, method, (n_rows, dims)) | {
        "n_chains": n_chains,
        "n_warmup": n_warmup,
        "n_draws": n_draws,
        "thin": thin,
        "seed": [20250101, 2**100 + 1],
    }


def law_of_row(model):
    """Return which law each row has, None for a buffet."""
    return model.counts.law_of_row if isinstance(model, Model) else None


def recorded(model, states, log_joints, *, n_warmup=0, thin=1):
    """Return a chain of states as it would be recorded; the first of them are the warm-up."""
    laws = model.counts.laws if isinstance(model, Model) else ()
    learned = any(isinstance(law, Learned) for law in laws)
    chain = ChainDraws([], [], [])
    for at, (state, log_joint) in enumerate(zip(states, log_joints, strict=True), -n_warmup):
        known = {"log_joint": float(log_joint), "active_features": int(state.rows.any(0).sum())}
        if at < 0:
            chain.warmup.append(known)
            continue
        histogram = np.bincount(state.rows.sum(axis=1), minlength=state.rows.shape[1] + 1)
        scales = model.likelihood.recorded(state.parameters)
        chain.posterior.append(known | record(state, histogram, scales, learned))
        if at % thin == 0:
            chain.features.append(record_features(state, at, pack_rows(state.rows)))
    return chain


def chain_of(model, rng, *, n_warmup=4, n_draws=7, thin=2, dims=DIMS):
    """Return a chain of independent draws from the prior, as it would be recorded."""
    drawn = [model.simulate(rng, dims) for _ in range(n_warmup + n_draws)]
    log_joints = [model.log_joint(state, complete(values)) for state, values in drawn]
    states = [state for state, _ in drawn]
    return recorded(model, states, log_joints, n_warmup=n_warmup, thin=thin)


def prior_tree(name="noise per column", *, seed=1, n_chains=2, interrupted=False, warnings=(),
               dim_names=None, row_names=None, **sizes):  # fmt: skip
    """Return the tree of a fit whose chains are draws from the prior."""
    model, rng = MODELS[name], np.random.default_rng(seed)
    return build(
        [chain_of(model, rng, **sizes) for _ in range(n_chains)],
        settings_of(model, n_chains=n_chains, **sizes),
        law_of_row=law_of_row(model),
        interrupted=interrupted,
        warnings=warnings,
        dim_names=dim_names,
        row_names=row_names,
    )
