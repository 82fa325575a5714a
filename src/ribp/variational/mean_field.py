"""Mean field for rows and features of linear-Gaussian data: what the hybrids and buffets share.

    q(A, Z) = prod_i q(A_i) prod_ni Bern(z_ni; nu_ni),

rows by `ribp.kernels.sweep_mean_field`, features and scales by `ribp.variational.features`, each
feature independent of the others. Rows go in blocks of a fixed size whose sums are added in order,
so that threads do not change the result.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ribp.blocks import blocks, in_order
from ribp.checks import FloatArray, IntArray
from ribp.kernels import sweep_mean_field as kernel
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Data, Rows
from ribp.rng import kernel_seed
from ribp.variational import features as feature_part
from ribp.variational.features import FeatureFactor, RowSums


class MeanFieldPrior(NamedTuple):
    """The laws of rows, as `ribp.kernels.sweep_mean_field.sweep` wants them."""

    logits: FloatArray
    """logit eta_{i;k} at [k - 1, i], for the counts k between 0 and I that are possible."""
    offsets: FloatArray
    """sum_i log(1 - eta_{i;k}) at [k - 1]."""
    log_f: FloatArray
    """log f(k), or its expectation, shape (laws, features + 1)."""
    span: IntArray
    """The range of possible counts between 0 and I of each law, shape (laws, 2)."""
    end_values: FloatArray
    """The log of the sum over counts at nu = 0 and nu = 1, shape (laws, 2); -inf: impossible."""
    end_gammas: FloatArray
    """The probabilities of counts there, shape (laws, 2, features + 1)."""


def count_prior(log_odds: FloatArray, log_f: FloatArray) -> MeanFieldPrior:
    """Return the surrogate laws of rows with f(J) prod_i Bern(z_i; eta_{i;J})."""
    size = log_f.shape[1]
    between = np.isfinite(log_f[:, 1:-1])
    top = int(np.flatnonzero(between.any(axis=0)).max(initial=-1)) + 1
    order = np.argsort(-log_odds, kind="stable")
    logits = np.empty((top, log_odds.size))
    logits[:, order] = kernel.inclusion_logits(log_odds[order], top)
    scores = np.full((2, size), -np.inf)  # log p(z | k) of the row without ones, and of all ones
    scores[0, 0] = scores[1, -1] = 0.0
    scores[0, 1 : top + 1] = -np.logaddexp(0.0, logits).sum(axis=1)
    scores[1, 1 : top + 1] = -np.logaddexp(0.0, -logits).sum(axis=1)
    lower = (np.cumsum(between, axis=1) == 0).sum(axis=1)
    upper = (np.cumsum(between[:, ::-1], axis=1) == 0).sum(axis=1)
    span = np.stack([1 + lower, size - 1 - upper], axis=1)
    joint = log_f[:, None] + scores
    joint[~np.isfinite(log_f[:, [0, -1]])] = -np.inf
    values = np.logaddexp.reduce(joint, axis=2)
    gammas = np.exp(joint - np.where(np.isfinite(values), values, 0.0)[:, :, None])
    return MeanFieldPrior(logits, scores[0, 1 : top + 1].copy(), log_f, span, values, gammas)


def coins(log_odds: FloatArray, log_none: float) -> MeanFieldPrior:
    """Return the law of rows of independent entries, as a law with one count and no ends.

    log_none is log p(z = 0), or its expectation where weights have a law; it is what
    -log(1 + e^theta) adds up to where they are known.
    """
    log_f = np.array([[-np.inf, 0.0, -np.inf]])
    nowhere = np.full((1, 2), -np.inf)
    span = np.array([[1, 2]])
    return MeanFieldPrior(
        log_odds[None].copy(), np.array([log_none]), log_f, span, nowhere, np.zeros((1, 2, 3))
    )


def sweep_rows(
    likelihood: LinearGaussian,
    data: Data,
    prior: MeanFieldPrior,
    law_of_row: IntArray,
    features: FeatureFactor,
    parameters: GaussianParameters,
    nu: FloatArray,
    gamma: FloatArray,
    n_threads: int = 1,
    first: int = 0,
) -> tuple[FloatArray, FloatArray, float, RowSums]:
    """Return new nu and gamma, what they add to the bound but for the likelihood, and their sums.

    Rows go in blocks whose sums are added in order: threads do not change the result. `first` is
    the number of the first row, for messages.
    """
    nu, gamma, parts = nu.copy(), gamma.copy(), np.empty((len(nu), 2))
    of_columns = feature_part.column_terms(features, parameters.noise_scale, data.complete)

    def work(at: slice) -> RowSums:
        terms = feature_part.row_terms(data.rows(at), of_columns, likelihood.background)
        kernel.sweep(*terms, *prior, law_of_row[at], nu[at], gamma[at], parts[at])
        return _some_sums(likelihood, data, nu, at)

    sums = feature_part.add_up(in_order(work, n_threads, blocks(0, len(nu))))
    feature_part.check_finite(parts.sum(axis=1), first + np.arange(len(nu)))
    return nu, gamma, float(parts[:, kernel.PRIOR].sum()), sums


def _some_sums(likelihood: LinearGaussian, data: Data, nu: FloatArray, at: slice) -> RowSums:
    """Return the sums of a block of rows with independent entries."""
    data, nu = data.rows(at), nu[at]
    features = nu.shape[1]
    pairs = _with_diagonal(nu.T @ nu, nu.sum(axis=0))
    missing = np.zeros((0, features, features))
    if not data.complete:
        gaps = np.flatnonzero(~data.observed.all(axis=1))
        observed, some = data.observed[gaps], nu[gaps]
        own = _with_diagonal(some[:, :, None] * some[:, None, :], some)
        missing = feature_part.missing_pairs(observed, own, np.ones(gaps.size))
    return feature_part.row_sums(likelihood, data, nu, pairs, missing)


def all_sums(likelihood: LinearGaussian, data: Data, nu: FloatArray) -> RowSums:
    """Return the sums of all rows."""
    work = partial(_some_sums, likelihood, data, nu)
    return feature_part.add_up(map(work, blocks(0, len(nu))))


def _with_diagonal(pairs: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Return matrices with another diagonal: E z_i^2 is nu_i."""
    at = np.arange(pairs.shape[-1])
    pairs[..., at, at] = diagonal
    return pairs


def improve_features(
    likelihood: LinearGaussian,
    sums: RowSums,
    features: FeatureFactor,
    parameters: GaussianParameters,
) -> tuple[FeatureFactor, GaussianParameters]:
    """Return a better q(A), features independent, and the scales that are best given it."""
    t = likelihood.deviations(len(sums.products), parameters)
    features = feature_part.update_features(sums, features, t, full=False)
    return features, feature_part.update_scales(likelihood, sums, features, parameters)


def first_features(
    likelihood: LinearGaussian, sums: RowSums, parameters: GaussianParameters
) -> tuple[FeatureFactor, GaussianParameters]:
    """Return q(A) and scales given the sums over rows."""
    t = likelihood.deviations(len(sums.products), parameters)
    factor = feature_part.prior_factor(parameters.noise_scale.size, t)
    factor = feature_part.update_features(sums, factor, t, full=True)
    return improve_features(likelihood, sums, factor, parameters)


def data_bound(
    likelihood: LinearGaussian,
    sums: RowSums,
    features: FeatureFactor,
    parameters: GaussianParameters,
) -> float:
    """Return what data, features and scales add to the bound."""
    noise = parameters.noise_scale
    value = feature_part.expected_log_likelihood(sums, features, noise)
    t = likelihood.deviations(len(features.mean), parameters)
    value -= feature_part.feature_divergence(features, noise, t)
    return value + likelihood.scales_log_prior(parameters)


def draw_rows(rng: np.random.Generator, seed: np.uint64, nu: FloatArray) -> Rows:
    """Draw every entry on its own."""
    rows = np.empty(nu.shape, np.int8)
    kernel.draw_rows(seed ^ kernel_seed(rng), 0, 0, nu, rows)
    return rows
