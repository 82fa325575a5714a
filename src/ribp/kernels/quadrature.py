"""One count by quadrature: inclusion and pair probabilities in O(I) time, whatever the count.

Tilt the odds so that the expected number of ones is k: p_i = sigmoid(theta_i + beta) with
sum_i p_i = k. The law of a row given |z| = k is unchanged, and |z| = k is now close to the mode, so
the discrete Fourier inversion with M nodes t_l = 2 pi l / M,

    F = P(|z| = k) = (1/M) sum_l Phi(t_l) exp(-i k t_l),     Phi(t) = prod_i (q_i + p_i exp(i t)),

has no cancellation: its error is a few eps relative to the largest term, and F >= about 0.4/sd.
Leaving one or two features out divides the integrand by their factors:

    eta_i  = p_i     / (M F) sum_l Phi(t_l) exp(-i(k-1)t_l) / (q_i + p_i exp(i t_l)),
    E z_i z_j = p_i p_j / (M F) sum_l Phi(t_l) exp(-i(k-2)t_l) / [the factor of i times that of j],

which holds for equal weights as for any others. With v = sum_i p_i q_i two facts keep the number
of nodes below 30 for every I and k:

- aliasing: counts at a distance of M or more from k have probability below 2 exp(-34) (Bernstein's
  inequality) once M >= 11.4 + sqrt(129 + 68 v); with M > I there is none at all;
- decay: |Phi(t)| without two factors <= exp(-2 (v - 1/2) sin^2(t/2)), so nodes where the exponent
  is below -34 are left out.

M is odd, so t = pi, where a factor with p = 1/2 vanishes, is never a node.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ribp.kernels.jit import jit

_Vector = NDArray[np.float64]

FAR = 300.0  # a feature this far from the k-th in log-odds is on or off up to exp(-250)
ROUGHLY = 1e-2  # the law does not depend on the tilt: 0.3 standard deviations is close enough


def solve_tilt(theta: _Vector, k: int, tolerance: float) -> tuple[float, _Vector, _Vector]:
    """Return (beta, p, q) with p = sigmoid(theta + beta), q = 1 - p and sum(p) = k; 0 < k < I.

    The sum is met within `tolerance` times the least of the expected numbers of ones and of zeros
    and thirty standard deviations of the count.
    """
    centre = centre_of(theta, k)
    p, q = np.empty_like(theta), np.empty_like(theta)
    return solve_tilt_into(theta, k, tolerance, centre, p, q) - centre, p, q


def inclusion_at(theta: _Vector, k: int) -> _Vector:
    """Return eta_{i;k} for one count 0 < k < I; finite theta in any order.

    Equals ``weighted_inclusion(theta, unit mass at k, ...)`` of `kernels.elementary_symmetric`.
    """
    out = np.zeros_like(theta)
    _inclusion_at(theta, k, centre_of(theta, k), out)
    return out


@jit
def centre_of(theta, k):
    """Return a value that the k-th largest log-odds is near, or exactly that one if it must be."""
    low, high = _extent(theta)
    if high - low <= 2 * FAR:
        return 0.5 * (low + high)
    return np.sort(theta)[theta.size - k]  # compiles in a fifth of the time of np.partition


@jit
def _extent(theta):
    """Return the least and the largest value: ``theta.min(), theta.max()``."""
    low = high = theta[0]
    for i in range(theta.shape[0]):
        low = min(low, theta[i])
        high = max(high, theta[i])
    return low, high


@jit
def _sums(p, q):
    """Return ``p.sum(), (p * q).sum()``, added up in four strands so that they can overlap."""
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    n = p.shape[0]
    for i in range(0, n - 3, 4):
        a0 += p[i]
        a1 += p[i + 1]
        a2 += p[i + 2]
        a3 += p[i + 3]
        b0 += p[i] * q[i]
        b1 += p[i + 1] * q[i + 1]
        b2 += p[i + 2] * q[i + 2]
        b3 += p[i + 3] * q[i + 3]
    for i in range(n - n % 4, n):
        a0 += p[i]
        b0 += p[i] * q[i]
    return (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)


@jit
def solve_tilt_into(theta, k, tolerance, centre, p, q):
    """Fill p and q; return beta + centre.

    Newton steps on logit(sum(p)/I), which is linear in beta for equal log-odds, inside a bracket.
    Log-odds are first clipped to within 300 of `centre`: beyond that a feature is on or off with
    probability below exp(-250), so any finite theta can be handled.
    """
    n = theta.shape[0]
    odds = np.empty(n)
    for i in range(n):
        odds[i] = math.exp(min(max(theta[i] - centre, -FAR), FAR))
    low, high = -(FAR + 50.0), FAR + 50.0  # wide enough for any n, and nothing overflows
    goal = math.log(k / (n - k))
    beta = goal
    for _ in range(100):
        scale = math.exp(beta)
        for i in range(n):
            tilted = odds[i] * scale
            q[i] = 1.0 / (1.0 + tilted)
            p[i] = tilted * q[i]
        on, spread = _sums(p, q)
        off = max(n - on, 1e-300)
        if abs(on - k) <= tolerance * min(on, off, 30.0 * math.sqrt(spread)):
            break
        if on > k:
            high = beta
        else:
            low = beta
        beta -= (math.log(on / off) - goal) * on * off / (n * spread)
        if not low < beta < high:
            beta = 0.5 * (low + high)
    return beta


@jit
def fourier_nodes(p, q, slack):
    """Return rows (cos t_l, sin t_l, Re Phi(t_l), Im Phi(t_l), weight) for l = 0 .. L, and M.

    The weights are 1/M at t = 0 and 2/M elsewhere, the mirrored half included. `slack` is how
    far from the mean the counts of interest may lie.
    """
    n = p.shape[0]
    _, variance = _sums(p, q)
    m = min(int(12.4 + math.sqrt(129.0 + 68.0 * variance) + slack), n + 1) | 1
    last = m // 2
    if variance > 17.5:
        reach = 2.0 * math.asin(math.sqrt(17.0 / (variance - 0.5)))
        last = min(last, int(reach * m / (2.0 * math.pi)) + 1)
    size = (last + 8) // 8 * 8  # whole vectors of the processor: the rest has weight zero
    nodes = np.zeros((5, size))
    for node in range(last + 1):
        nodes[0, node] = math.cos(2.0 * math.pi * node / m)
        nodes[1, node] = math.sin(2.0 * math.pi * node / m)
        nodes[2, node] = 1.0
        nodes[4, node] = (1.0 if node == 0 else 2.0) / m
    cos, sin, real, imag = nodes[0], nodes[1], nodes[2], nodes[3]
    for i in range(n):
        pi, qi = p[i], q[i]
        for node in range(size):
            a, b = qi + pi * cos[node], pi * sin[node]
            old = real[node]
            real[node] = old * a - imag[node] * b
            imag[node] = old * b + imag[node] * a
    return nodes, m


@jit
def _inclusion_at(theta, k, centre, out):
    n = theta.shape[0]
    p, q = np.empty(n), np.empty(n)
    solve_tilt_into(theta, k, ROUGHLY, centre, p, q)
    nodes, m = fourier_nodes(p, q, 0.0)
    total = 0.0
    for node in range(nodes.shape[1]):
        cos, sin, weight = nodes[0, node], nodes[1, node], nodes[4, node]
        if weight == 0.0:
            break
        real, imag = nodes[2, node], nodes[3, node]
        turn = 2.0 * math.pi * (node * k % m) / m
        a = weight * (real * math.cos(turn) + imag * math.sin(turn))
        b = weight * (imag * math.cos(turn) - real * math.sin(turn))
        total += a
        a, b = a * cos - b * sin, a * sin + b * cos  # exp(-i(k-1)t) = exp(-ikt) exp(it)
        for i in range(n):
            x, y = q[i] + p[i] * cos, p[i] * sin
            out[i] += (a * x + b * y) / (x * x + y * y)
    for i in range(n):
        out[i] = min(max(p[i] * out[i] / total, 0.0), 1.0)


def weighted_pairs(theta: _Vector, weights: _Vector) -> _Vector:
    """Return sum_k weights[k] E[z_i z_j | k] off the diagonal; its diagonal has no meaning.

    Counts are taken in groups that one tilt serves: from the least count k not yet done, all those
    with P(|z| = k') >= P(|z| = k) / 10. Finite theta in any order; O(I^2) for each group.
    """
    n = theta.shape[0]
    out = np.zeros((n, n))
    todo = [int(k) for k in np.flatnonzero(weights) if k >= 2]
    while todo:
        k = todo[0]
        if k == n:
            return out + weights[n]
        _, p, q = solve_tilt(theta, k, ROUGHLY)
        slack = 4.0 * math.sqrt((p * q).sum())
        (cos, sin, real, imag, weight), m = fourier_nodes(p, q, slack)
        phi = weight * (real + 1j * imag)
        step = 2j * np.pi / m * np.arange(cos.size)
        counts = np.array([c for c in todo if c < n and c <= k + slack])
        probs = (phi * np.exp(-np.multiply.outer(counts, step))).sum(axis=1).real
        near = np.logical_and.accumulate(probs >= 0.1 * probs[0])
        near[0] = True
        counts = counts[near]
        share = weights[counts] / probs[: counts.size]
        turned = share @ np.exp(-np.multiply.outer(counts - 2, step))
        factor = p[:, None] / (q[:, None] + p[:, None] * (cos + 1j * sin))
        scaled = factor * (phi * turned)
        out += scaled.real @ factor.real.T - scaled.imag @ factor.imag.T
        todo = todo[counts.size :]
    return out
