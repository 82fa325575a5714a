"""What joint tests and calibration ask of the two samplers without a bound on features."""

import numpy as np

from ribp import counts
from ribp.baselines import ibp_gibbs
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import with_missing
from ribp.mcmc import augmented
from ribp.testing.geweke import one_step_p_values

MANY = 10**7
MASS_PRIOR = (20.0, 10.0)  # Gamma(1, 1) allows masses that ask for endless discards
SPREAD = counts.as_row_counts("uniform(1,3)", 3)
HOLE = counts.by_row([counts.table([0, 0.6, 0, 0.4])] * 3)
MIXED = counts.by_row([HOLE[0], counts.exactly(2), SPREAD[0]])
FEW = counts.by_row([counts.exactly(1), counts.exactly(2), counts.uniform(1, 2)])


class _OneSweep:
    def one_sweep(self, n, seed):
        """Return p-values of an update leaving the joint law of state and data as it is."""
        return one_step_p_values(
            self.simulate, self.update, self.statistics, n_replicates=n, seed=seed
        )


class BuffetTrial(_OneSweep):
    """The unrestricted buffet with its mass learned, perhaps with a broken part.

    `spoil` is called as spoil(state) after each update.
    """

    shape = 5, 3

    def __init__(self, spoil=lambda state: state, mass=None):
        self.spoil = spoil
        self.model = ibp_gibbs.BuffetModel(5, LinearGaussian(feature_variance=2.0), mass, 1.5)
        self.missing = np.random.default_rng(0).random(self.shape) < 0.3

    def observe(self, values):
        return with_missing(np.where(self.missing, np.nan, values))

    def simulate(self, rng):
        state, values = self.model.simulate(rng, self.shape[1])
        return state, self.observe(values)

    def start(self, rng, data):
        return self.model.simulate(rng, self.shape[1])[0]

    def update(self, rng, state, data):
        seed = np.uint64(rng.integers(2**63))
        return self.spoil(ibp_gibbs.update(rng, seed, state, self.model, data))

    def redraw(self, rng, state):
        return self.observe(self.model.likelihood.draw_data(rng, state.rows, state.parameters))

    def statistics(self, state, data):
        sizes, given = state.rows.sum(axis=0), state.parameters
        fit = np.tanh((data.values - state.rows @ given.features) ** 2 / given.noise_scale**2)
        found = {
            "features": state.rows.shape[1],
            "equal rows": float((state.rows[0] == state.rows[1]).all()),
            "feature scale and use": min(sizes.max(initial=0), 3) * np.log(given.feature_scale),
            "noise": np.log(given.noise_scale[0]),
            "weights": np.tanh(state.log_odds).sum(),
            "fit": fit[~self.missing].sum(),
        }
        return found if self.model.mass is not None else {**found, "mass": np.log(state.mass + 0.1)}


def gaussian_likelihood(data, scale=1.2):
    """Return rows -> log p(data | rows), features integrated out; nothing of the library in it."""

    def log_likelihood(rows):
        assert rows.dtype == np.int8
        assert rows.any(axis=0).all()
        cov = np.eye(len(data)) + scale**2 * (rows.astype(float) @ rows.T)
        fit = (data * np.linalg.solve(cov, data)).sum()
        return -0.5 * (data.shape[1] * np.linalg.slogdet(cov)[1] + fit)

    return log_likelihood


def augmented_sweep(learn_mass):
    """Return one update of the augmented sampler."""

    def step(rng, state, laws, concentration, log_likelihood):
        return augmented.update(
            rng, state, laws, concentration, log_likelihood, learn_mass=learn_mass,
            max_discards=MANY, mass_prior=MASS_PRIOR,
        )[0]  # fmt: skip

    return step


class AugmentedTrial(_OneSweep):
    """Three rows of a buffet restricted by discards; `step` updates its states."""

    def __init__(self, step, laws, mass=2.0, concentration=2.0):
        self.step, self.laws, self.mass, self.concentration = step, laws, mass, concentration

    def start(self, rng, data):
        return augmented.draw_prior(rng, self.laws, self.mass, self.concentration, MANY, MASS_PRIOR)

    def simulate(self, rng):
        state = self.start(rng, None)
        features = 1.2 * rng.standard_normal((state.rows.shape[1], 2))
        return state, state.rows @ features + rng.standard_normal((3, 2))

    def update(self, rng, state, data):
        return self.step(rng, state, self.laws, self.concentration, gaussian_likelihood(data))

    def statistics(self, state, data):
        """Return numbers that see rows, discards, mass and data, each with finite variance."""
        rows, number = state.rows.astype(int), state.n_discards
        kept, ones = rows.any(axis=0), rows.sum(axis=1).tolist()
        share = (rows.sum(axis=0) + state.discard_sums.sum(axis=0)) / (len(rows) + number.sum())
        found = {
            "equal rows": float((rows[0] == rows[1]).all()),
            "features of rows": kept.sum(),
            "features of discards": (~kept).sum(),
            "ones": sum(ones),
            "features shared": rows[0] @ rows[1],
            "discards of the first row": 1 / (1 + number[0]),
            "no discard of the last row": float(number[2] == 0),
            "discards": np.exp(-number.sum() / 10),
            "largest share": share.max(),
            "squared shares": share @ share,
            "shares of rows": share @ kept,
            "log likelihood": gaussian_likelihood(data)(state.rows[:, kept]),
            "discards as large": sum(
                k in seen for k, seen in zip(ones, state.discard_counts, strict=True)
            ),
        }
        if self.mass is not None:
            return found
        return found | {"mass": state.mass, "mass and features": state.mass * share.size}
