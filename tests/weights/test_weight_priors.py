"""What every weight prior promises, and what each is: densities, draws, proposals, bounds."""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit, gammaln, log_expit

import ribp
from ribp import fitting
from ribp.counts import as_row_counts
from ribp.errors import InputError, StorageError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.validation import as_data
from ribp.measures import BetaProcess
from ribp.model import Model
from ribp.results import Result
from ribp.rows.local import in_memory
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.weights import WEIGHT_PRIORS, Pull, SizeOrderedPrior
from tests.helpers.plug_ins import of_page, registered

ARGUMENTS = [(0.7, 1.0), (0.4, 2.5), (0.9, 0.6)]  # mass and concentration, for one or two features
NO_ROWS = Pull(-math.inf, -math.inf)
ROWS = Pull(math.log(30.0), math.log(40.0))

OURS = [*WEIGHT_PRIORS]
FINITE = of_page("adding-a-weight-prior")["FinitePrior"]
every_prior = pytest.mark.parametrize("name", [*OURS, "finite"])
every_argument = pytest.mark.parametrize("arguments", ARGUMENTS)


@pytest.fixture(autouse=True)
def finite():
    """Register the prior of the documentation: every test here runs on it as on ours."""
    with registered(WEIGHT_PRIORS, "finite", FINITE):
        yield


def stretched(low, high, n):
    """Return nodes from low to high, dense around zero, and weights for the trapezoidal rule."""
    t = np.linspace(np.arcsinh(low), np.arcsinh(high), n)
    return np.sinh(t), np.cosh(t) * (t[1] - t[0])


def ordered_pairs():
    """Return least and largest of two log-odds over the plane, and weights that count both orders.

    The density of a size-ordered prior has an edge where they are equal, hence the half-plane.
    """
    low, low_weight = stretched(-150.0, 120.0, 120)
    t = np.linspace(-18.0, 5.5, 110)  # the gap is e^t
    x, gap = np.meshgrid(low, np.exp(t), indexing="ij")
    return x, x + gap, 2.0 * low_weight[:, None] * gap * (t[1] - t[0])


def pair_density(log_density):
    x, y, weight = ordered_pairs()
    log_p = [log_density(np.array(pair)) for pair in zip(x.flat, y.flat, strict=True)]
    return x, y, weight * np.exp(np.reshape(log_p, x.shape))


@every_prior
@every_argument
def test_density_of_one_feature_is_normalised(name, arguments):
    prior = WEIGHT_PRIORS[name](*arguments, 1)
    theta, weight = stretched(-300.0, 400.0, 1200)
    total = weight @ np.exp([prior.log_density(np.array([t])) for t in theta])
    assert total == pytest.approx(1.0, abs=1e-6)


@every_prior
@every_argument
def test_density_of_two_features_is_normalised_and_that_of_the_draws(name, arguments):
    prior = WEIGHT_PRIORS[name](*arguments, 2)
    x, y, p = pair_density(prior.log_density)
    assert p.sum() == pytest.approx(1.0, abs=1e-5)

    def statistics(low, high):
        """Smooth, so that quadrature has their means to 1e-5: that of a step is off by 0.01."""
        pair = expit(low) * expit(high)
        return [expit(low), expit(high), np.tanh((high - low) / 5), expit(-4 - low), pair]

    means = [(exact * p).sum() for exact in statistics(x, y)]

    def p_values(n, seed, drawn_from=prior):
        rng = np.random.default_rng(seed)
        drawn = np.array([drawn_from.sample(rng, 2) for _ in range(n)])
        found = statistics(drawn.min(axis=1), drawn.max(axis=1))
        in_no_order = mean_p_value(drawn[:, 0] < drawn[:, 1], 0.5)
        return [in_no_order, *(mean_p_value(f, m, 1e-5) for f, m in zip(found, means, strict=True))]

    quick = name != "size-ordered" or prior.concentration == 1.0  # otherwise draws are slow
    assert holds(p_values, replicates(2000 if quick else 150))
    # Draws of a prior with another mass do not have the density.
    other = dataclasses.replace(prior, mass=0.2 * prior.mass)
    assert is_caught(lambda n, seed: p_values(n, seed, other), 500 if quick else 60)


@every_prior
@pytest.mark.parametrize("arguments", [(3.0, 1.0, 6), (2.0, 2.5, 6), (4.0, 0.3, 6)])
def test_gradient_is_that_of_the_density(name, arguments):
    prior = WEIGHT_PRIORS[name](*arguments)
    rng = np.random.default_rng(0)
    for scale in (1.0, 4.0):
        theta = rng.normal(-1.0, scale, 6)
        slopes = [
            (prior.log_density(theta + d) - prior.log_density(theta - d)) / 2e-5
            for d in 1e-5 * np.eye(6)
        ]
        np.testing.assert_allclose(prior.gradient(theta), slopes, atol=1e-6, rtol=1e-6)


@every_prior
def test_features_are_exchangeable(name):
    prior = WEIGHT_PRIORS[name](3.0, 1.5, 5)
    rng = np.random.default_rng(0)
    theta = prior.sample(rng, 5)
    order = rng.permutation(5)
    assert prior.log_density(theta) == pytest.approx(prior.log_density(theta[order]))
    np.testing.assert_allclose(prior.gradient(theta)[order], prior.gradient(theta[order]))


@every_prior
def test_far_log_odds_are_ordinary(name):
    prior = WEIGHT_PRIORS[name](1.0, 1.5, 3)
    theta = np.array([-5e4, -800.0, 2.0])
    assert np.isfinite(prior.log_density(theta))
    assert np.isfinite(prior.gradient(theta)).all()


def test_priors_agree_at_small_odds():
    """Each is the same beta process, cut in its own way."""
    theta = np.array([-9.0, -12.0, -10.0])
    weak, ordered, gamma = (WEIGHT_PRIORS[name](3.0, 1.7, 10**7) for name in OURS)
    np.testing.assert_allclose(weak.gradient(theta), gamma.gradient(theta), atol=1e-7)
    one = np.array([-9.0])
    atoms = math.log(10**7) + np.array([prior.log_density(one) for prior in (weak, gamma)])
    intensity = ordered.log_density(one) + math.exp(BetaProcess(3.0, 1.7).log_levy_tail(-9.0))
    np.testing.assert_allclose(atoms, intensity, atol=1e-4)


# Proposals for rare features

RARE = {"unused": np.zeros(3), "seldom used": np.array([0.0, 2.0, 2.0])}
OTHERS = np.array([-1.0, 0.5, -3.0])


def density_p_values(law, claimed, n, seed):
    """Return p-values of draws having a density, known up to a constant.

    The mean of density(theta - shift)/density(theta) over draws is the integral of the density,
    shifted: one.
    """
    rng = np.random.default_rng(seed)
    drawn = np.array([law.sample(rng) for _ in range(n)])
    log_q = np.array([claimed.log_density(theta) for theta in drawn])
    found = []
    for shift in (*0.3 * np.eye(3), *-0.3 * np.eye(3)):
        shifted = np.array([claimed.log_density(theta - shift) for theta in drawn])
        found.append(mean_p_value(np.exp(shifted - log_q), 1.0))
    return found


@every_prior
@pytest.mark.parametrize(
    ("sums", "pull"), [("unused", NO_ROWS), ("unused", ROWS), ("seldom used", ROWS)]
)
def test_proposal_has_the_density_it_says(name, sums, pull):
    prior = WEIGHT_PRIORS[name](3.0, 1.2, 6)
    law = prior.rare_law(RARE[sums], OTHERS, pull)
    assert holds(partial(density_p_values, law, law), replicates(600))
    other = prior.rare_law(RARE[sums] + 2.0, OTHERS, pull)
    assert is_caught(partial(density_p_values, law, other), 200)


@every_prior
@pytest.mark.parametrize("sums", [[0.0, 0.0, 0.0], [0.0, 1.0, 3.0]])
def test_proposal_is_close_to_the_conditional_law(name, sums):
    assert effective_share(name, sums, 400) > 0.8
    assert effective_share(name, sums, 10**6) > 0.8


def effective_share(name, sums, n_rows):
    """With one count and many rows the weights target / proposal are nearly constant."""
    prior = WEIGHT_PRIORS[name](3.0, 1.2, 6)
    others, sums = np.array([-1.0, 0.5, 0.2]), np.array(sums)
    log_r = -np.log(np.exp(others).sum())
    pull = Pull(math.log(n_rows) + log_r, math.log(n_rows) + 2 * log_r)
    law = prior.rare_law(sums, others, pull)
    rng = np.random.default_rng(0)
    log_weights = []
    for _ in range(500):
        theta = law.sample(rng)
        rows = sums @ theta - n_rows * np.log(np.exp(others).sum() + np.exp(theta).sum())
        log_prior = prior.log_density(np.append(theta, others))
        log_weights.append(rows + log_prior - law.log_density(theta))
    weights = np.exp(log_weights - np.max(log_weights))
    return weights.mean() ** 2 / (weights**2).mean()


def test_edge_of_the_table_is_never_met_but_known():
    law = SizeOrderedPrior(2.0, 1.0, 4).rare_law(np.zeros(2), np.array([0.0, 1.0]), ROWS)
    assert law.log_density(np.array([0.0, 500.0])) == -math.inf
    assert law.log_density(np.array([0.0, -500.0])) == -math.inf


# The size-ordered prior


def test_trajectories_are_told_how_far_atoms_move():
    precision = SizeOrderedPrior(3.0, 2.0, 4).precision(np.array([True, False]))
    np.testing.assert_allclose(precision, [1.0 + 6.0**2, 6.0 / 3.0])


def test_size_ordered_density_at_concentration_one():
    """For c = 1: alpha^I (min pi)^alpha prod pi^-1 over I!, times the Jacobian prod pi (1 - pi)."""
    theta, alpha = np.array([0.3, -2.0, -7.0, -0.5]), 2.3
    log_pi, log_rest = log_expit(theta), log_expit(-theta)
    expected = 4 * math.log(alpha) + alpha * log_pi.min() - log_pi.sum() - gammaln(5)
    expected += (log_pi + log_rest).sum()
    assert SizeOrderedPrior(alpha, 1.0, 4).log_density(theta) == pytest.approx(expected)


@pytest.mark.parametrize("c", [0.05, 0.7, 1.0, 2.0, 3.3, 60.0, 2000.0])
def test_expected_number_of_atoms(c):
    """The power series and the measure's own tail agree, wherever each of them is used."""
    for theta in [-40.0, -8.0, *(math.log(2 / c) + np.linspace(-1, 1, 5)), -0.6, -0.3, 3.0, 40.0]:
        found = SizeOrderedPrior(1.7, c, 1)._expected_above(theta)
        exact = math.exp(BetaProcess(1.7, c).log_levy_tail(theta))
        assert found == pytest.approx(exact, rel=1e-11)
    numeric = integrate.quad(
        lambda t: 1.7 * c * math.exp(-c * np.logaddexp(0, t)), -3.0, 60.0 / c + 60.0, limit=500
    )[0]
    assert SizeOrderedPrior(1.7, c, 1)._expected_above(-3.0) == pytest.approx(numeric, rel=1e-6)


def test_bound_is_that_of_simulate():
    draw = ribp.simulate(
        0, n_rows=7, counts=ribp.counts.exactly(2), measure=BetaProcess(3.0, 1.4),
        truncation=ribp.SizeOrdered(30),
    )  # fmt: skip
    prior = SizeOrderedPrior(3.0, 1.4, 30)
    theta = np.append(draw.log_odds, draw.unused_log_odds)
    assert prior.truncation_bound(theta, np.array([0, 0, 7])) == pytest.approx(draw.tv_bound)
    assert prior.truncation_bound(theta, np.array([9, 0, 7])) == pytest.approx(draw.tv_bound)
    assert prior.truncation_bound(theta, np.array([5])) == 0.0
    assert prior.truncation_bound(np.sort(theta)[-3:], np.array([0, 0, 10**6])) == 1.0


def test_bound_holds_for_deeper_measures():
    measure, prior = BetaProcess(3.0, 1.4), SizeOrderedPrior(3.0, 1.4, 15)
    largest = 0.0
    for seed in range(40):
        stream = measure.atom_stream(np.random.default_rng(seed))
        head = stream.extend(15)
        deep = np.append(head, stream.extend(150))
        lost = -np.expm1(ribp.log_esp(head, 3) - ribp.log_esp(deep, 3))
        bound = prior.truncation_bound(head, np.array([0, 4, 0, 2]))
        truth = 4 * lost[1] + 2 * lost[3]
        assert truth <= bound
        largest = max(largest, truth / bound)
    assert largest > 1 / 20  # a bound twenty times smaller would have been exceeded


def test_only_size_ordered_knows_what_it_leaves_out():
    has_bound = {name for name in WEIGHT_PRIORS if hasattr(WEIGHT_PRIORS[name], "truncation_bound")}
    assert has_bound == {"size-ordered"}


# A prior of another package


def short_fit(folder=None):
    model = Model(as_row_counts("uniform(1, 2)", 20), 3, LinearGaussian(), weights="finite")
    data = as_data(model.simulate(np.random.default_rng(0), 4)[1])
    options = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "seed": 0, "progress": False}
    return fitting.fit(model, in_memory(data), "gibbs", checkpoint=folder, **options), data


def test_a_fit_stores_it_by_name_and_says_if_it_is_missing(tmp_path):
    result, data = short_fit(tmp_path / "run")
    result.save(tmp_path / "fit.nc")
    assert Result.load(tmp_path / "fit.nc").settings["weights"] == "finite"
    longer = fitting.resume(tmp_path / "run", data, n_draws=6, progress=False)
    assert longer.tree["posterior"].sizes["draw"] == 6
    WEIGHT_PRIORS.unregister("finite")
    missing = "weight_prior must be one that is installed here, but got finite"
    with pytest.raises((InputError, StorageError), match=missing):
        Result.load(tmp_path / "fit.nc")
    with pytest.raises((InputError, StorageError), match=missing):
        fitting.resume(tmp_path / "run", data, n_draws=8, progress=False)
    with pytest.raises(InputError, match="weight_prior must be one of weak-limit"):
        short_fit()
    WEIGHT_PRIORS.register("finite", FINITE)


class Broken(FINITE):
    """A prior whose gradient forgets that b is c, not c - a."""

    def gradient(self, log_odds):
        return self.shape - self.concentration * expit(log_odds)


def test_a_wrong_gradient_is_noticed():
    with registered(WEIGHT_PRIORS, "broken", Broken), pytest.raises(AssertionError):
        test_gradient_is_that_of_the_density("broken", (3.0, 1.0, 6))
