"""Moves of 0/1 rows, all rows at once: each proposes new rows and says how it must be corrected.

A move takes a key and rows z, shape (..., features), and returns z' and the logarithm of
r = q(z' -> z) / q(z -> z'), shape (...): Metropolis accepts z' with probability
min(1, r p(z') / p(z)).

- `flip`: feature i is switched. Symmetric.
- `exchange`: feature i is exchanged with one drawn from those that differ from it. With k ones
  among I there are I - k of these if z_i = 1, k if z_i = 0; the way back draws from the others.
- `recount`: a count k' is drawn from f, and |k' - k| features drawn from those that are off (or on)
  are switched: q(z -> z') = f(k') / C(I - k, k' - k) upward, f(k') / C(k, k - k') downward.

Exchanges reach every row of a count, and recounts every count of f, so that rows are free to go
wherever their law allows, over gaps of f too. Flips do the work where f has none.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax, random
from jax.scipy.special import gammaln

Move = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""Called as move(key, z, i, count_log_probs)."""


def flip(key: Array, z: Array, i: Array, log_f: Array) -> tuple[Array, Array]:
    """Switch feature i."""
    return z.at[..., i].set(1 - z[..., i]), jnp.zeros(z.shape[:-1])


def exchange(key: Array, z: Array, i: Array, log_f: Array) -> tuple[Array, Array]:
    """Exchange feature i with one that differs from it, where there is any."""
    own = z[..., i]
    differs = z != own[..., None]
    other = jnp.where(differs, random.uniform(key, z.shape), -1.0).argmax(axis=-1)
    pair = (jnp.arange(z.shape[-1]) == other[..., None]) | (jnp.arange(z.shape[-1]) == i)
    able = differs.any(axis=-1)
    ahead = differs.sum(axis=-1)
    back = z.shape[-1] - ahead
    correction = jnp.log(jnp.where(able, ahead, 1)) - jnp.log(jnp.where(able, back, 1))
    return jnp.where(pair & able[..., None], 1 - z, z), correction


def recount(key: Array, z: Array, i: Array, log_f: Array) -> tuple[Array, Array]:
    """Draw a new count from f, and switch as many features as that takes."""
    key_count, key_features = random.split(key)
    features, shape, k = z.shape[-1], z.shape[:-1], z.sum(axis=-1)
    new = random.categorical(key_count, log_f, shape=shape)
    m = jnp.abs(new - k)
    movable = z == (new < k)[..., None]
    keys = jnp.where(movable, random.uniform(key_features, z.shape), 2.0)
    switched = keys.argsort(axis=-1).argsort(axis=-1) < m[..., None]
    ahead = movable.sum(axis=-1)
    back = features - ahead + m
    log_f = jnp.broadcast_to(log_f, (*shape, log_f.shape[-1]))
    of_old, of_new = (
        jnp.take_along_axis(log_f, count[..., None], axis=-1)[..., 0] for count in (k, new)
    )
    correction = of_old - of_new + _log_choose(ahead, m) - _log_choose(back, m)
    return jnp.where(switched, 1 - z, z), jnp.where(m == 0, 0.0, correction)


def _log_choose(n: Array, m: Array) -> Array:
    return gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0)


def sweep(
    key: Array,
    z: Array,
    log_density: Callable[[Array], Array],
    log_f: Array,
    moves: tuple[Move, ...],
) -> Array:
    """Make each move for every feature in turn; `log_density` has one number a row."""

    def visit(state: tuple[Array, Array], step: tuple[Array, Array]) -> tuple[object, None]:
        (z, now), (key, i) = state, step
        for move in moves:
            key, key_move, key_accept = random.split(key, 3)
            proposed, correction = move(key_move, z, i, log_f)
            then = log_density(proposed)
            accepted = jnp.log(random.uniform(key_accept, now.shape)) < then - now + correction
            z = jnp.where(accepted[..., None], proposed, z)
            now = jnp.where(accepted, then, now)
        return (z, now), None

    features = jnp.arange(z.shape[-1])
    (z, _), _ = lax.scan(visit, (z, log_density(z)), (random.split(key, features.size), features))
    return z
