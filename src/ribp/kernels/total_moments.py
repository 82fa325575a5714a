"""Moments of the totals sum_i z_i x_i of rows with k ones, without a matrix of pairs.

In the notation of `ribp.kernels.quadrature`, p the tilted probabilities and Phi(t) the
characteristic function of their count, let phi_l = weight_l Phi(t_l) exp(-i k t_l), so that
F = Re sum_l phi_l, and

    r_i(t) = p_i exp(it) / (q_i + p_i exp(it)).

Then F eta_i = Re sum_l phi_l r_i(t_l), and F E[z_i z_j] = Re sum_l phi_l r_i r_j for i != j. Pairs
enter a quadratic form only as the square of A(t) = sum_i r_i(t) x_i, one vector a node:

    F E[(sum_i z_i x_i)(...)'] = Re sum_l phi_l A A' + sum_i x_i x_i' Re sum_l phi_l (r_i - r_i^2),

O(I (L p + p^2)) for L < 30 nodes and p columns. The columns are first centred at their mean with
weights p, so that the mean of the total is small beside its spread when it is taken off.

The nodes also give log e_k = log F - sum_i log q_i - k beta.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.quadrature import FAR, ROUGHLY, centre_of, fourier_nodes, solve_tilt_into


@jit
def total_moments(theta, counts, x, log_e, mean, cov):
    """Fill log e_k, mean and covariance of the totals for each row; theta may be infinite.

    Equals ``x.T @ eta`` and ``x.T @ (pairs - np.outer(eta, eta)) @ x`` with the inclusion and pair
    probabilities of a row, eta on the diagonal of `pairs`.
    """
    for row in range(theta.shape[0]):
        finite = np.isfinite(theta[row])
        on = theta[row] == np.inf
        k = counts[row] - np.count_nonzero(on)
        log_e[row] = _of_finite(theta[row][finite], k, x[row][finite], mean[row], cov[row])
        for i in np.flatnonzero(on):
            mean[row] += x[row, i]


@jit
def _of_finite(theta, k, x, mean, cov):
    mean[:] = 0.0
    cov[:] = 0.0
    if k == 0:
        return 0.0
    n = theta.shape[0]
    if k == n:
        for i in range(n):
            mean += x[i]
        return theta.sum()
    p, q = np.empty(n), np.empty(n)
    centre = centre_of(theta, k)
    beta = solve_tilt_into(theta, k, ROUGHLY, centre, p, q)
    middle = np.zeros(x.shape[1])
    for i in range(n):
        middle += p[i] * x[i]
    middle /= p.sum()
    apart = x - middle
    total = _add_pairs(p, q, k, apart, mean, cov)
    log_e = math.log(total) + k * (centre - beta)
    for i in range(n):
        log_e += max(theta[i] - centre - FAR, 0.0) - math.log(q[i])
    mean += k * middle
    return log_e


@jit
def _add_pairs(p, q, k, x, mean, cov):
    """Fill mean and covariance of the totals of centred x; return F."""
    n, columns = x.shape
    nodes, m = fourier_nodes(p, q, 0.0)
    single, twice = np.zeros(n), np.zeros(n)
    real, imag = np.empty(columns), np.empty(columns)
    total = 0.0
    for node in range(nodes.shape[1]):
        cos, sin, weight = nodes[0, node], nodes[1, node], nodes[4, node]
        if weight == 0.0:
            break
        turn = 2.0 * math.pi * (node * k % m) / m
        a = weight * (nodes[2, node] * math.cos(turn) + nodes[3, node] * math.sin(turn))
        b = weight * (nodes[3, node] * math.cos(turn) - nodes[2, node] * math.sin(turn))
        total += a
        real[:] = 0.0
        imag[:] = 0.0
        for i in range(n):
            c, s = q[i] + p[i] * cos, p[i] * sin
            size = p[i] / (c * c + s * s)
            u, v = size * (cos * c + sin * s), size * (sin * c - cos * s)
            single[i] += a * u - b * v
            twice[i] += a * (u * u - v * v) - 2.0 * b * u * v
            for j in range(columns):
                real[j] += u * x[i, j]
                imag[j] += v * x[i, j]
        for j in range(columns):
            for h in range(columns):
                cov[j, h] += a * (real[j] * real[h] - imag[j] * imag[h])
                cov[j, h] -= b * (real[j] * imag[h] + imag[j] * real[h])
    for i in range(n):
        for j in range(columns):
            mean[j] += single[i] / total * x[i, j]
            for h in range(columns):
                cov[j, h] += (single[i] - twice[i]) * x[i, j] * x[i, h]
    for j in range(columns):
        for h in range(columns):
            cov[j, h] = cov[j, h] / total - mean[j] * mean[h]
    return total
