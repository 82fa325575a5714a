"""The Indian buffet baseline: rows against an enumerated posterior, the whole under Geweke."""

import math
from collections import Counter
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from ribp.baselines import ibp_gibbs
from ribp.kernels import sweep_buffet as kernel
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.rng import kernel_seed
from ribp.testing.geweke import joint_distribution_p_values
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from ribp.testing.recovery import f1
from tests.helpers.buffet_trials import BuffetTrial

N = 3
X = np.random.default_rng(2).normal(0, 1.3, (N, 2))
HOLES = np.where([[True, False], [True, True], [False, True]], X, np.nan)
FIXED = LinearGaussian(noise_scale=0.8, feature_scale=1.1)
COLUMNS = [tuple((code >> n) & 1 for n in range(N)) for code in range(1, 2**N)]


def log_prior(columns, mass, c):
    """Return the log probability of a class of matrices with these columns, in any order."""
    sizes = [sum(column) for column in columns]
    value = len(columns) * math.log(c * mass) - mass * sum(c / (c + n) for n in range(N))
    value += sum(math.lgamma(m) + math.lgamma(N - m + c) - math.lgamma(N + c) for m in sizes)
    return value - sum(math.lgamma(k + 1) for k in Counter(columns).values())


def posterior(values, likelihood, mass, c, most=6):
    """Return {sorted columns: probability} over all matrices with at most `most` dishes."""
    found = {}
    parameters = likelihood.first_guess(complete(X), 0)
    for k in range(most + 1):
        for columns in combinations_with_replacement(COLUMNS, k):
            rows = np.array(columns, np.int8).reshape(k, N).T
            found[tuple(sorted(columns))] = log_prior(columns, mass, c) + likelihood.log_marginal(
                with_missing(values), rows, parameters
            )
    total = logsumexp(list(found.values()))
    return {key: math.exp(value - total) for key, value in found.items()}


def as_columns(rows):
    return tuple(sorted(tuple(column) for column in rows.T.tolist()))


def test_priors_sum_to_one():
    total = sum(
        math.exp(log_prior(columns, 0.5, 1.4))
        for k in range(9)
        for columns in combinations_with_replacement(COLUMNS, k)
    )
    assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.jit
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("values", [X, HOLES])
def test_rows_have_the_enumerated_posterior(values, background):
    likelihood = LinearGaussian(noise_scale=0.8, feature_scale=1.1, background=background)
    truth = posterior(values, likelihood, 0.6, 1.4)
    keys, probs, data = list(truth), np.array(list(truth.values())), with_missing(values)

    def p_values(n, seed, mass=0.6, c=1.4):
        """Four sweeps after a draw of the posterior: independent draws, which have it still."""
        rng, seen = np.random.default_rng(seed), Counter()
        model = ibp_gibbs.BuffetModel(N, likelihood, mass, c)
        first = ibp_gibbs.best_start(rng, model, data, 1)
        for at in rng.choice(len(keys), n, p=probs / probs.sum()):
            rows = np.array(keys[at], np.int8).reshape(-1, N).T.copy()
            drawn = likelihood.update(rng, data, rows, first.parameters)
            state = model.with_weights(rng, first._replace(rows=rows, parameters=drawn))
            for _ in range(4):
                state = ibp_gibbs.update(rng, kernel_seed(rng), state, model, data)
            seen[as_columns(state.rows)] += 1
        return [frequencies_p_value([seen[key] for key in keys], probs)]

    assert holds(p_values, replicates(1000))
    assert is_caught(partial(p_values, mass=1.5), 400)
    assert is_caught(partial(p_values, c=0.2), 400)


def test_new_dishes_by_inversion():
    """Quantiles of the kernel's draw are those of the law summed by hand; huge residuals too."""
    for log_rate, q, e, variance, dims in (
        (math.log(0.3), 0.2, 3.0, 1.2, 4),
        (math.log(2.5), 0.0, 500.0, 0.5, 7),
        (math.log(1e-3), 0.1, 0.0, 2.0, 0),
    ):
        logs = [
            stats.poisson(math.exp(log_rate)).logpmf(k)
            - 0.5 * dims * math.log(1 + q + k * variance)
            - 0.5 * e / (1 + q + k * variance)
            for k in range(120)
        ]
        cdf = np.cumsum(np.exp(np.array(logs) - logsumexp(logs)))
        for u in np.linspace(0.005, 0.995, 34):
            found = kernel.draw_new_dishes(u, log_rate, q, e, variance, dims)
            assert found == np.searchsorted(cdf, u)
        assert kernel.draw_new_dishes(1.0 + 1e-9, log_rate, q, e, variance, dims) > 3  # rounding


def test_flips_are_conditionals_of_the_posterior():
    """A flip of a dish that another row has, against the ratio of enumerated probabilities."""
    truth = posterior(X, FIXED, 0.6, 1.4, most=3)
    scaled = X / 0.8
    for columns in list(truth)[1::7]:
        rows = np.array(columns, np.int8).T.copy()
        cov = np.linalg.inv(rows.T.astype(float) @ rows + np.eye(rows.shape[1]) / 1.1**2)
        mean = cov @ rows.T @ scaled
        for n in range(N):
            for i in range(rows.shape[1]):
                others = rows[:, i].sum() - rows[n, i]
                if others == 0:
                    continue
                work, residual = np.empty((7, rows.shape[1])), np.empty(2)
                z = rows[n].copy()
                q, e, *_ = kernel.take_out(
                    scaled[n],
                    np.ones(0, bool),
                    z,
                    cov,
                    mean.T.copy(),
                    mean @ mean.T,
                    work,
                    residual,
                )
                odds = kernel.flip_log_odds(i, z, q, e, work, others, 1.4 + 2 - others, 2)
                on, off = rows.copy(), rows.copy()
                on[n, i], off[n, i] = 1, 0
                with_it, without = (as_columns(z) for z in (on, off))
                # Labelled columns: each class is shared by its distinct orders.
                labels = log_orders(with_it) - log_orders(without)
                expected = math.log(truth[with_it] / truth[without]) - labels
                assert odds == pytest.approx(expected, abs=1e-10)


def log_orders(columns):
    return math.lgamma(len(columns) + 1) - sum(
        math.lgamma(k + 1) for k in Counter(columns).values()
    )


def with_more_mass(state):
    return state._replace(mass=1.25 * state.mass)


def with_more_noise(state):
    given = state.parameters
    return state._replace(parameters=given._replace(noise_scale=1.05 * given.noise_scale))


def along_a_chain(trial):
    return lambda n, seed: joint_distribution_p_values(
        trial.simulate, trial.update, trial.redraw, trial.statistics, n_fresh=n, n_steps=n,
        seed=seed,
    )  # fmt: skip


@pytest.mark.jit
def test_joint_distribution():
    assert holds(BuffetTrial().one_sweep, replicates(600, 5000))
    assert holds(along_a_chain(BuffetTrial()), replicates(4000))
    assert is_caught(BuffetTrial(with_more_mass).one_sweep, 600)
    assert is_caught(along_a_chain(BuffetTrial(with_more_noise)), 4000)


def test_a_short_sweep_without_the_compiler():
    """Room is made where it is needed, and the state stays what it would be when made anew."""
    rng = np.random.default_rng(5)
    model = ibp_gibbs.BuffetModel(N, FIXED, 3.0, 1.0)
    for values in (3 * X, 3 * HOLES):
        data = with_missing(values)
        state = ibp_gibbs.best_start(rng, model, data, 1)
        for _ in range(12):
            state = ibp_gibbs.update(rng, np.uint64(1), state, model, data)
            assert state.rows.any(axis=0).all()
    assert math.isfinite(model.log_joint(state, data))
    nothing = ibp_gibbs.BuffetModel(N, FIXED, 1e-9)
    state = ibp_gibbs.best_start(rng, nothing, complete(0 * X), 1)
    state = ibp_gibbs.update(rng, np.uint64(1), state, nothing, complete(0 * X))
    assert state.rows.shape == (N, 0)


@pytest.mark.jit
def test_the_best_of_several_starts_explains_the_data():
    rng = np.random.default_rng(0)
    truth = (rng.random((150, 4)) < 0.4).astype(np.int8)
    data = complete(truth @ rng.normal(0, 2, (4, 15)) + 0.3 * rng.normal(size=(150, 15)))
    model = ibp_gibbs.BuffetModel(150, LinearGaussian())
    state = ibp_gibbs.best_start(rng, model, data, 3)
    assert state.rows.any(axis=0).all()
    assert f1(state.rows, truth) > 0.99
    assert state.parameters.noise_scale.mean() == pytest.approx(0.3, rel=0.1)
    assert state.log_odds.shape == (state.rows.shape[1],)


@pytest.mark.jit
def test_a_start_has_room_for_all_features():
    """A search begins with room for sixteen; how well it finds them is for the recovery study."""
    rng = np.random.default_rng(0)
    truth = np.eye(20, dtype=np.int8)[np.repeat(np.arange(20), 8)]
    data = complete(truth @ rng.normal(0, 4, (20, 12)) + 0.3 * rng.normal(size=(160, 12)))
    state = ibp_gibbs.best_start(rng, ibp_gibbs.BuffetModel(160, LinearGaussian()), data, 1)
    assert state.rows.any(axis=0).sum() >= 20


@pytest.mark.jit
def test_same_seed_same_chain():
    def chain():
        rng, model = np.random.default_rng(3), ibp_gibbs.BuffetModel(N, FIXED, 0.6, 1.4)
        data, seen = with_missing(HOLES), []
        state = ibp_gibbs.best_start(rng, model, data, 1)
        for _ in range(50):
            state = ibp_gibbs.update(rng, np.uint64(3), state, model, data)
            seen.append(as_columns(state.rows))
        return seen

    assert chain() == chain()
