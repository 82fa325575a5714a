"""The row law outside of our samplers: NumPyro, conditional logistic regression, survey sampling.

Conditional logistic regression is that of `docs/recipes/conditional-logit.md`; its floor is a
Newton step of a plain logistic regression on the same rows, by NumPy.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, best_times, ratio

RECIPE = Path(__file__).parents[1] / "docs" / "recipes" / "conditional-logit.md"


def conditional_logit() -> Any:
    """Return the function of the recipe."""
    names: dict[str, Any] = {}
    code = re.search(r"^```python\n(.*?)^```$", RECIPE.read_text(), re.DOTALL | re.MULTILINE)
    assert code is not None
    exec(code.group(1), names)
    return names["conditional_logit"]


def strata(n_strata: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return cases, half of each stratum or about that, two covariates, and strata."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_strata * size, 2))
    keys = x @ [0.5, -0.3] + rng.logistic(size=len(x))
    group = np.repeat(np.arange(n_strata), size)
    middle = np.median(keys.reshape(n_strata, size), axis=1)
    return (keys > middle[group]).astype(int), x, group


def logistic_step(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Make a Newton step of a plain logistic regression: as much as any method has to do."""
    p = 1 / (1 + np.exp(-x @ [0.1, 0.1]))
    return np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, (y - p) @ x)


def measures() -> Measures:
    """Yield the measures of the recipes and of NumPyro's law."""
    fit = conditional_logit()
    for name, data, limit in [
        ("1000 strata of 10", strata(1000, 10), 500.0),
        ("4000 rows, 2000 cases", strata(1, 4000), 250.0),
    ]:
        value = ratio(partial(fit, *data), partial(logistic_step, *data[:2]), 5)
        yield Measure(f"conditional logit, {name} / logit step", value, limit)
    yield _inverse()
    yield from _numpyro()


def _inverse() -> Measure:
    x = np.random.default_rng(0).gamma(2.0, size=100_000)
    pi = 1000 * x / x.sum()
    theta = ribp.log_odds_from_inclusion(pi)
    value = ratio(
        lambda: ribp.log_odds_from_inclusion(pi), lambda: ribp.inclusion_probs(theta, 1000), 5
    )
    return Measure("inverse inclusion 10^5 n=1000 / forward", value, 15.0)


def _numpyro() -> Measures:
    import jax
    import jax.numpy as jnp

    from ribp.numpyro import RestrictedBernoulli

    rng = np.random.default_rng(0)
    theta = rng.normal(size=100)
    ours = ribp.RestrictedBernoulli(theta, "uniform(1, 10)")
    rows = ours.sample(rng, 1000)

    def total(theta: Any) -> Any:
        return RestrictedBernoulli(theta, "uniform(1, 10)").log_prob(rows).sum()

    value, slope = jax.jit(total), jax.jit(jax.grad(total))
    given = jnp.asarray(theta)
    times = best_times(
        lambda: value(given).block_until_ready(),
        lambda: slope(given).block_until_ready(),
        lambda: ribp.RestrictedBernoulli(theta, "uniform(1, 10)").log_prob(rows),
        repeat=30,
    )
    yield Measure("NumPyro log_prob 1000 x 100 / ours", times[0] / times[2], 1.5)
    yield Measure("NumPyro gradient / its log_prob", times[1] / times[0], 3.0)
