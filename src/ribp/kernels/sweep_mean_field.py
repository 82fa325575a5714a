"""Mean field for rows: independent entries nu_i = q(z_i = 1), and the count J of a row on its own.

The paper's hybrid replaces the law of a row by f(J) prod_i Bern(z_i; eta_{i;J}), with eta_{i;k} the
inclusion probabilities of feature i among k. With q(z, J) = prod_i Bern(nu_i) gamma_J, and what the
features say of the row, E log p(x | z) = b.z - z'Gz/2 + const, the row adds to the bound

    linear . nu - sum_{i<j} G_ij nu_i nu_j + sum_k gamma_k [log f(k) + offset_k + nu . logit_k]
        + entropy of nu and gamma,     linear_i = b_i - G_ii/2,    offset_k = sum_i log(1 - eta_ik).

It is raised by one factor at a time: gamma_k prop. f(k) exp(offset_k + nu . logit_k), and

    logit nu_i = sum_k gamma_k logit_ki + field_i,     field_i = linear_i - sum_{j != i} G_ij nu_j.

One pass: gamma, every nu_i, gamma again, at a cost of O(I^2 + I K) a row.

The counts 0 and I are traps: eta is 0 or 1 there, so gamma_0 stays 0 while any nu_i is positive,
and with gamma_0 > 0 every nu_i stays 0. Their part of the bound is therefore compared with that of
the other counts after every pass, and the better one kept. At nu = 0 the best gamma is on 0 and the
counts between; likewise at nu = 1.

logit eta_{i;k} = theta_i + log e_{k-1} - log e_k, both over the features without i: neither eta nor
1 - eta is ever made by subtraction. Rows of the unrestricted buffet are coins, a law with a single
"count" between 0 and I whose logit is the log-odds of the weights.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.elementary_symmetric import log_scaled_esp
from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

LIKELIHOOD, PRIOR = range(2)  # columns of `parts`
_STILL = 1e-17  # entries that would change by no more are left alone


@jit
def inclusion_logits(theta, k_max):
    """Return logit eta_{i;k} at [k - 1, i] for k = 1 .. k_max < I; theta falling. O(I^2 k_max)."""
    features = theta.shape[0]
    out = np.empty((k_max, features))
    others = np.empty(features - 1)
    for i in range(features):
        others[:i] = theta[:i]
        others[i:] = theta[i + 1 :]
        log_e = log_scaled_esp(others, k_max)
        for k in range(1, k_max + 1):
            out[k - 1, i] = (theta[i] - others[k - 1]) - (log_e[k] - log_e[k - 1])
    return out


@jit
def fill_counts(nu, logits, offsets, log_f, low, high, gamma):
    """Fill gamma_k for low <= k < high, 0 < low < high; return the logarithm of its normaliser."""
    largest = -math.inf
    for k in range(low, high):
        logit, total = logits[k - 1], offsets[k - 1] + log_f[k]
        for i in range(nu.shape[0]):
            total += nu[i] * logit[i]
        gamma[k] = total
        largest = max(largest, total)
    total = 0.0
    for k in range(low, high):
        gamma[k] = math.exp(gamma[k] - largest)
        total += gamma[k]
    for k in range(low, high):
        gamma[k] /= total
    return largest + math.log(total)


@jit
def fill_pull(gamma, logits, low, high, pull):
    """Fill what the counts say of every entry: ``pull = gamma @ logits``."""
    pull[:] = 0.0
    for k in range(low, high):
        if gamma[k] > 0.0:
            logit = logits[k - 1]
            for i in range(pull.shape[0]):
                pull[i] += gamma[k] * logit[i]


@jit
def fill_field(nu, linear, gram, field):
    """Fill field = linear - G nu, without the diagonal of G."""
    field[:] = linear
    for j in range(nu.shape[0]):
        if nu[j] > 0.0:
            row = gram[j]
            for i in range(nu.shape[0]):
                field[i] -= nu[j] * row[i]
            field[j] += nu[j] * row[j]


@jit
def improve_entry(i, pull, gram, nu, field):
    """Set nu_i to the best value given all else; return its entropy."""
    x = pull[i] + field[i]
    size = min(abs(x), 1e3)
    small = math.exp(-size)
    likely = 1.0 / (1.0 + small)
    new = likely if x >= 0.0 else small * likely
    change = new - nu[i]
    if not abs(change) <= _STILL:  # also if it is not a number
        row, keep = gram[i], field[i]
        for j in range(nu.shape[0]):
            field[j] -= change * row[j]
        field[i] = keep
        nu[i] = new
    return math.log1p(small) + size * small * likely


@jit
def _climb(passes, linear, gram, logits, offsets, log_f, low, high, nu, gamma, field, pull, parts):
    """Make passes over one row, its counts between low and high; fill its parts of the bound."""
    features, entropy = nu.shape[0], 0.0
    fill_field(nu, linear, gram, field)
    for _ in range(passes):
        fill_counts(nu, logits, offsets, log_f, low, high, gamma)
        fill_pull(gamma, logits, low, high, pull)
        entropy = 0.0
        for i in range(features):
            entropy += improve_entry(i, pull, gram, nu, field)
    parts[PRIOR] = fill_counts(nu, logits, offsets, log_f, low, high, gamma) + entropy
    parts[LIKELIHOOD] = 0.0
    for i in range(features):
        parts[LIKELIHOOD] += 0.5 * nu[i] * (linear[i] + field[i])


@jit
def _all_on(linear, gram):
    """Return the likelihood part of a row that has every feature."""
    total = 0.0
    for i in range(linear.shape[0]):
        total += linear[i]
        for j in range(i):
            total -= gram[i, j]
    return total


@jit
def sweep(
    products, common, own, place, logits, offsets, log_f, span, end_values, end_gammas,
    law_of_row, nu, gamma, parts,
):  # fmt: skip
    """Make one pass over a block of rows; `nu` and `gamma` change in place, `parts` is filled.

    Row n has b in products[n], and G in own[place[n]], or in `common` where place[n] < 0. Its law
    is number law_of_row[n]: log_f[., k] for k = 0 .. I, span[., 0] <= k < span[., 1] the counts
    between 0 and I that are possible, logits[k - 1] and offsets[k - 1] those of count k.
    end_values[., 0] is the log of the sum over counts at nu = 0, -inf if count 0 is impossible,
    end_gammas[., 0] the probabilities of counts there; [., 1] the same at nu = 1. `parts` (rows, 2)
    receives what the likelihood and all else add to the bound.

    A row that is in a trap makes two passes, since it begins to climb from the bottom.
    """
    features, last = nu.shape[1], gamma.shape[1] - 1
    linear, field, pull = np.empty(features), np.empty(features), np.empty(features)
    for n in range(nu.shape[0]):
        law = law_of_row[n]
        gram = common if place[n] < 0 else own[place[n]]
        for i in range(features):
            linear[i] = products[n, i] - 0.5 * gram[i, i]
        passes = 2 if gamma[n, 0] > 0.0 or gamma[n, last] > 0.0 else 1
        gamma[n] = 0.0
        parts[n] = -math.inf
        if span[law, 0] < span[law, 1]:
            _climb(
                passes, linear, gram, logits, offsets, log_f[law], span[law, 0], span[law, 1],
                nu[n], gamma[n], field, pull, parts[n],
            )  # fmt: skip
        for end in range(2):
            if end_values[law, end] > -math.inf:
                gain = _all_on(linear, gram) if end == 1 else 0.0
                if gain + end_values[law, end] > parts[n, LIKELIHOOD] + parts[n, PRIOR]:
                    parts[n, LIKELIHOOD], parts[n, PRIOR] = gain, end_values[law, end]
                    nu[n] = float(end)
                    gamma[n] = end_gammas[law, end]


@jit
def draw_rows(seed, number, first, nu, out):
    """Draw z_ni ~ Bern(nu_ni) for rows number first, first + 1, ...: ``out = uniforms < nu``."""
    for n in range(nu.shape[0]):
        for i in range(0, nu.shape[1], 2):
            u, v = uniform_pair(seed, number, first + n, i // 2)
            out[n, i] = u < nu[n, i]
            if i + 1 < nu.shape[1]:
                out[n, i + 1] = v < nu[n, i + 1]
