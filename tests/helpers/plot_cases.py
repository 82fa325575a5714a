"""Results made without a fit: rows and components that are known, with some noise between draws."""

import numpy as np

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.draws import ChainDraws, record, record_features, record_warmup
from ribp.likelihoods import GaussianParameters, LinearGaussian, PoissonCounts, PoissonParameters
from ribp.model import Model, State
from ribp.results import Result, build
from ribp.results.settings import describe


def truth_of(rng, n_rows, n_features, used=None):
    """Return rows with one to three of the features in use, popular ones first."""
    used = n_features if used is None else used
    rows = np.zeros((n_rows, n_features), np.int8)
    if used:
        popularity = 1.0 / np.arange(2, used + 2)
        for row in rows:
            k = rng.integers(1, min(used, 3) + 1)
            row[rng.choice(used, k, replace=False, p=popularity / popularity.sum())] = 1
    return rows


def model_of(truth, laws="uniform(0, 4)", likelihood=None):
    """Return a restricted model, or a buffet if there are no laws."""
    likelihood = likelihood or LinearGaussian()
    if laws is None:
        return BuffetModel(len(truth), likelihood)
    most = truth.shape[1]
    if isinstance(laws, str):
        laws = counts.as_row_counts(counts.truncated(counts.parse(laws), 0, most), len(truth))
    return Model(laws, most, likelihood)


def made(
    truth,
    components,
    *,
    seed=0,
    laws="uniform(0, 4)",
    likelihood=None,
    n_draws=20,
    flips=0.02,
    rows_of_chain=None,
    constant=False,
    dim_names=None,
    row_names=None,
):
    """Return a result whose chains have the rows `rows_of_chain`, by default the truth, twice."""
    rng = np.random.default_rng(seed)
    model = model_of(truth, laws, likelihood)
    chains = []
    for level, rows in enumerate(rows_of_chain or [truth, truth]):
        chain = ChainDraws([], [], [])
        for number in range(n_draws):
            state = _state(rng, rows, components, model, 0.0 if constant else flips)
            log_joint = -100.0 if constant else rng.normal(-100.0 - 5.0 * level)
            if number == 0:
                chain.warmup.append(record_warmup(state, log_joint))
            shared = getattr(model.likelihood, "shared", False)
            chain.posterior.append(record(state, log_joint, shared, _learned(model)))
            chain.features.append(record_features(state, number))
        chains.append(chain)
    method = "gibbs" if isinstance(model, Model) else "buffet"
    settings = describe(model, method, (len(truth), components.shape[1])) | {
        "n_chains": len(chains), "n_warmup": 1, "n_draws": n_draws, "thin": 1, "seed": [1],
    }  # fmt: skip
    index = model.counts.index if isinstance(model, Model) else None
    tree = build(chains, settings, law_of_row=index, dim_names=dim_names, row_names=row_names)
    return Result(tree)


def _learned(model):
    laws = model.counts.laws if isinstance(model, Model) else ()
    return any(isinstance(law, counts.Learned) for law in laws)


def _state(rng, truth, components, model, flips):
    """Return the truth with some entries flipped, its features in a random order."""
    used = truth.any(axis=0)
    rows = (truth ^ ((rng.random(truth.shape) < flips) & used)).astype(np.int8)
    order = rng.permutation(truth.shape[1])
    features = (components + 0.1 * rng.standard_normal(components.shape))[order]
    noise = rng.uniform(0.9, 1.1, components.shape[1])
    zeros = np.zeros(components.shape[1])
    log_odds = rng.normal(-1.0, 0.3, truth.shape[1])[order]
    tables = np.empty((0, truth.shape[1] + 1))
    if isinstance(model, Model):
        tables = np.stack([_table(rng, law, truth.shape[1]) for law in model.counts.laws])
    scale = 1.0 if flips == 0.0 else rng.uniform(1.0, 2.0)
    parameters = GaussianParameters(features, zeros, noise, scale)
    if isinstance(model.likelihood, PoissonCounts):
        parameters = PoissonParameters(np.abs(features), zeros, scale)
    elif flips == 0.0:
        parameters = parameters._replace(noise_scale=np.ones(noise.size))
    return State(rows[:, order], log_odds, scale, 1.0, tables, parameters)


def _table(rng, law, features):
    if isinstance(law, counts.Learned):
        return np.log(rng.dirichlet(np.ones(features + 1)))
    return law.restricted_log_probs(0, features)
