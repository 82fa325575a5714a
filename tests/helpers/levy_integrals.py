"""Truth by quadrature: integrals over Levy intensities, in the logarithm that atoms carry."""

import numpy as np
from scipy import special

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def integral(log_density, low, high, panel=1.0):
    """Return the log of the integral of exp(log_density(u)) over (low, high), by Gauss-Legendre."""
    edges = np.linspace(low, high, 2 + int((high - low) / panel))
    half = np.diff(edges)[:, None] / 2
    values = log_density(edges[:-1, None] + half * (1 + NODES))
    return special.logsumexp(values, b=half * WEIGHTS)


def softplus(u):
    return np.logaddexp(0, u)


def beta_intensity(measure):
    """Return the log intensity of a stable-beta process as a function of theta = logit pi."""
    c, s = measure.concentration, measure.discount
    constant = special.gammaln(1 + c) - special.gammaln(1 - s) - special.gammaln(c + s)
    return lambda u: np.log(measure.mass) + constant + s * softplus(-u) - (c + s) * softplus(u)


def beta_integral(measure, theta, log_function):
    """Return the integral of exp(log_function(u)) nu over atoms below theta.

    exp(log_function) must fall as fast as pi on the left, so e^-45 of it is left out.
    """
    low = min(theta, 0.0) - 45.0 / (1 - measure.discount)
    intensity = beta_intensity(measure)
    return float(np.exp(integral(lambda u: intensity(u) + log_function(u), low, theta)))
