"""Trees of the schema of a result, from arrays and from short real chains."""

import numpy as np

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.counts.tables import prior_log_probs
from ribp.likelihoods import GaussianParameters, LinearGaussian, PoissonCounts, PoissonParameters
from ribp.mcmc import gibbs, gibbs_rows
from ribp.model import Model, State
from ribp.posterior.align import align
from ribp.posterior.draws import aligned_draws
from ribp.posterior.modes import modes
from ribp.posterior.stored_draws import stored_draws
from ribp.results import build
from ribp.rng import kernel_seed
from tests.helpers.result_cases import law_of_row, recorded, settings_of

ROWS, FEATURES, DIMS = 30, 5, 3
ANY_COUNT = counts.as_row_counts(counts.uniform(0, FEATURES), ROWS)
LEARNED = counts.by_group(
    {"a": counts.learned([1.0] * (FEATURES + 1)), "b": counts.uniform(0, FEATURES)},
    ["a", "b"] * (ROWS // 2),
)
MODELS = {
    "noise per column": Model(ANY_COUNT, FEATURES, LinearGaussian()),
    "shared noise, background": Model(
        ANY_COUNT, FEATURES, LinearGaussian(shared=True, background=True)
    ),
    "learned": Model(LEARNED, FEATURES, LinearGaussian()),
    "counts": Model(ANY_COUNT, FEATURES, PoissonCounts(background=True)),
}


def made_state(rng, rows, components, model):
    """Return a state with these rows; features that no row has get components of their own."""
    features = components + 0.01 * rng.standard_normal(components.shape)
    unused = ~rows.any(axis=0)
    features[unused] = rng.standard_normal(features[unused].shape)
    dims = components.shape[1]
    background = rng.random(dims) if model.likelihood.background else np.zeros(dims)
    if isinstance(model.likelihood, LinearGaussian):
        noise = np.full(dims, rng.uniform(0.5, 1.0))
        if not model.likelihood.shared:
            noise = rng.uniform(0.5, 1.0, dims)
        parameters = GaussianParameters(features, background, noise, rng.uniform(1.0, 2.0))
    else:
        parameters = PoissonParameters(np.abs(features), background, rng.uniform(1.0, 2.0))
    log_odds = 0.1 * rng.standard_normal(rows.shape[1]) - unused
    tables = np.empty((0, rows.shape[1] + 1))
    if isinstance(model, Model):
        tables = prior_log_probs(rng, model.counts, model.n_features)
    return State(rows, log_odds, rng.uniform(1.0, 2.0), 1.0, tables, parameters)


def made_chains(seed, truth, n_chains=2, n_draws=20, flips=0.05, model=None, components=None):
    """Return a model and chains whose rows are the truth with some entries flipped at random."""
    rng = np.random.default_rng(seed)
    features = truth.shape[1]
    model = model or Model(ANY_COUNT[: len(truth)], features, LinearGaussian())
    if components is None:
        components = 3.0 * rng.standard_normal((features, DIMS))
    used = truth.any(axis=0)

    def state():
        flipped = (rng.random(truth.shape) < flips) & used
        return made_state(rng, (truth ^ flipped).astype(np.int8), components, model)

    return model, [[state() for _ in range(n_draws)] for _ in range(n_chains)]


def truth_of(seed, features=FEATURES, unused=1):
    """Return rows in which the last features are unused."""
    rows = np.random.default_rng(seed).integers(0, 2, (ROWS, features)).astype(np.int8)
    rows[:, features - unused :] = 0
    return rows


def buffet_chains(seed, truth, n_draws=20):
    """Return a buffet whose draws lack the first feature, or another, from time to time."""
    model, chains = made_chains(
        seed, truth, n_draws=n_draws, model=BuffetModel(ROWS, LinearGaussian())
    )
    rng = np.random.default_rng(seed)

    def without(state):
        lost = rng.integers(3 * state.log_odds.size + 1)
        return permuted(state, np.flatnonzero(np.arange(state.log_odds.size) != lost))

    return model, [[without(state) for state in chain] for chain in chains]


def log_joints(chains, *levels, seed=0):
    """Return log joints around one level for each chain."""
    noise = np.random.default_rng(seed).standard_normal((len(chains), len(chains[0])))
    return noise + np.array(levels or [0.0] * len(chains))[:, None]


def tree_of(chains, model, values, thin=1):
    """Return the tree of chains of states (equally many each) and their log joints."""
    settings = settings_of(
        model, n_chains=len(chains), n_warmup=0, n_draws=len(chains[0]), thin=thin,
        dims=chains[0][0].parameters.features.shape[1],
    )  # fmt: skip
    found = [recorded(model, *one, thin=thin) for one in zip(chains, values, strict=True)]
    return build(found, settings, law_of_row=law_of_row(model))


def draws(tree, likelihood, counts, mode=0, max_draws=None):
    """Return the draws of the chains of one mode, aligned."""
    alignment = align(stored_draws(tree), modes(tree)[mode].chains)
    return aligned_draws(tree, likelihood, counts, alignment, max_draws)


def pool_of(chains, model):
    """Return the draws of chains of states."""
    tree = tree_of(chains, model, log_joints(chains))
    return draws(tree, model.likelihood, getattr(model, "counts", None))


def pool(model, seed=0, n_draws=10):
    """Return the draws of made-up chains of a model."""
    model, chains = made_chains(seed, truth_of(seed), n_draws=n_draws, model=model)
    return pool_of(chains, model)


def in_units(found, units):
    """Return Gaussian draws as they would be had columns been multiplied by units."""
    parameters = [
        p._replace(
            features=p.features * units, background=p.background * units,
            noise_scale=p.noise_scale * units,
        )
        for p in found.parameters
    ]  # fmt: skip
    return found._replace(parameters=parameters)


def run(model, data, starts, n_draws, seed=0, n_warmup=20):
    """Return chains of states and their log joints, one chain from each start."""
    chains, values = [], []
    gaussian = isinstance(model.likelihood, LinearGaussian)
    update = gibbs.update if gaussian else gibbs_rows.update_in_memory
    for at, state in enumerate(starts):
        rng = np.random.default_rng([seed, at])
        key, chain = kernel_seed(rng), []
        for _ in range(n_warmup + n_draws):
            state, _ = update(rng, key, state, model, data)
            chain.append(state)
        chains.append(chain[n_warmup:])
        values.append([model.log_joint(state, data) for state in chains[-1]])
    return chains, values


def permuted(state, order):
    """Return the state with its features in another order."""
    features = state.parameters.features[order]
    return state._replace(
        rows=np.ascontiguousarray(state.rows[:, order]),
        log_odds=state.log_odds[order],
        parameters=state.parameters._replace(features=features),
    )


def shuffled(chains, seed=0):
    """Return chains whose states have their features in random orders."""
    rng = np.random.default_rng(seed)
    return [[permuted(s, rng.permutation(s.log_odds.size)) for s in chain] for chain in chains]


def swapped(truth):
    """Return rows in which two features have exchanged half of their rows."""
    other = truth.copy()
    other[: ROWS // 2, :2] = other[: ROWS // 2, 1::-1]
    return other


def merged(truth):
    """Return rows in which one feature does the work of two."""
    other = truth.copy()
    other[:, 0] |= other[:, 1]
    other[:, 1] = 0
    return other


def two_modes(change, seed=0, flips=0.02):
    """Return a tree of three chains, the second of which is in another mode."""
    truth = truth_of(seed, 6)
    model, good = made_chains(seed, truth, flips=flips)
    _, other = made_chains(seed, change(truth), 1, flips=flips)
    chains = shuffled([good[0], other[0], good[1]], seed)
    return tree_of(chains, model, log_joints(chains, 10.0, 3.0, 12.0))
