"""Every kind of column, small tables of them, and numbers that see all of a state."""

import numpy as np
from scipy.special import expit

from ribp import counts, kinds
from ribp.likelihoods.columns_of_kinds import ColumnsOfKinds
from ribp.likelihoods.data import with_missing
from ribp.likelihoods.kind_columns import Column
from ribp.mcmc import gibbs_rows
from ribp.model import Model
from ribp.testing.geweke import one_step_p_values

KINDS = {
    "real": kinds.real(),
    "positive": kinds.positive(),
    "binary": kinds.binary(),
    "binomial": kinds.binomial(3),
    "ordinal": kinds.ordinal(["a", "b", "c", "d"]),
    "categorical": kinds.categorical(["a", "b", "c"]),
    "log-poisson": kinds.log_poisson(),
    "negbin": kinds.negbin(),
}
OWN = {"real": (0.2,), "positive": (-0.3,), "negbin": (0.5,), "ordinal": (0.4, -0.3)}
VALUES = {
    "real": [-1.3, 0.4],
    "positive": [0.3, 2.0],
    "binary": [0.0, 1.0],
    "binomial": [0.0, 2.0, 3.0],
    "ordinal": [0.0, 1.0, 2.0, 3.0],
    "categorical": [0.0, 1.0, 2.0],
    "log-poisson": [0.0, 1.0, 4.0],
    "negbin": [0.0, 1.0, 5.0],
}
COUNTS = {
    "gap": counts.by_row([counts.table([0, 0.5, 0, 0.5])] * 3 + [counts.uniform(0, 2)] * 2),
    "interval": counts.as_row_counts("uniform(1, 2)", 5),
    "learned": counts.as_row_counts(counts.learned([0.5, 1.0, 1.0]), 5),
}
FEATURES, N_ROWS = 3, 5
EXPOSURES = np.array([0.4, 1.0, 2.5, 1.3, 0.8])
"""Exposures of the rows, where they have any."""
TABLES = {name: ([name] * 2, "interval", None) for name in KINDS}
TABLES |= {
    "mixed, gap": (list(KINDS), "gap", None),
    "mixed, learned law": (["ordinal", "categorical", "real"], "learned", 0.8),
    "exposures, gap": (["log-poisson", "negbin", "binary"], "gap", None),
    "known features": (["real", "positive", "binary", "categorical"], "interval", None),
}
KNOWN = ((1.5, -0.7, 1.0, 0.8, -1.1, 0.3), (-0.6, 1.2, -1.4, 0.0, 0.5, -0.5))
"""The first features of a table of these kinds, where they are known."""


def column(kind, number=0.3):
    """Return a column with some prior means."""
    centre = tuple(number * (0.5 + np.arange(kind.width)))
    return Column(kind, centre, OWN.get(kind.name, ())[: kind.n_own])


def table(names, **options):
    """Return the likelihood of columns of these kinds."""
    return ColumnsOfKinds(tuple(column(KINDS.get(name, name)) for name in names), **options)


def joint(name):
    """Return the joint test of one of the tables."""
    names, law, scale = TABLES[name]
    exposure = "given" if "exposures" in name else "one"
    known = KNOWN if "known" in name else ()
    return Joint(table(names, feature_scale=scale, exposure=exposure, known=known), law)


class Joint:
    """What a joint-distribution test asks for: a table of kinds and a sampler."""

    def __init__(
        self, likelihood, law="interval", update=gibbs_rows.update_in_memory, sweeps=1, share=0.3
    ):
        self.model = Model(COUNTS[law], FEATURES, likelihood)
        shape = N_ROWS, len(likelihood.columns)
        self.missing = np.random.default_rng(2).random(shape) < share
        self.sweep, self.sweeps = update, sweeps

        self.own = EXPOSURES if likelihood.exposure == "given" else None

    def simulate(self, rng):
        state = self.start(rng, None)
        values = self.model.likelihood.draw_data(rng, state.rows, state.parameters, self.own)
        data = with_missing(np.where(self.missing, np.nan, values))
        return state, data if self.own is None else data._replace(exposures=self.own)

    def start(self, rng, data):
        """Return where a chain begins that knows nothing of the truth."""
        return self.model.draw_prior(rng, self.missing.shape[1])

    def update(self, rng, state, data):
        for _ in range(self.sweeps):
            state, _ = self.sweep(rng, np.uint64(rng.integers(2**63)), state, self.model, data)
        return state

    def one_sweep(self, n, seed):
        return one_step_p_values(
            self.simulate, self.update, self.statistics, n_replicates=n, seed=seed
        )

    def statistics(self, state, data):
        law, given = self.model.likelihood, state.parameters
        eta = law.exposed(law.means(state.rows, given), self.own)
        sizes = state.rows.sum(axis=0)
        seen = data.observed if data.observed.size else np.ones(data.shape, bool)
        density = law.log_density(data.values, eta, given)[seen]
        found = {
            "features in use": (sizes > 0).sum(),
            "equal rows": float((state.rows[0] == state.rows[1]).all()),
            "ones of the first row": state.rows[0].sum(),
            "weights": expit(state.log_odds).sum(),
            "mass": np.log(state.mass),
            "features of nobody": (sizes == 0) @ np.tanh(np.abs(given.features[:, 0])),
            "unseen": np.tanh(eta)[~seen[:, law.places.column]].sum(),
            "log likelihood": np.clip(density, -20.0, 5.0).sum(),
        }
        if law.feature_scale is None:
            found["scale"] = np.log(given.feature_scale)
            found["scale and use"] = np.log(given.feature_scale) * (sizes > 0).sum()
        for k in range(eta.shape[1]):
            here, entry = np.tanh(data.values[:, law.places.column[k]] - 1.0), np.tanh(eta[:, k])
            found |= {
                f"background {k}": np.tanh(given.background[k] / 3.0),
                f"features {k}": np.tanh(np.abs(given.features[:, k])).mean(),
                f"used {k}": np.tanh(np.abs(given.features[:, k])) @ (sizes > 0),
                f"fit {k}": (here * entry)[seen[:, law.places.column[k]]].sum(),
            }
        for k, value in enumerate(given.own):
            found |= {f"own {k}": value, f"own {k} squared": (value - law.places.start[k]) ** 2}
        return found
