"""Posteriors so small that every Z is written down: evidence, and the divergence of q from it.

Nothing here shares a formula with the code under test: columns are multivariate Gaussian with
covariance s^2 (1 + t^2 Z Z'), learned laws are Dirichlet-multinomial.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import digamma, gammaln, logsumexp

import ribp
from ribp.counts import Learned
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import with_missing
from ribp.model import Model, State
from ribp.testing.exact import all_rows

LAWS = {
    "gap": ribp.counts.table([0.0, 0.6, 0.0, 0.4]),
    "point": ribp.counts.exactly(2),
    "wide": ribp.counts.table([0.2, 0.3, 0.4, 0.1]),
    "learned": ribp.counts.learned([0.5, 1.0, 2.0]),
}


class Small(NamedTuple):
    """A model, data, and a state drawn from the prior."""

    model: Model
    data: object
    state: State


def small(seed, laws=("gap", "point", "learned"), missing=0.3, features=3, dims=2, **likelihood):
    """Return a small case; one row a law."""
    rng = np.random.default_rng(seed)
    kind = LinearGaussian(noise_variance=0.8, feature_variance=1.4, **likelihood)
    model = Model(ribp.counts.by_row([LAWS[law] for law in laws]), features, kind)
    state, values = model.simulate(rng, dims)
    state = state._replace(log_odds=rng.normal(0, 1, features))
    hidden = rng.random(values.shape) < missing
    hidden[0, 0] = hidden[1, 0] = False
    values[hidden] = np.nan
    return Small(model, with_missing(values), state)


def all_matrices(n_rows, features):
    """Return all Z, shape (2^(rows features), rows, features)."""
    rows = all_rows(features)
    return np.array([rows[list(at)] for at in product(range(len(rows)), repeat=n_rows)])


def prior_scales(model, parameters):
    """Return the prior deviations of features in units of the noise; ten times for a background."""
    shared, background = model.likelihood.shared, model.likelihood.background
    size = parameters.feature_scale / (parameters.noise_scale[0] if shared else 1.0)
    return size * np.array([1.0] * model.n_features + [10.0] * background)


def seen_rows(data, d):
    everywhere = np.ones(len(data.values), bool)
    return np.flatnonzero(everywhere if data.complete else data.observed[:, d])


def with_background(model, z):
    return np.hstack([z, np.ones((len(z), 1))]) if model.likelihood.background else z


def log_evidence_of(model, data, parameters, z):
    """Return log p(X | Z, scales), the features integrated out."""
    t, z = prior_scales(model, parameters), with_background(model, z.astype(float))
    total = 0.0
    for d, s in enumerate(parameters.noise_scale):
        at = seen_rows(data, d)
        if at.size:
            covariance = s**2 * (np.eye(at.size) + (t * z[at]) @ (t * z[at]).T)
            law = stats.multivariate_normal(np.zeros(at.size), covariance)
            total += law.logpdf(data.values[at, d])
    return float(total)


def log_prior_of_rows(model, log_odds, z):
    """Return log p(Z | theta), learned laws integrated out."""
    ones = z.sum(axis=1)
    value = float((z @ log_odds).sum() - ribp.log_esp(log_odds)[ones].sum())
    for at, law in enumerate(model.counts.laws):
        here = ones[model.counts.law_of_row == at]
        if isinstance(law, Learned):
            base = padded_base(law, model.n_features + 1)
            seen = np.bincount(here, minlength=base.size)
            if seen[base == 0].any():
                return -np.inf
            on = base > 0
            value += gammaln(base.sum()) - gammaln(base.sum() + seen.sum())
            value += (gammaln(base[on] + seen[on]) - gammaln(base[on])).sum()
        else:
            value += law.restricted_log_probs(0, model.n_features)[here].sum()
    return float(value)


def padded_base(law, size):
    base = np.zeros(size)
    base[: len(law.base)] = law.base[:size]
    return base


class Posterior(NamedTuple):
    """All Z, log p(Z | X, theta, scales) and the log evidence of theta and scales."""

    matrices: np.ndarray
    log_probs: np.ndarray
    log_evidence: float


def posterior(model, data, parameters, log_odds):
    """Enumerate."""
    matrices = all_matrices(len(data.values), model.n_features)
    log_joint = np.array([log_prior_of_rows(model, log_odds, z) for z in matrices])
    possible = np.flatnonzero(log_joint > -np.inf)
    for at in possible:
        log_joint[at] += log_evidence_of(model, data, parameters, matrices[at])
    total = float(logsumexp(log_joint))
    return Posterior(matrices, log_joint - total, total)


def rows_log_q(row_log_odds, count_terms):
    """Return log q(z_n) of all rows, shape (rows, 2^features)."""
    rows = all_rows(row_log_odds.shape[1])
    ones = rows.sum(axis=1)
    terms = np.full((len(row_log_odds), rows.shape[1] + 1), -np.inf)
    terms[:, : count_terms.shape[1]] = count_terms
    log_q = row_log_odds @ rows.T + terms[:, ones]
    return log_q - logsumexp(log_q, axis=1, keepdims=True)


def matrix_log_q(log_q):
    """Return log q(Z) of `all_matrices`, rows independent."""
    n_rows, n = log_q.shape
    return np.array(
        [log_q[range(n_rows), list(at)].sum() for at in product(range(n), repeat=n_rows)]
    )


def divergence(model, data, parameters, exact, log_q, factor, law_counts):
    """Return KL(q(Z) q(A) q(f) | p(Z, A, f | X, theta, scales)), Z by Z."""
    total = 0.0
    for z, log_p, here in zip(exact.matrices, exact.log_probs, log_q, strict=True):
        if np.exp(here) > 0:
            part = here - log_p + feature_divergence(model, data, parameters, z, factor)
            total += np.exp(here) * (part + law_divergence(model, z, law_counts))
    return float(total)


def feature_divergence(model, data, parameters, z, factor):
    """Return KL(q(A) | p(A | Z, X, scales))."""
    t, z = prior_scales(model, parameters), with_background(model, z.astype(float))
    total = 0.0
    for d, s in enumerate(parameters.noise_scale):
        at = seen_rows(data, d)
        precision = z[at].T @ z[at] + np.diag(t**-2)
        mean = np.linalg.solve(precision, z[at].T @ data.values[at, d])
        mine = factor.covariance[0 if len(factor.covariance) == 1 else d]
        away = (factor.mean[:, d] - mean) / s
        log_det = np.linalg.slogdet(precision @ mine)[1]
        total += 0.5 * (np.trace(precision @ mine) + away @ precision @ away - len(mean) - log_det)
    return float(total)


def law_divergence(model, z, law_counts):
    """Return the sum over learned laws of KL(q(f) | p(f | Z))."""
    total, ones = 0.0, z.sum(axis=1)
    for at, law in enumerate(model.counts.laws):
        if isinstance(law, Learned):
            base = padded_base(law, model.n_features + 1)
            on = base > 0
            seen = np.bincount(ones[model.counts.law_of_row == at], minlength=base.size)
            a, b = (base + law_counts[at])[on], (base + seen)[on]
            total += gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()) + gammaln(b).sum()
            total += ((a - b) * (digamma(a) - digamma(a.sum()))).sum()
    return float(total)


def log_prior_of_points(model, parameters, log_odds, mass, concentration):
    """Return the log prior of scales, weights, mass and concentration, from their definitions."""
    likelihood, value = model.likelihood, 0.0
    scales = (
        []
        if likelihood.noise_scale is not None
        else [
            (s, likelihood.noise_variance)
            for s in parameters.noise_scale[: 1 if likelihood.shared else None]
        ]
    )
    if likelihood.feature_scale is None:
        scales.append((parameters.feature_scale, likelihood.feature_variance))
    for scale, variance in scales:  # of log(scale): |d scale^2 / d log scale| = 2 scale^2
        law = stats.invgamma(2.0, scale=variance / 2)
        value += law.logpdf(scale**2) + np.log(2 * scale**2)
    value += model.weight_prior(mass, concentration).log_density(log_odds)
    if model.mass is None:
        value += stats.expon.logpdf(mass) + np.log(mass)
    if model.concentration is None:
        value += stats.gamma(2.0, scale=0.5).logpdf(concentration) + np.log(concentration)
    return float(value)
