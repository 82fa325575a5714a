"""The ratio recursion of `ribp.kernels.elementary_symmetric`, as a scan that JAX differentiates.

Features are sorted by falling log-odds; with w_1 >= w_2 >= ... and e_j(i) the polynomial of the
first i odds, y_i[j] = e_j(i) / (e_{j-1}(i) w_j) and d_j = w_i / w_j,

    y_i[j] = (y_{i-1}[j] + d_j) * y_{i-1}[j-1] / (y_{i-1}[j-1] + d_{j-1}),     d_j <= 1 for j <= i.

For j > i, where y is still 0, d_j is set to 1 by its index: the new y_i[i] is then right, and those
beyond stay 0. Not by clipping, ``minimum(theta_i - theta_j, 0)``, whose derivative at a tie is one
half. The formula holds in any order of the features, so that derivatives are right at ties too.

Features with infinite log-odds come last and change nothing: d_j = 0. Every division is by a number
above zero, so that derivatives of any order are finite there as well.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax


class Chain(NamedTuple):
    """What a pass over the features leaves, for log-odds of shape (..., features)."""

    order: Array
    """Features by falling log-odds, infinite ones last; shape (..., features)."""
    theta: Array
    """Their log-odds in this order, 0 for infinite ones."""
    log_scaled: Array
    """log of e_k / (w_1 ... w_k) for k = 0 .. k_max, -inf beyond what is finite."""
    take: Array
    """P(feature i is on | j ones among the first i), shape (features, ..., k_max + 1)."""


def chain(log_odds: Array, k_max: int) -> Chain:
    """Return the chain of log-odds for counts up to `k_max`, at most the number of features."""
    finite = jnp.isfinite(log_odds)
    order = jnp.argsort(jnp.where(finite, -log_odds, jnp.inf), axis=-1)
    theta = jnp.take_along_axis(jnp.where(finite, log_odds, 0.0), order, axis=-1)
    present = jnp.take_along_axis(finite, order, axis=-1)
    top, slots = theta[..., :k_max], jnp.arange(k_max)

    def add(y: Array, feature: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        i, x, is_present = feature
        d = jnp.exp(jnp.where(slots < i, x[..., None] - top, 0.0)) * is_present[..., None]
        total = y + d
        safe = jnp.where(total > 0.0, total, 1.0)
        skip = y / safe
        before = jnp.concatenate([jnp.ones_like(skip[..., :1]), skip], axis=-1)[..., :-1]
        return total * before, d / safe

    features = jnp.arange(theta.shape[-1]), *(jnp.moveaxis(a, -1, 0) for a in (theta, present))
    y, take = lax.scan(add, jnp.zeros_like(top), features)
    log_y = jnp.where(y > 0.0, jnp.log(jnp.where(y > 0.0, y, 1.0)), -jnp.inf)
    none = jnp.zeros((*theta.shape[:-1], 1), theta.dtype)
    log_scaled = jnp.cumsum(jnp.concatenate([none, log_y], axis=-1), axis=-1)
    nothing = jnp.zeros_like(take[..., :1])
    return Chain(order, theta, log_scaled, jnp.concatenate([nothing, take], axis=-1))
