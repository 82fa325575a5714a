"""Log-weights of entries that count, given the rows, with mass and concentration: in one call.

With I features the prior is that of `ribp.simulate` in its weak limit,

    Poisson:              lambda_i ~ Gamma(c alpha/I, rate c),     GammaProcess(c alpha, scale 1/c);
    negative binomial:    pi_i ~ Beta(c alpha/I, c - c alpha/I),   BetaProcess(alpha, c);

alpha and c learned or not, as for binary entries (`weight_density`); r is given.

**Poisson entries, sums restricted.** Rows see p = lambda/Lambda only, a Dirichlet(c alpha/I) law,
and Lambda ~ Gamma(c alpha, rate c) is independent of p and of all rows: what rows tell of alpha and
c is their product. So alpha and c move with p integrated out (slice steps on their logarithms),

    P(Z | alpha, c) = Gamma(s)/Gamma(s + U) prod_i Gamma(s/I + u_i)/Gamma(s/I),    s = c alpha,

and then p ~ Dirichlet(s/I + u) and Lambda ~ Gamma(s, rate c) are drawn exactly.

**All others.** Every theta_i by a slice step on its own density given the others
(`entry_density.site_log_density`): exact, at any distance to the left, O(I J) a feature. Then all
of them together, along a line that rows do not see or hardly: theta + t, or for negative binomial
sums log pi + t < 0, which the law of rows does not depend on at all,

    theta_i(t) = logit(pi_i e^t),       d theta_i(t)/d theta_i = (1 - pi_i)/(1 - pi_i e^t).

Then mass and concentration given theta, by the steps for binary entries that rows do not see.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.entry_density import (
    NONZEROS,
    SUM,
    entry_log_density,
    of_others,
    site_log_density,
)
from ribp.kernels.jit import jit
from ribp.kernels.variates import log_gamma_variate, next_pair, next_uniform
from ribp.kernels.weight_density import (
    GAMMA_ODDS,
    WEAK_LIMIT,
    held,
    last_count,
    log_concentration_density,
    log_mass_density,
    softplus,
)
from ribp.kernels.weight_slices import CONCENTRATION, MASS, RATIO, moved_hyper, slice_step

SITE, SHIFT, COLLAPSED = range(3)


@jit
def prior_kind(growth):
    """Return the number of the weight prior: gamma odds for Poisson entries, or weak limit."""
    return GAMMA_ODDS if growth == 0.0 else WEAK_LIMIT


@jit
def shifted(theta, by, growth, restrict):
    """Return one log-weight after a shift: theta + t, or the log-odds of pi e^t (+inf: none).

    1 - pi e^t = (1 - pi) e^t + 1 - e^t, which loses no digits where pi is near one.
    """
    if restrict == NONZEROS or by == 0.0:
        return theta + by
    left = math.exp(by - softplus(theta)) - math.expm1(by)
    return by - softplus(-theta) - math.log(left) if left > 0.0 else math.inf


@jit
def shift_log_density(by, theta, units, histogram, growth, restrict, mass, concentration):
    """Return the log density of a shift t of all log-weights, up to a constant."""
    moved = np.empty(theta.shape[0])
    a = concentration * mass / theta.shape[0]
    value = 0.0
    for i in range(theta.shape[0]):
        moved[i] = shifted(theta[i], by, growth, restrict)
        if not math.isfinite(moved[i]):
            return -math.inf
        value += a * moved[i] - concentration * held(prior_kind(growth), moved[i])
        if restrict == SUM:
            value += softplus(moved[i])
    if restrict == NONZEROS:
        value += entry_log_density(moved, units, histogram, growth, restrict)
    return value if value == value else -math.inf


@jit
def collapsed_log_density(units, mass, concentration):
    """Return log P(Z, log alpha, log c) of multinomial rows, p integrated out."""
    size = units.shape[0]
    if mass >= size:
        return -math.inf
    whole = concentration * mass
    a = whole / size
    value = log_mass_density(mass) + log_concentration_density(concentration)
    value += math.lgamma(whole) - math.lgamma(whole + units.sum())
    for i in range(size):
        if units[i] > 0.0:
            value += math.lgamma(a + units[i]) - math.lgamma(a)
    return value


@jit
def log_density_along(
    what, by, at, theta, units, histogram, growth, restrict, mass, concentration, others
):
    """Return the log density of a step t: of theta_at, of a shift, or of mass or concentration."""
    if what == SITE:
        x = theta[at] + by
        a = concentration * mass / theta.shape[0]
        value = a * x - concentration * held(prior_kind(growth), x)
        value += site_log_density(x, units[at], histogram, growth, restrict, others)
        return value if value == value else -math.inf
    if what == SHIFT:
        return shift_log_density(by, theta, units, histogram, growth, restrict, mass, concentration)
    moved = moved_hyper(at, by, mass, concentration)
    return collapsed_log_density(units, moved[0], moved[1])


@jit
def slice_by(
    seed, place, width, what, at, theta, units, histogram, growth, restrict, mass, concentration,
    others,
):  # fmt: skip
    """Return a step t by slice sampling from t = 0: step out, then shrink."""
    given = (at, theta, units, histogram, growth, restrict, mass, concentration, others)
    u, v = next_pair(seed, place)
    level = log_density_along(what, 0.0, *given) + math.log(u)
    left = -width * v
    right = left + width
    while log_density_along(what, left, *given) > level:
        left -= width
    while log_density_along(what, right, *given) > level:
        right += width
    while True:
        by = left + (right - left) * next_uniform(seed, place)
        if log_density_along(what, by, *given) > level or by == 0.0:
            return by
        if by < 0.0:
            left = by
        else:
            right = by


@jit
def _draw_dirichlet(seed, place, theta, units, mass, concentration):
    """Draw log lambda of multinomial rows, in place."""
    a = concentration * mass / theta.shape[0]
    for i in range(theta.shape[0]):
        theta[i] = log_gamma_variate(seed, place, a + units[i])
    top = theta.max()
    total = 0.0
    for i in range(theta.shape[0]):
        total += math.exp(theta[i] - top)
    log_rate = log_gamma_variate(seed, place, concentration * mass) - math.log(concentration)
    shift = log_rate - top - math.log(total)
    for i in range(theta.shape[0]):
        theta[i] += shift


@jit
def update_entry_weights(
    seed, theta, units, histogram, growth, restrict, mass, concentration,
    learns_mass, learns_concentration,
):  # fmt: skip
    """Draw new log-weights given rows, in place; return mass and concentration.

    `units` holds the sum of each column of rows, `histogram` how many have J = 0, 1, ...
    """
    place = np.zeros(3, np.int64)
    histogram = histogram[: last_count(histogram) + 1]
    top = histogram.shape[0] - 1
    nobody = np.empty(0)
    if growth == 0.0 and restrict == SUM:
        for move, wanted in ((MASS, learns_mass), (CONCENTRATION, learns_concentration)):
            if wanted:
                by = slice_by(
                    seed, place, 1.0, COLLAPSED, move, theta, units, histogram, growth, restrict,
                    mass, concentration, nobody,
                )  # fmt: skip
                mass, concentration = moved_hyper(move, by, mass, concentration)
        _draw_dirichlet(seed, place, theta, units, mass, concentration)
        return mass, concentration
    tail = theta.shape[0] / (concentration * mass)
    for i in range(theta.shape[0]):
        others = of_others(i, theta, growth, restrict, top)
        width = 1.0 if units[i] > 0.0 else 1.0 + tail
        theta[i] += slice_by(
            seed, place, width, SITE, i, theta, units, histogram, growth, restrict,
            mass, concentration, others,
        )  # fmt: skip
    width = 1.0 + 1.0 / (concentration * mass)
    by = slice_by(
        seed, place, width, SHIFT, 0, theta, units, histogram, growth, restrict,
        mass, concentration, nobody,
    )  # fmt: skip
    for i in range(theta.shape[0]):
        theta[i] = shifted(theta[i], by, growth, restrict)
    both = learns_mass and learns_concentration
    for move, wanted in ((MASS, learns_mass), (CONCENTRATION, learns_concentration), (RATIO, both)):
        if wanted:
            mass, concentration = slice_step(
                seed, place, move, theta, units, histogram, prior_kind(growth), mass, concentration
            )
    return mass, concentration
