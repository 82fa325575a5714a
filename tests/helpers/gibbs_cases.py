"""Small models that meet every option of the samplers, and numbers that see all of a state."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from ribp import counts
from ribp.counts import Learned
from ribp.counts.tables import prior_log_probs
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import with_missing
from ribp.model import Model
from ribp.testing.geweke import joint_distribution_p_values, one_step_p_values
from ribp.testing.goodness import is_slow, replicates

ROWS, FEATURES, DIMS = 5, 4, 3
SWEEPS = replicates(600, 5000)
"""Of a joint test: they see .2, or .07, standard deviations with probability .95."""
STEPS = replicates(1500, 10_000)
"""Of a chain of data and states in turn."""

POINTS = counts.by_group({"a": counts.exactly(1), "b": counts.exactly(2)}, list("aabbb"))
INTERVALS = counts.by_row([counts.uniform(0, 2)] * 2 + [counts.table([0, 0.5, 0.3, 0.2])] * 3)
GAP = counts.by_row([counts.table([0, 0.5, 0, 0.5])] * 3 + [counts.uniform(0, 2)] * 2)
LEARNED = counts.by_group(
    {"a": counts.learned([1.0, 2.0, 1.0]), "b": counts.learned([0.7, 0.0, 1.5, 0.8])}, list("aabbb")
)

NOTHING = np.zeros((ROWS, DIMS), bool)
SOME = np.random.default_rng(2).random((ROWS, DIMS)) < 0.3
COLUMN = SOME.copy()
COLUMN[1:, 0] = True  # only one row shows it
BLANK = SOME.copy()
BLANK[1, :] = BLANK[:, 2] = True


class Case(NamedTuple):
    """A model, and which entries of its data are missing."""

    model: Model
    missing: np.ndarray


def case(laws, likelihood, weights, missing, mass=None, concentration=1.5):
    return Case(Model(laws, FEATURES, likelihood, mass, concentration, weights), missing)


FIXED_NOISE, FIXED_SIZE = 0.7, 1.2
GAUSSIAN = {
    "noise per column": case(INTERVALS, LinearGaussian(), "weak-limit", NOTHING),
    "shared noise": case(
        POINTS, LinearGaussian(shared=True, feature_variance=2.0), "gamma-odds", SOME, None, None
    ),
    "background": case(
        INTERVALS, LinearGaussian(background=True), "weak-limit", COLUMN, None, None
    ),
    "fixed scales": case(
        LEARNED,
        LinearGaussian(noise_scale=FIXED_NOISE, feature_scale=FIXED_SIZE),
        "size-ordered",
        BLANK,
        1.2,
        1.0,
    ),
    "shared, fixed noise": case(
        POINTS, LinearGaussian(shared=True, noise_scale=0.5), "size-ordered", COLUMN, None, 1.0
    ),
    "gap": case(GAP, LinearGaussian(feature_variance=2.0), "gamma-odds", NOTHING, 1.2),
    "gap, missing": case(
        GAP, LinearGaussian(shared=True, background=True), "size-ordered", SOME, None, 1.0
    ),
    "learned laws": case(LEARNED, LinearGaussian(), "weak-limit", NOTHING, 1.3, None),
    "learned laws, missing": case(
        LEARNED, LinearGaussian(background=True, feature_scale=1.5), "gamma-odds", SOME
    ),
    "blank row and column": case(INTERVALS, LinearGaussian(), "weak-limit", BLANK),
}
POISSON = {
    "counts": case(INTERVALS, PoissonCounts(), "weak-limit", NOTHING),
    "counts, background": case(
        GAP, PoissonCounts(background=True), "size-ordered", SOME, None, 1.0
    ),
    "counts, fixed mean": case(
        LEARNED, PoissonCounts(feature_scale=2.0, shape=1.0), "gamma-odds", BLANK, None, None
    ),
    "counts, column": case(POINTS, PoissonCounts(background=True), "weak-limit", COLUMN),
}

AHEAD = tuple(map(tuple, np.random.default_rng(8).gamma(2.0, 0.7, (2, DIMS)).tolist()))
KNOWN = {  # their first features are known
    "known": case(INTERVALS, LinearGaussian(background=True, known=AHEAD), "weak-limit", SOME),
    "shared, known": case(
        LEARNED, LinearGaussian(shared=True, known=AHEAD), "gamma-odds", NOTHING, None, None
    ),
    "counts, known": case(GAP, PoissonCounts(background=True, known=AHEAD), "weak-limit", SOME),
}

CASES = GAUSSIAN | POISSON | KNOWN


class Trial:
    """What a joint-distribution test asks for: a case, a sampler, and perhaps a broken part.

    Parameters
    ----------
    case
    sampler
        Its `update` as the samplers have it.
    spoil
        Called as spoil(rng, state, model) after each update.
    """

    def __init__(self, case, sampler, spoil=lambda rng, state, model: state):
        self.model, self.missing = case
        self.sampler, self.spoil = sampler, spoil

    def observe(self, values):
        return with_missing(np.where(self.missing, np.nan, values))

    def simulate(self, rng):
        state, values = self.model.simulate(rng, DIMS)
        return state, self.observe(values)

    def start(self, rng, data):
        """Return where a chain begins that knows nothing of the truth."""
        return self.model.draw_prior(rng, DIMS)

    def redraw(self, rng, state):
        return self.observe(self.model.likelihood.draw_data(rng, state.rows, state.parameters))

    def update(self, rng, state, data, seed=None):
        seed = rng.integers(2**63) if seed is None else seed
        new, _ = self.sampler(rng, np.uint64(seed), state, self.model, data)
        assert all(before == after for before, after in fixed(self.model, state, new))
        return self.spoil(rng, new, self.model)

    def statistics(self, state, data):
        return statistics(self.model, state, data)

    def one_sweep(self, n, seed):
        """Return p-values of a sweep leaving the joint law of state and data as it is."""
        return one_step_p_values(
            self.simulate, self.update, self.statistics, n_replicates=n, seed=seed
        )

    def in_turn(self, n, seed):
        """Return p-values of data and state, drawn in turn, keeping that law.

        The chain has one seed for its kernels, as every chain: sweeps differ by their number.
        """
        return joint_distribution_p_values(
            self.simulate, partial(self.update, seed=seed), self.redraw, self.statistics,
            n_fresh=n // 2, n_steps=n, seed=seed,
        )  # fmt: skip


def some(cases, names):
    """Return the names of all cases, or, where time is short, those that are asked for."""
    return list(cases) if is_slow() else names


def without_offsets(cases):
    """Return the cases without a Gaussian background.

    Its prior is ten times as wide as what data say of it, so that data and state drawn in turn move
    it by a tenth of its width a step: a chain of any length that we can afford has not mixed. One
    sweep from the prior, which needs no mixing, tests it.
    """
    return {
        name: case
        for name, case in cases.items()
        if not (
            isinstance(case.model.likelihood, LinearGaussian) and case.model.likelihood.background
        )
    }


def noisier(rng, state, model):
    """Spoil a state: five per cent more noise."""
    given = state.parameters
    return state._replace(parameters=given._replace(noise_scale=1.05 * given.noise_scale))


def heavier(rng, state, model):
    """Spoil a state: two fifths more mass."""
    return state._replace(mass=min(1.4 * state.mass, 0.999 * model.n_features))


def forgetful(rng, state, model):
    """Spoil a state: learned laws that have not seen the rows."""
    fresh = prior_log_probs(rng, model.counts, model.most)
    return state._replace(count_log_probs=fresh)


def fixed(model, before, after):
    """Yield what must not change, before and after."""
    if model.mass is not None:
        yield before.mass, after.mass
    if model.concentration is not None:
        yield before.concentration, after.concentration
    if model.likelihood.feature_scale is not None:
        yield before.parameters.feature_scale, after.parameters.feature_scale
    if getattr(model.likelihood, "noise_scale", None) is not None:
        yield before.parameters.noise_scale.tolist(), after.parameters.noise_scale.tolist()


def statistics(model, state, data):
    """Return named numbers of finite variance that between them see all that is learned."""
    z = (state.rows != 0).astype(np.int8)
    sizes, ones = z.sum(axis=0), z.sum(axis=1)
    theta, given = state.log_odds, state.parameters
    found = {
        "features in use": (sizes > 0).sum(),
        "equal rows": float((z[0] == z[1]).all()),
        "ones of the first row": ones[0],
        "ones of the last row": ones[-1],
        "products of counts": ones[0] * ones[-1],
        "largest feature": sizes.max(),
        "weights": expit(theta).sum(),
        "weights of what is used": sizes @ np.tanh(theta / 3),
        "least weight": np.tanh(theta.min() / 9),
        "features of the first row": np.tanh(state.rows[0] @ np.abs(given.features[:, 0])),
        "features of nobody": (sizes == 0) @ np.tanh(np.abs(given.features[:, 1])),
        **_fit(state, data),
    }
    if model.mass is None:
        found["mass"] = np.log(state.mass)
        found["mass and use"] = np.log(state.mass) * (sizes > 0).sum()
    if model.concentration is None:
        found["concentration"] = np.log(state.concentration)
        found["concentration and weights"] = np.log(state.concentration) * expit(theta).sum()
    for which, law in enumerate(model.counts.laws):
        if isinstance(law, Learned):
            table = np.exp(state.count_log_probs[which])
            found |= {f"law {which} at {k}": table[k] for k in np.flatnonzero(law.base)}
            totals = model.entry_law.totals(state.rows)
            found[f"rows of law {which}"] = table[totals[model.counts.law_of_row == which]].sum()
    own = _strengths(model.likelihood, state) | _multiplicities(model, state)
    return found | _scales(model.likelihood, given, sizes) | own


def _strengths(likelihood, state):
    if likelihood.entries != "strengths":
        return {}
    y, given = state.rows, state.parameters
    strengths = y[y != 0] if y.any() else np.zeros(1)
    found = {
        "strengths": np.tanh(strengths).mean(),
        "negative strengths": float((y < 0).sum()),
        "strengths apart": np.tanh(np.abs(strengths - 1.0)).mean(),
        "strengths of a feature": np.tanh(np.abs(y[:, 0]).sum()),
        "strengths and their feature": np.tanh(np.abs(y[:, 0]).sum() * given.features[0, 0] ** 2),
    }
    if getattr(likelihood, "learns_scale", True):
        tau = np.log(given.strength_scale)
        found |= {"scale of strengths": tau, "scale and number": tau * (y != 0).sum()}
    return found


def _multiplicities(model, state):
    if not model.entry_law.counts:
        return {}
    z, theta = state.rows, state.log_odds
    units = np.log1p(z.sum(axis=0))
    return {
        "units": units.sum(),
        "units of the first row": np.log1p(z[0].sum()),
        "units of the last row": np.log1p(z[-1].sum()),
        "most units": np.log1p(z.max()),
        "entries above one": (z > 1).sum(),
        "entries above one of the first row": (z[0] > 1).sum(),
        "units and weights": units @ np.tanh(theta / 3),
        "pairs of entries": np.log1p(z[0]) @ np.log1p(z[-1]),
        "units of a feature": np.tanh(units[0] * state.parameters.features[0, 0] ** 2),
    }


def _fit(state, data):
    given = state.parameters
    mean = state.rows @ given.features + given.background
    seen = np.ones(mean.shape, bool) if data.complete else data.observed
    gaussian = hasattr(given, "noise_scale")
    spread = given.noise_scale if gaussian else np.sqrt(np.abs(mean) + 1.0)
    residuals = ((data.values - mean) / spread)[seen]
    if gaussian:
        density = -(residuals**2) / 2 - np.log(np.broadcast_to(spread, mean.shape)[seen])
    else:
        x, rate = data.values[seen], np.maximum(mean[seen], 1e-300)
        density = x * np.log(rate) - rate - gammaln(x + 1)
    return {
        "log likelihood": density.sum(),
        "residuals": np.tanh(residuals**2 / 2).mean(),
        "fit": np.tanh((data.values - data.values.mean()) * mean)[seen].mean(),
        "fit of the first row": np.tanh(data.values[0] * mean[0])[seen[0]].sum(),
    }


def _scales(likelihood, given, sizes):
    found = {}
    if likelihood.feature_scale is None:
        scale = np.log(given.feature_scale)
        found |= {"feature scale": scale, "feature scale and use": scale * sizes.max()}
    if likelihood.background:
        found["background"] = np.log(np.abs(given.background) + 0.01).mean()
    if isinstance(likelihood, LinearGaussian) and likelihood.noise_scale is None:
        noise = np.log(given.noise_scale)
        found |= {"noise": noise.mean(), "first noise": noise[0], "noise squared": noise[0] ** 2}
    return found
