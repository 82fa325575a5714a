"""Results made without a fit: rows and components that are known, with some noise between draws."""

import matplotlib.text
import numpy as np

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.likelihoods import GaussianParameters, LinearGaussian, PoissonCounts, PoissonParameters
from ribp.model import Model, State
from ribp.results import Result, build
from tests.helpers.result_cases import law_of_row, recorded, settings_of


def popular_rows(rng, n_rows, n_features, used=None):
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
        states, log_joints = [], []
        for _ in range(n_draws):
            states.append(_state(rng, rows, components, model, 0.0 if constant else flips))
            log_joints.append(-100.0 if constant else rng.normal(-100.0 - 5.0 * level))
        warm = [*states[:1], *states], [*log_joints[:1], *log_joints]
        chains.append(recorded(model, *warm, n_warmup=1))
    settings = settings_of(
        model, n_chains=len(chains), n_warmup=1, n_draws=n_draws, thin=1, dims=components.shape[1]
    )
    names = {"dim_names": dim_names, "row_names": row_names}
    return Result(build(chains, settings, law_of_row=law_of_row(model), **names))


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


def texts(axes):
    """Return all texts of a figure."""
    figure = np.ravel(axes)[0].figure
    return " | ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))
