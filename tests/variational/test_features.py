"""Features and scales given expected rows: against sums over all rows, and never downhill."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from ribp.blocks import blocks, in_order
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import with_missing
from ribp.testing.exact import all_rows
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.variational import features as part
from ribp.variational.features import FeatureFactor
from tests.helpers.normal_law import normal_p_values, whitened

FEATURES, DIMS, ROWS = 3, 2, 6
KINDS = [
    {"shared": shared, "background": background, "missing": missing}
    for shared in (False, True)
    for background in (False, True)
    for missing in (0.0, 0.4)
]
every_kind = pytest.mark.parametrize(
    "kind", KINDS, ids=lambda k: "-".join(f"{v}" for v in k.values())
)


class Case:
    """Random data, a random law of every row, a random factor and random scales."""

    def __init__(self, seed, shared, background, missing, **fixed):
        rng = np.random.default_rng(seed)
        self.likelihood = LinearGaussian(shared, background, noise_variance=0.7, **fixed)
        self.q = rng.dirichlet(np.full(2**FEATURES, 0.3), ROWS)
        values = rng.normal(0, 2, (ROWS, DIMS))
        values[rng.random(values.shape) < missing] = np.nan
        self.data = with_missing(values)
        size = FEATURES + background
        # one covariance for all columns if nothing is missing, as the best factor has
        roots = rng.normal(size=(DIMS if missing else 1, size, size))
        self.factor = FeatureFactor(
            rng.normal(size=(size, DIMS)), roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(size)
        )
        noise = np.full(DIMS, rng.gamma(3.0)) if shared else rng.gamma(3.0, size=DIMS)
        zero = np.zeros((FEATURES, DIMS))
        self.parameters = GaussianParameters(zero, np.zeros(DIMS), noise, rng.gamma(3.0))

    @property
    def seen(self):
        return np.ones((ROWS, DIMS), bool) if self.data.complete else self.data.observed

    def sums(self, at=slice(None), weights=None):
        z = all_rows(FEATURES).astype(float)
        w = np.ones(ROWS) if weights is None else weights
        q, data, w = self.q[at], self.data.rows(at), w[at]
        each = np.einsum("nr,ri,rj->nij", q, z, z)
        missing = np.zeros((0, FEATURES, FEATURES))
        if not data.complete:
            missing = np.einsum("nd,nij->dij", ~data.observed * w[:, None], each)
        pairs = np.einsum("n,nij->ij", w, each)
        return part.row_sums(self.likelihood, data, q @ z, pairs, missing, w)

    def wide(self, z):
        return np.append(z, 1.0) if self.likelihood.background else z

    def each_log_likelihood(self, factor, noise):
        """Return E_q(A) log p(x_n | z, A) for all rows z, shape (rows, 2^features)."""
        out = np.zeros((ROWS, 2**FEATURES))
        for at, z in enumerate(all_rows(FEATURES).astype(float)):
            wide = self.wide(z)
            for d in range(DIMS):
                c = factor.covariance[min(d, len(factor.covariance) - 1)]
                left = (self.data.values[:, d] - wide @ factor.mean[:, d]) ** 2 / noise[d] ** 2
                term = -0.5 * (np.log(2 * np.pi * noise[d] ** 2) + left + wide @ c @ wide)
                out[:, at] += np.where(self.seen[:, d], term, 0.0)
        return out

    @property
    def deviations(self):
        return self.likelihood.deviations(len(self.factor.mean), self.parameters)

    def bound(self, factor=None, parameters=None):
        """Return what of the bound depends on features and scales."""
        factor, parameters = factor or self.factor, parameters or self.parameters
        t = self.likelihood.deviations(len(factor.mean), parameters)
        value = part.expected_log_likelihood(self.sums(), factor, parameters.noise_scale)
        value -= part.feature_divergence(factor, parameters.noise_scale, t)
        return value + self.likelihood.scales_log_prior(parameters)


@every_kind
def test_expected_log_likelihood(kind):
    case = Case(0, **kind)
    noise = case.parameters.noise_scale
    expected = (case.q * case.each_log_likelihood(case.factor, noise)).sum()
    found = part.expected_log_likelihood(case.sums(), case.factor, noise)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("few", [0.0, 2.0])
@every_kind
def test_row_terms(kind, few, monkeypatch):
    """b.z - z'Gz/2 is the expected log likelihood, up to a constant of the row."""
    monkeypatch.setattr(part, "_FEW", few)  # columns are added up, or missing ones subtracted
    case = Case(1, **kind)
    noise = case.parameters.noise_scale
    given = part.column_terms(case.factor, noise, case.data.complete)
    terms = part.row_terms(case.data, given, kind["background"])
    expected = case.each_log_likelihood(case.factor, noise)
    z = all_rows(FEATURES).astype(float)
    assert (terms.place < 0).sum() == case.seen.all(axis=1).sum()
    for n in range(ROWS):
        gram = terms.gram if terms.place[n] < 0 else terms.own[terms.place[n]]
        found = z @ terms.linear[n] - 0.5 * np.einsum("ri,ij,rj->r", z, gram, z)
        np.testing.assert_allclose(found - found[0], expected[n] - expected[n, 0], atol=1e-10)


@pytest.mark.parametrize("few", [0.0, 2.0])
def test_pairs_of_missing_columns(few, monkeypatch):
    monkeypatch.setattr(part, "_FEW", few)
    rng = np.random.default_rng(3)
    observed, own, weights = rng.random((5, 4)) < 0.5, rng.normal(size=(5, 3, 3)), rng.random(5)
    found = part.missing_pairs(observed, own, weights)
    expected = np.einsum("nd,n,nij->dij", ~observed, weights, own)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert part.missing_pairs(observed[:0], own[:0], weights[:0]).shape == (4, 3, 3)


@every_kind
def test_sums_of_blocks_add_up(kind):
    case = Case(2, **kind)
    weights = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0])
    blocks = [slice(0, 4), slice(4, 6)]
    together = part.add_up(case.sums(at, weights) for at in blocks)
    repeated = np.repeat(np.arange(ROWS), weights.astype(int))
    for one, other, third in zip(
        together,
        case.sums(weights=weights),
        part.add_up(case.sums(slice(n, n + 1)) for n in repeated),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
        np.testing.assert_allclose(one, third, atol=1e-12)


def test_divergence_of_features():
    """KL(q | p) by its definition: E log q - E log p of Gaussian draws has this mean."""
    case = Case(3, False, False, 0.4)
    noise, t = case.parameters.noise_scale, np.array([1.7, 0.6, 4.0])

    def p_values(n, seed, wrong=0.0):
        rng, draws = np.random.default_rng(seed), np.zeros(n)
        for d in range(DIMS):
            c = case.factor.covariance[d] * noise[d] ** 2
            x = rng.multivariate_normal(case.factor.mean[:, d], c, n)
            away = x - case.factor.mean[:, d]
            log_q = -0.5 * (np.linalg.slogdet(c)[1] + (away @ np.linalg.inv(c) * away).sum(axis=1))
            spread = t * noise[d]
            draws += log_q + np.log(spread).sum() + 0.5 * ((x / spread) ** 2).sum(axis=1)
        return [mean_p_value(draws, part.feature_divergence(case.factor, noise, t) + wrong)]

    assert holds(p_values, replicates(20_000))
    assert is_caught(partial(p_values, wrong=1.0), 20_000)
    assert part.feature_divergence(part.prior_factor(DIMS, t), noise, t) == pytest.approx(0)


@every_kind
def test_the_best_features_are_the_best(kind):
    case = Case(4, **kind)
    rng = np.random.default_rng(4)
    t = case.deviations
    best = part.update_features(case.sums(), case.factor, t, full=True)
    highest = case.bound(best)
    assert highest > case.bound()
    for _ in range(20):
        twist = 0.01 * rng.normal(size=best.covariance.shape)
        near = best.covariance + twist + twist.transpose(0, 2, 1)
        moved = best.mean + 0.01 * rng.normal(size=best.mean.shape)
        assert case.bound(best._replace(mean=moved)) < highest
        if np.linalg.eigvalsh(near).min() > 0:
            assert case.bound(best._replace(covariance=near)) < highest


def independent_pass(case, factor, twin=False):
    t = case.deviations
    sums = case.sums()
    if twin:  # forgets that features overlap
        sums = sums._replace(pairs=sums.pairs * np.eye(sums.pairs.shape[1]))
    return part.update_features(sums, factor, t, full=False)


@every_kind
def test_independent_features_never_lower_the_bound(kind):
    """Nor does a pass after them, unless it is the broken twin's."""
    for seed in range(20):
        case = Case(seed, **kind)
        diagonal = case.factor.covariance * np.eye(case.factor.covariance.shape[1])
        factor = case.factor._replace(covariance=diagonal)
        for _ in range(20):
            before, factor = case.bound(factor), independent_pass(case, factor)
            assert case.bound(factor) >= before - 1e-10
        highest = case.bound(factor)
        assert case.bound(independent_pass(case, factor)) >= highest - 1e-10
        assert case.bound(independent_pass(case, factor, twin=True)) < highest - 1e-6


def test_independent_features_find_the_best_means():
    case = Case(5, False, True, 0.4)
    factor = case.factor
    for _ in range(3000):
        factor = independent_pass(case, factor)
    t = case.deviations
    best = part.update_features(case.sums(), case.factor, t, full=True)
    np.testing.assert_allclose(factor.mean, best.mean, atol=1e-8)


def scales(case, x):
    """Return parameters with scales exp(x): noise first, then that of features."""
    n = case.likelihood.noise_scale is None
    one = x[:1] if case.likelihood.shared else x[:DIMS]
    noise = np.exp(np.broadcast_to(one, DIMS)) if n else case.parameters.noise_scale
    t = np.exp(x[-1]) if case.likelihood.feature_scale is None else case.parameters.feature_scale
    return case.parameters._replace(noise_scale=np.array(noise), feature_scale=float(t))


@every_kind
def test_scales_climb_to_the_best_points(kind):
    for seed, fixed in enumerate(({}, {"noise_scale": 0.6}, {"feature_scale": 1.3})):
        case = Case(10 + seed, **kind, **fixed)
        case.parameters = case.parameters._replace(**{
            name: np.full(DIMS, v) if name == "noise_scale" else v for name, v in fixed.items()
        })  # fmt: skip
        parameters, before = case.parameters, case.bound()
        for _ in range(300):
            parameters = part.update_scales(case.likelihood, case.sums(), case.factor, parameters)
            now = case.bound(parameters=parameters)
            assert now >= before - 1e-10
            before = now
        for name, value in fixed.items():
            np.testing.assert_array_equal(getattr(parameters, name), value)
        start = np.zeros((1 if kind["shared"] else DIMS) + 1)
        best = minimize(lambda x, c=case: -c.bound(parameters=scales(c, x)), start, tol=1e-9)
        assert before == pytest.approx(-best.fun, abs=1e-6)
        assert before >= -best.fun - 1e-9
        np.testing.assert_array_equal(parameters.features, case.factor.mean[:FEATURES])


def test_few_data_and_shared_noise():
    """More features than data: the quadratic has its other sign."""
    case = Case(20, True, True, 0.9)
    sums = case.sums()
    assert 4 + sums.number.sum() < (FEATURES + 1) * DIMS
    first = part.update_scales(case.likelihood, sums, case.factor, case.parameters)
    assert case.bound(parameters=first) > case.bound()


def test_a_wrong_scale_lowers_the_bound():
    """The broken twin forgets the prior of noise and features; t is fixed, as s is best for it."""
    for seed in range(20):
        case = Case(seed, False, False, 0.0, feature_scale=1.3)
        case.parameters = case.parameters._replace(feature_scale=1.3)
        sums = case.sums()
        best = part.update_scales(case.likelihood, sums, case.factor, case.parameters)
        wrong = np.sqrt(part._residual(sums, case.factor) / sums.number)
        low = case.bound(parameters=best._replace(noise_scale=wrong))
        assert low < case.bound(parameters=best) - 1e-3


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_draws_of_features(missing):
    case = Case(6, False, True, missing)

    def p_values(n, seed, covariance=case.factor.covariance):
        rng = np.random.default_rng(seed)
        found = [
            part.draw_features(rng, case.likelihood, case.factor, case.parameters) for _ in range(n)
        ]
        draws = np.array([np.vstack([p.features, p.background]) for p in found])
        return normal_p_values(np.hstack([
            whitened(draws[:, :, d], case.factor.mean[:, d], s**2 * covariance[d if missing else 0])
            for d, s in enumerate(case.parameters.noise_scale)
        ]))  # fmt: skip

    assert holds(p_values, replicates(3000))
    independent = case.factor.covariance * np.eye(FEATURES + 1)
    assert is_caught(partial(p_values, covariance=independent), 1000)


def test_blocks_are_the_same_on_any_number_of_threads():
    for n_threads in (1, 2):
        found = list(in_order(lambda at: (at.start, at.stop), n_threads, blocks(0, 1200)))
        assert found == [(0, 512), (512, 1024), (1024, 1200)]
