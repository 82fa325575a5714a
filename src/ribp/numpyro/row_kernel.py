"""A block for NumPyro's `Gibbs` that samples rows given everything else.

The rows are a site with the law `ribp.numpyro.RestrictedBernoulli` inside a plate. Given all other
sites rows are independent, so one evaluation of the model weighs a proposal for every row, and each
row accepts or rejects its own (`ribp.numpyro.row_moves`). The model says itself what the log
density of a row is: the law of the row plus all sites of which there is one number a row.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax, random
from numpyro.distributions.distribution import ExpandedDistribution
from numpyro.infer import CustomGibbs
from numpyro.infer.gibbs import CustomGibbsState, with_conditioning
from numpyro.infer.util import compute_log_probs
from numpyro.util import not_jax_tracer

from ribp import checks
from ribp.errors import InputError
from ribp.numpyro import row_moves
from ribp.numpyro.row_law import RestrictedBernoulli

Model = Callable[..., Any]
Sites = dict[str, Array]


def row_kernel(model: Model, site: str = "z", *, sweeps: int = 1) -> RowKernel:
    """Return a block for `numpyro.infer.Gibbs` that samples the rows of a model.

    Parameters
    ----------
    model
        The model, the same function that the other blocks have.
    site
        The name of the rows: `ribp.numpyro.RestrictedBernoulli` in a plate, one row each. What is
        observed of a row stands in the same plate.
    sweeps
        How many sweeps over the features make a step; more where rows mix slowly.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> from numpyro import distributions as dist
    >>> from numpyro.infer import NUTS, Gibbs
    >>> def model(x):
    ...     features = numpyro.sample("features", dist.Normal(0, 2).expand([3, 2]).to_event(2))
    ...     with numpyro.plate("rows", len(x)):
    ...         z = numpyro.sample("z", RestrictedBernoulli(jnp.zeros(3), "exactly(1)"))
    ...         numpyro.sample("x", dist.Normal(z @ features, 0.5).to_event(1), obs=x)
    >>> kernel = Gibbs([(NUTS(model), None), (row_kernel(model), ["z"])])  # for numpyro.infer.MCMC
    """
    return RowKernel(model, site, checks.integer("sweeps", sweeps, least=1))


class RowKernel(CustomGibbs):  # which keeps values as they are, and caches nothing
    """What `row_kernel` makes."""

    def __init__(self, model: Model, site: str, sweeps: int) -> None:
        self._model, self._site, self._sweeps = model, site, sweeps

    @property
    def model(self) -> Model:
        """The model, conditioned on what the other blocks have."""
        return self._model

    def wrap_model(self, wrapper: Callable[[Model], Model]) -> RowKernel:
        """Return the same block for a wrapped model."""
        kernel = copy.copy(self)
        kernel._model = wrapper(self._model)
        return kernel

    def init(
        self, rng_key: Array, num_warmup: int, init_params: Sites | None, args: Any, kwargs: Any
    ) -> CustomGibbsState:
        """Return the first state, if the rows of the model can be sampled one by one."""
        state = super().init(rng_key, num_warmup, init_params, args, kwargs)
        z = state.z[self._site]
        rows = _Rows(self._model, self._site, args, kwargs, z)
        if all(map(not_jax_tracer, jax.tree.leaves((rng_key, rows.law, rows.terms(z))))):
            _check_independence(rows, z, rng_key)
        return state

    def sample(self, state: CustomGibbsState, args: Any, kwargs: Any) -> CustomGibbsState:
        """Make a step of all rows."""
        z = state.z[self._site]
        rows = _Rows(self._model, self._site, args, kwargs, z)
        rng_key, key = random.split(state.rng_key)
        keys = random.split(key, self._sweeps)

        def sweep(z: Array, key: Array) -> tuple[Array, None]:
            log_f = rows.law.count_log_probs
            return row_moves.sweep(key, z, rows.log_density, log_f, rows.moves), None

        z, _ = lax.scan(sweep, z, keys)
        return state._replace(z={self._site: z}, rng_key=rng_key)


class _Rows:
    """The log density of each row, all other sites given."""

    def __init__(self, model: Model, site: str, args: Any, kwargs: Any, z: Array) -> None:
        self._model, self.site, self._args, self._kwargs = model, site, args, kwargs
        own = self._evaluate(z)[1][site]
        self.law = _row_law(own)
        self._chain = self.law.chain()
        self.shape = z.shape[:-1]
        self.moves = (
            (row_moves.exchange,)
            if self.law.fixed_counts
            else (row_moves.flip, row_moves.exchange, row_moves.recount)
        )

    def _evaluate(self, z: Array) -> tuple[Sites, Any]:
        values = with_conditioning(self._kwargs, {self.site: z})
        found: tuple[Sites, Any] = compute_log_probs(
            self._model, self._args, values, {}, sum_log_prob=False
        )
        return found

    def terms(self, z: Array) -> Sites:
        """Return the log densities of all other sites, with one number a row where they have it."""
        found, _ = self._evaluate(z)
        return {
            name: _sum_to(term, self.shape) if _is_by_row(term.shape, self.shape) else term
            for name, term in found.items()
            if name != self.site
        }

    def log_density(self, z: Array) -> Array:
        """Return the log density of each row, up to a constant."""
        by_row = [term for term in self.terms(z).values() if term.shape == self.shape]
        return sum(by_row, start=self.law.weigh(self._chain, z))


def _row_law(site: Any) -> RestrictedBernoulli:
    law = site["fn"]
    if isinstance(law, ExpandedDistribution):
        law = law.base_dist
    if not isinstance(law, RestrictedBernoulli) or site["scale"] is not None:
        raise InputError(
            "site", "must have the law ribp.numpyro.RestrictedBernoulli, in a plate",
            f"{site['name']!r}, a scaled or different {type(law).__name__}",
            "Name the site of the rows; mask or scale what is observed of them instead.",
        )  # fmt: skip
    return law


def _is_by_row(shape: tuple[int, ...], rows: tuple[int, ...]) -> bool:
    """Tell whether a log density has one number a row: the axes of the rows, aligned at the end."""
    own = shape[len(shape) - len(rows) :]
    return len(own) == len(rows) and all(n in (1, m) for n, m in zip(rows, own, strict=True))


def _sum_to(term: Array, rows: tuple[int, ...]) -> Array:
    term = term.sum(axis=tuple(range(term.ndim - len(rows))))
    single = tuple(at for at, n in enumerate(rows) if n == 1)
    return term.sum(axis=single, keepdims=True)


def _check_independence(rows: _Rows, z: Array, key: Array) -> None:
    """Change every second row, and see that nothing else changes but what belongs to it."""
    shape = rows.shape
    changed = (jnp.arange(np.prod(shape, dtype=int)) % 2 == 1).reshape(shape)
    fresh = rows.law.sample(key, shape[: len(shape) - len(rows.law.batch_shape)])
    before, after = rows.terms(z), rows.terms(jnp.where(changed[..., None], fresh, z))
    for name, old in before.items():
        kept = ~changed if old.shape == shape else jnp.ones(old.shape, bool)
        same = jnp.isclose(old, after[name], rtol=1e-4, atol=1e-4) | ~kept
        if not same.all():
            raise InputError(
                "model", f"must have one log density a row for all that depends on {rows.site!r}",
                f"{name!r}, of shape {old.shape}, where the rows have shape {shape}",
                "Put it into the plate of the rows, and let a row depend on no other.",
            )  # fmt: skip
