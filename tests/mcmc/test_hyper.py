"""Mass and concentration: their updates keep the right law, whatever the weight prior."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import weight_slices
from ribp.mcmc import hyper
from ribp.restricted_bernoulli import sample_sets
from ribp.rng import kernel_seed
from ribp.testing.geweke import one_step_p_values
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.weights import WEIGHT_PRIORS
from tests.helpers.marks import compiled_prior, every_prior

FEATURES = 5


def draw_mass(rng):
    while (mass := rng.standard_exponential()) >= FEATURES:
        pass
    return mass


def simulate(name, concentration=None):
    """Return a sampler of (prior, log-odds); the concentration is drawn too unless it is given."""

    def draw(rng):
        c = concentration or rng.standard_gamma(2.0) / 2.0
        prior = WEIGHT_PRIORS[name](draw_mass(rng), c, FEATURES)
        return prior, prior.sample(rng, FEATURES)

    return draw


def mass_step(rng, prior, log_odds):
    return replace(prior, mass=hyper.update_mass(rng, prior, log_odds))


def concentration_step(rng, prior, log_odds):
    return replace(prior, concentration=hyper.update_concentration(rng, prior, log_odds))


def ratio_step(rng, prior, log_odds):
    mass, concentration = hyper.update_ratio(rng, prior, log_odds)
    assert mass * concentration == pytest.approx(prior.mass * prior.concentration)
    return replace(prior, mass=mass, concentration=concentration)


def statistics(prior, _):
    a, c = math.log(prior.mass), math.log(prior.concentration)
    return [math.tanh(a), prior.mass, a**2, math.tanh(c), prior.concentration, c**2, a * c]


def updated(name, step, concentration=None):
    """Return a check that a step keeps the law of mass and concentration."""
    draw = simulate(name, concentration)
    return lambda n, seed: one_step_p_values(
        draw, step, statistics, n_replicates=n, n_updates=2, seed=seed
    )


@every_prior
def test_mass_keeps_its_law(name):
    assert holds(updated(name, mass_step, concentration=1.0), replicates(700, 5000))


@every_prior
@pytest.mark.parametrize("step", [mass_step, concentration_step, ratio_step])
def test_both_keep_their_law(name, step):
    assert holds(updated(name, step), replicates(700, 5000))


def compiled_step(move):
    """Return the step of a kernel, for priors that kernels know."""

    def step(rng, state, data):
        prior, theta = state[0], state[1].copy()
        sums, histogram = (np.array(x, np.float64) for x in data)
        mass, c = weight_slices.slice_step(
            kernel_seed(rng), np.zeros(3, np.int64), move, theta, sums, histogram,
            prior.compiled, prior.mass, prior.concentration,
        )  # fmt: skip
        return replace(prior, mass=mass, concentration=c), theta

    return step


@compiled_prior
@pytest.mark.parametrize("move", ["MASS", "CONCENTRATION", "RATIO"])
def test_compiled_steps_keep_their_law(name, move):
    step = compiled_step(getattr(weight_slices, move))
    nothing = np.zeros(FEATURES), np.zeros(1)

    def prior_step(rng, prior, log_odds):
        return step(rng, (prior, log_odds), nothing)[0]

    assert holds(updated(name, prior_step), replicates(700, 5000))


def no_jacobian(rng, prior, log_odds):
    """Slice log alpha with the density of alpha."""

    def log_density(log_mass):
        if log_mass >= math.log(FEATURES):
            return -math.inf
        mass = math.exp(log_mass)
        return replace(prior, mass=mass).log_density(log_odds) - mass

    return replace(prior, mass=math.exp(hyper.slice_step(rng, math.log(prior.mass), log_density)))


@every_prior
def test_broken_twin_is_caught(name):
    assert is_caught(updated(name, no_jacobian, concentration=1.0), 700)


@every_prior
def test_mass_given_weights_is_quadrature(name):
    start = WEIGHT_PRIORS[name](0.7, 1.3, FEATURES)
    theta = np.array([-0.5, -1.0, 0.5, -3.0, 1.0])
    log_mass = np.linspace(-9.0, math.log(FEATURES), 3000, endpoint=False)
    log_p = np.array([replace(start, mass=a).log_density(theta) for a in np.exp(log_mass)])
    p = np.exp(log_p + log_mass - np.exp(log_mass) - log_p.max())
    p /= p.sum()

    def followed(step):
        def check(n, seed):
            rng, prior, found = np.random.default_rng(seed), start, []
            for _ in range(n):
                prior = step(rng, prior, theta)
                found.append(math.log(prior.mass))
            batches = np.array(found).reshape(50, -1).mean(axis=1)
            return [mean_p_value(batches, p @ log_mass)]

        return check

    assert holds(followed(mass_step), replicates(2000))
    assert is_caught(followed(no_jacobian), 2000)


def test_mass_stays_below_the_number_of_features():
    rng = np.random.default_rng(0)
    prior = WEIGHT_PRIORS["size-ordered"](4.9, 1.0, FEATURES)
    theta = np.full(FEATURES, 8.0)  # so many large atoms ask for a large mass
    for _ in range(200):
        prior = mass_step(rng, prior, theta)
        assert prior.mass < FEATURES


@pytest.mark.parametrize("mass", [None, 0.8])
@pytest.mark.parametrize("concentration", [None, 1.4])
def test_only_what_the_model_learns_changes(mass, concentration):
    model = SimpleNamespace(
        mass=mass,
        concentration=concentration,
        weight_prior=lambda a, c: WEIGHT_PRIORS["weak-limit"](a, c, FEATURES),
    )
    state = SimpleNamespace(mass=0.8, concentration=1.4)
    rng = np.random.default_rng(0)
    theta = np.array([-0.5, -1.0, 0.5, -3.0, 1.0])
    sizes, histogram = np.array([3, 0, 2, 0, 1]), np.array([0, 4, 1])
    found = hyper.update(rng, model, state, theta, sizes, histogram)
    assert (found.mass == 0.8) == (mass is not None)
    assert (found.concentration == 1.4) == (concentration is not None)
    assert np.array_equal(found.log_odds, theta) == (mass is not None)


# Mass together with weights that rows say nothing of


def with_rows(name, n_rows=3, concentration=1.0):
    """Return a sampler of ((prior, log-odds), (sizes, histogram)) of rows with one or two ones.

    The concentration is drawn too if it is None.
    """

    def draw(rng):
        c = concentration or rng.standard_gamma(2.0) / 2.0
        prior = WEIGHT_PRIORS[name](draw_mass(rng), c, FEATURES)
        theta = prior.sample(rng, FEATURES)
        ones = rng.integers(1, 3, n_rows)
        rows = np.zeros((n_rows, FEATURES), int)
        rows[np.repeat(np.arange(n_rows), ones), sample_sets(rng, theta, ones)] = 1
        return (prior, theta), (rows.sum(axis=0), np.bincount(ones, minlength=3))

    return draw


def spare_step(rng, state, data):
    mass, theta = hyper.update_with_spare(rng, *state, *data)
    return replace(state[0], mass=mass), theta


def without_the_mean(rng, state, data):
    """Forget the factor of the mean of features that rows have."""
    prior, theta = state
    sizes, histogram = data
    used = sizes > 0
    middle = theta[used].mean()

    def moved(by):
        shrink = math.exp(-by)
        return np.where(used, theta + middle * (shrink - 1.0), theta * shrink)

    def log_density(by):
        at = moved(by)
        value = hyper._log_joint(prior, prior.mass * math.exp(by), 1.0, at)
        return value + hyper.row_log_density(at, sizes, histogram) - (~used).sum() * by

    top = math.log(FEATURES / prior.mass)
    by = hyper.slice_step(rng, 0.0, log_density, high=top)
    return replace(prior, mass=prior.mass * math.exp(by)), moved(by)


def without_the_rows(rng, state, data):
    """Leave out what rows say of spare features."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hyper, "row_log_density", lambda *_: 0.0)
        return spare_step(rng, state, data)


def spare_statistics(state, _):
    prior, theta = state
    a = math.log(prior.mass)
    seen = [np.tanh(theta).sum(), np.tanh(theta / 9.0).sum(), theta.max()]
    return [prior.mass, a, a**2, *seen, prior.concentration]


def moved_with_spare(name, step, concentration=1.0):
    """Return a check that a step keeps the law of mass and weights, with rows present."""
    draw = with_rows(name, concentration=concentration)
    return lambda n, seed: one_step_p_values(
        draw, step, spare_statistics, n_replicates=n, n_updates=2, seed=seed
    )


@every_prior
def test_mass_with_spare_features_keeps_its_law(name):
    assert holds(moved_with_spare(name, spare_step), replicates(800, 5000))


@compiled_prior
def test_the_compiled_step_with_spare_features_keeps_its_law(name):
    step = compiled_step(weight_slices.SPARE)
    assert holds(moved_with_spare(name, step), replicates(800, 5000))


def whole_update(rng, state, data):
    prior, theta = state
    model = SimpleNamespace(mass=None, concentration=None, weight_prior=lambda *_: prior)
    found = hyper.update(rng, model, prior, theta, *data)
    return replace(prior, mass=found.mass, concentration=found.concentration), found.log_odds


def rows_without_weight(rng, state, data):
    """Leave out what rows say, but not which features they have."""
    return whole_update(rng, state, tuple(1e-9 * x for x in data))


@every_prior
def test_an_update_keeps_the_law_of_everything(name):
    assert holds(moved_with_spare(name, whole_update, None), replicates(800, 5000))


@compiled_prior
def test_an_update_that_forgets_rows_is_caught(name):
    assert is_caught(moved_with_spare(name, rows_without_weight), 1200)


@pytest.mark.parametrize("wrong", [without_the_mean, without_the_rows])
def test_wrong_moves_with_spare_features_are_caught(wrong):
    assert is_caught(moved_with_spare("weak-limit", wrong), 1200)


def test_differences_of_features_in_use_stay():
    rng = np.random.default_rng(0)
    (prior, theta), data = with_rows("weak-limit", 6)(rng)
    used = data[0] > 0
    (_, moved) = spare_step(rng, (prior, theta), data)
    np.testing.assert_allclose(np.diff(moved[used]), np.diff(theta[used]), atol=1e-12)
    np.testing.assert_allclose(moved[~used] * theta[used].mean(), theta[~used] * moved[used].mean())


def test_priors_are_those_of_the_model():
    """Gamma(1, 1) and Gamma(2, rate 2), as densities of logarithms."""
    theta = np.zeros(FEATURES)

    def log_prior(mass, c):
        prior = WEIGHT_PRIORS["weak-limit"](mass, c, FEATURES)
        return hyper._log_joint(prior, mass, c, theta) - prior.log_density(theta)

    def expected(mass, c):
        law = stats.expon.logpdf(mass) + stats.gamma.logpdf(c, 2, scale=0.5)
        return law + math.log(mass) + math.log(c)

    assert log_prior(0.7, 1.9) - log_prior(3.0, 0.2) == pytest.approx(
        expected(0.7, 1.9) - expected(3.0, 0.2)
    )
    assert hyper._log_joint(WEIGHT_PRIORS["weak-limit"](1.0, 1.0, 5), 5.0, 1.0, theta) == -math.inf
