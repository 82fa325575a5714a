"""The law of a row as a NumPyro distribution.

    P(z) = f(|z|) prod_i w_i^{z_i} / e_{|z|}(w),      w_i = exp(log_odds_i),

the mixture of `ribp.restricted_bernoulli`: the count has law f whatever the odds, restricted to
what is possible and renormalised. One pass of `ribp.numpyro.ratios`, O(features * k_max), serves
all rows that share log-odds. Large log-odds cancel before anything is rounded: what is added up is
the difference of z from the |z| likeliest features.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax, random
from numpyro.distributions import Distribution, constraints
from numpyro.distributions.util import validate_sample
from numpyro.util import not_jax_tracer

from ribp import checks
from ribp.counts import CountLaw, Learned, RowCounts, parse
from ribp.errors import InputError
from ribp.numpyro.ratios import Chain, chain
from ribp.restricted_bernoulli import impossible_counts


class RestrictedBernoulli(Distribution):
    """Law of a 0/1 row with given odds and a given law of its number of ones.

    Parameters
    ----------
    log_odds
        theta, shape (..., features); -inf means never on, +inf always on.
    counts
        A law of `ribp.counts` or its text form; for rows with different laws a
        `ribp.counts.RowCounts` or whole numbers, shape (...), their exact counts; or log f of the
        counts 0, 1, ..., floats of shape (..., counts), where f is itself a variable of the model.
    validate_args
        As in all of NumPyro; what is traced inside `jit` is not validated.

    Examples
    --------
    >>> import jax, numpy as np
    >>> row = RestrictedBernoulli([0.0, 1.0, 2.0, -1.0], "exactly(2)")
    >>> np.asarray(row.mean, float).round(3).tolist()
    [0.306, 0.694, 0.881, 0.119]
    >>> row.sample(jax.random.key(0), (3,)).sum(axis=-1).tolist()
    [2, 2, 2]
    """

    arg_constraints: ClassVar = {
        "log_odds": constraints.dependent,
        "count_log_probs": constraints.dependent,
    }
    support = constraints.independent(constraints.boolean, 1)
    pytree_data_fields = ("log_odds", "count_log_probs")
    pytree_aux_fields = ("fixed_counts",)

    def __init__(self, log_odds: Any, counts: Any, *, validate_args: bool | None = None) -> None:
        self.log_odds = jnp.asarray(log_odds)
        if not jnp.issubdtype(self.log_odds.dtype, jnp.floating):
            self.log_odds = self.log_odds.astype(float)
        features = self.log_odds.shape[-1]
        table, self.fixed_counts = _table(counts, features)
        self.count_log_probs = self._restricted(table.astype(self.log_odds.dtype))
        batch = jnp.broadcast_shapes(self.log_odds.shape[:-1], self.count_log_probs.shape[:-1])
        super().__init__(batch, (features,), validate_args=validate_args)
        if self._validate_args:
            self._validate(counts)

    @property
    def k_max(self) -> int:
        """The largest count that the law knows of."""
        return int(self.count_log_probs.shape[-1]) - 1

    @validate_sample
    def log_prob(self, value: Any) -> Array:
        """Return log P(z) for rows of shape (..., features), -inf for impossible rows."""
        return self.weigh(self.chain(), value)

    def chain(self) -> Chain:
        """Return the pass over the features that `weigh` and `sample` need."""
        return chain(self.log_odds, self.k_max)

    def weigh(self, chained: Chain, z: Any) -> Array:
        """Return log P(z), given the `chain`."""
        z = jnp.asarray(z).astype(self.log_odds.dtype)
        shape = jnp.broadcast_shapes(z.shape[:-1], self.batch_shape)
        whole = jnp.broadcast_to(z, (*shape, z.shape[-1]))
        ones = whole.sum(axis=-1).astype(int)
        finite = jnp.isfinite(self.log_odds)
        chosen = jnp.where(finite, whole, 0.0)
        k = chosen.sum(axis=-1).astype(int)
        sure = (jnp.where(finite, z, self.log_odds > 0) == z).all(axis=-1)
        log_f = _at(self.count_log_probs, jnp.minimum(ones, self.k_max))
        possible = sure & (ones <= self.k_max) & (log_f > -jnp.inf)
        order = jnp.broadcast_to(chained.order, chosen.shape)
        likeliest = jnp.arange(z.shape[-1]) < k[..., None]
        apart = jnp.take_along_axis(chosen, order, axis=-1) - likeliest
        scaled = _at(chained.log_scaled, jnp.minimum(k, self.k_max))
        value = log_f + (apart * chained.theta).sum(axis=-1) - scaled
        return jnp.where(possible, value, -jnp.inf)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw rows of shape sample_shape + batch_shape + (features,), without rejection."""
        shape = (*sample_shape, *self.batch_shape)
        key_count, key_row = random.split(key)
        sure = self.log_odds == jnp.inf
        ones = random.categorical(key_count, self.count_log_probs, shape=shape)
        chained = self.chain()
        uniforms = random.uniform(key_row, (self.event_shape[0], *shape), self.log_odds.dtype)

        def step(left: Array, feature: tuple[Array, Array]) -> tuple[Array, Array]:
            take, u = feature
            on = u < _at(take, left)
            return left - on, on

        left = ones - sure.sum(axis=-1)
        _, rows = lax.scan(step, left, (chained.take, uniforms), reverse=True)
        return (self._in_place(chained, rows) | sure).astype(int)

    @property
    def mean(self) -> Array:
        """P(z_i = 1), shape batch_shape + (features,)."""
        chained, sure = self.chain(), self.log_odds == jnp.inf
        ones = jnp.arange(self.k_max + 1) + sure.sum(axis=-1)[..., None]
        law = jnp.broadcast_to(self.count_log_probs, (*self.batch_shape, self.k_max + 1))
        ones = jnp.broadcast_to(ones, law.shape)
        of_finite = jnp.take_along_axis(law, jnp.minimum(ones, self.k_max), axis=-1)
        mass = jnp.where(ones <= self.k_max, jnp.exp(of_finite), 0.0)

        def push(mass: Array, take: Array) -> tuple[Array, Array]:
            taken = mass * take
            down = jnp.concatenate([taken[..., 1:], jnp.zeros_like(taken[..., :1])], axis=-1)
            return mass - taken + down, taken.sum(axis=-1)

        _, probs = lax.scan(push, mass, chained.take, reverse=True)
        return jnp.where(sure, 1.0, self._in_place(chained, probs))

    @property
    def variance(self) -> Array:
        """The variance of each z_i."""
        return self.mean * (1.0 - self.mean)

    def _in_place(self, chained: Chain, by_rank: Array) -> Array:
        """Return what a scan over sorted features gave in the order of the features."""
        values = jnp.moveaxis(by_rank, 0, -1)
        place = jnp.broadcast_to(jnp.argsort(chained.order, axis=-1), values.shape)
        return jnp.take_along_axis(values, place, axis=-1)

    def _restricted(self, table: Array) -> Array:
        """Return log f on the counts that the infinite log-odds allow."""
        least = (self.log_odds == jnp.inf).sum(axis=-1)[..., None]
        most = (self.log_odds > -jnp.inf).sum(axis=-1)[..., None]
        k = jnp.arange(table.shape[-1])
        inside = jnp.where((k >= least) & (k <= most), table, -jnp.inf)
        return inside - jax.nn.logsumexp(inside, axis=-1, keepdims=True)

    def _validate(self, counts: Any) -> None:
        if not not_jax_tracer(self.log_odds):
            return
        theta = checks.log_odds(self.log_odds)
        table = self.count_log_probs
        if not not_jax_tracer(table) or jnp.isfinite(jnp.max(table, axis=-1)).all():
            return
        at = np.argwhere(~np.isfinite(np.max(table, axis=-1)))[0]
        own = np.broadcast_to(theta, (*self.batch_shape, theta.shape[-1]))[tuple(at)]
        least, most = np.isposinf(own).sum(), own.size - np.isneginf(own).sum()
        raise impossible_counts(counts, int(least), int(most), own.size)


def _at(values: Array, k: Array) -> Array:
    """Return values[..., k], where leading axes of `values` broadcast against k."""
    spread = values.reshape((1,) * (k.ndim + 1 - values.ndim) + values.shape)
    return jnp.take_along_axis(spread, k[..., None], axis=-1)[..., 0]


def _table(counts: Any, features: int) -> tuple[Array, bool]:
    """Return log f(0 .. k_max), shape (..., k_max + 1), and whether all laws are point masses."""
    counts = parse(counts) if isinstance(counts, str) else counts
    if not isinstance(counts, (CountLaw, RowCounts)):
        return _table_of_array(counts, features)
    if isinstance(counts, CountLaw):
        table = _log_probs(counts, features)
    else:
        table = _stacked([_log_probs(law, features) for law in counts.laws])[counts.law_of_row]
    return jnp.asarray(table), bool((np.isfinite(table).sum(axis=-1) == 1).all())


def _table_of_array(counts: Any, features: int) -> tuple[Array, bool]:
    """Return the same for floats, log f itself, and for whole numbers, exact counts."""
    array = counts if isinstance(counts, jax.Array) else np.asarray(counts)
    if array.ndim and jnp.issubdtype(array.dtype, jnp.floating):
        return jnp.asarray(array)[..., : features + 1], False
    if not array.ndim or not jnp.issubdtype(array.dtype, jnp.integer):
        raise InputError(
            "counts", "must be a count law, one number a row, or log f", counts,
            "Pass for example ribp.counts.exactly(3).",
        )  # fmt: skip
    known = checks.integers("counts", array) if not_jax_tracer(array) else None
    k_max = features if known is None else min(int(known.max(initial=0)), features)
    table = jnp.where(jnp.arange(k_max + 1) == jnp.asarray(array)[..., None], 0.0, -jnp.inf)
    return table, True


def _log_probs(law: CountLaw, features: int) -> checks.FloatArray:
    if isinstance(law, Learned):
        raise InputError(
            "counts", "must be known here", law,
            "Draw f in your model, such as numpyro.sample('f', Dirichlet(base)), and pass log f.",
        )  # fmt: skip
    return law.log_probs(features if law.largest is None else min(law.largest, features))


def _stacked(tables: list[checks.FloatArray]) -> checks.FloatArray:
    out = np.full((len(tables), max(table.size for table in tables)), -np.inf)
    for row, table in zip(out, tables, strict=True):
        row[: table.size] = table
    return out
