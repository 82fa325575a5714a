"""The block of rows: a joint test with broken twins, rows beside NUTS, and what it refuses."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from jax import lax, random
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.infer import HMC, Gibbs
from numpyro.infer.gibbs import GIBBS_SITES_KWARG, CustomGibbsState, conditioned

from ribp import counts
from ribp.numpyro import RestrictedBernoulli, row_kernel
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.messages import message_of

LAWS = counts.by_row(
    [counts.exactly(2), counts.table([0.0, 0.4, 0.0, 0.6]), counts.uniform(0, 3)] * 2
)


def model(x=None, noise=0.7):
    """Heavy-tailed noise, which no likelihood of ours has."""
    log_odds = numpyro.sample("log_odds", dist.Normal(0.0, 1.0).expand([4]).to_event(1))
    features = numpyro.sample("features", dist.Normal(0.5, 1.0).expand([4, 3]).to_event(2))
    with numpyro.plate("rows", 6):
        z = numpyro.sample("z", RestrictedBernoulli(log_odds, LAWS))
        numpyro.sample("x", dist.StudentT(4.0, z @ features, noise).to_event(1), obs=x)


def statistics(z, given):
    """Return numbers that see counts, weights and the fit to the data."""
    fit = dist.StudentT(4.0, z @ given["features"], 0.7).log_prob(given["x"]).sum()
    ones = z.sum(axis=-1)
    return {
        "fit": fit,
        "weights": (z * given["log_odds"]).sum(),
        "first": z[:, 0].sum(),
        "hole": ones[1] + ones[4],
        "free": ones[2] + ones[5],
        "pairs": (z[:, 0] * z[:, 1] + z[:, 1] * z[:, 3]).sum(),
    }


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def changed(key, noise):
    """Return how a step of rows changes the statistics, for a block that knows of such a noise."""
    first, second = random.split(key)
    sites = handlers.trace(handlers.seed(model, first)).get_trace()
    given = {name: sites[name]["value"] for name in ("log_odds", "features", "x")}
    z = sites["z"]["value"]
    others = {GIBBS_SITES_KWARG: {name: given[name] for name in ("log_odds", "features")}}
    block = row_kernel(conditioned(model), sweeps=2)
    after = block.sample(CustomGibbsState({"z": z}, second), (given["x"], noise), others)
    old, new = statistics(z, given), statistics(after.z["z"], given)
    return {name: new[name] - old[name] for name in new}


def joint(noise, n, seed):
    """Check that a step of rows keeps the joint law of rows, weights and data."""
    found = changed(random.split(random.key(seed), n), noise)
    return {name: mean_p_value(values, 0.0) for name, values in found.items()}


def test_a_step_keeps_the_joint_law():
    assert holds(partial(joint, 0.7), replicates(2000, 20000))


def test_a_step_for_less_noise_is_caught():
    assert is_caught(partial(joint, 0.6), 2000)


def test_rows_beside_another_block_obey_their_laws():
    x = random.normal(random.key(0), (6, 3))
    hmc = HMC(model, step_size=0.1, num_steps=2, trajectory_length=None, adapt_step_size=False)
    kernel = Gibbs([(hmc, None), (row_kernel(model), ["z"])])

    def step(state, _):
        state = kernel.sample(state, (x,), {})
        return state, state.z

    first = kernel.init(random.key(1), 0, None, (x,), {})
    last, draws = jax.jit(partial(lax.scan, step, length=80))(first)
    assert not np.array_equal(last.z["features"], first.z["features"])
    ones = np.asarray(draws["z"]).sum(axis=-1)
    for row, law in enumerate(LAWS):
        assert set(ones[:, row]) == set(np.flatnonzero(law.probs(4))), row


# What it refuses


def first_state(model):
    """Begin the block on a model of four rows."""
    block = row_kernel(conditioned(model))
    rows = jnp.tile(jnp.array([1, 0, 0]), (4, 1))
    return block.init(random.key(0), 0, {"z": rows}, (), {})


def with_rows(law, rest):
    """Return a model of four rows, and what is observed of them."""

    def model():
        with numpyro.plate("rows", 4):
            z = numpyro.sample("z", law)
            inside = rest(z)
        if inside is not None:
            inside()

    return model


ONE = RestrictedBernoulli(np.zeros(3, np.float32), "exactly(1)")


def outside(z):
    return lambda: numpyro.sample("y", dist.Normal(z[:, 0].sum(), 1.0), obs=0.0)


def together(z):
    numpyro.sample("x", dist.Normal(z[:, 0].sum(), 1.0), obs=jnp.zeros(4))


def test_what_depends_on_rows_must_stand_in_their_plate():
    message_of(
        lambda: first_state(with_rows(ONE, outside)), "model must have one log density a row",
        "'y', of shape ()", "Put it into the plate",
    )  # fmt: skip


def test_a_row_must_not_depend_on_another():
    message_of(lambda: first_state(with_rows(ONE, together)), "'x', of shape (4,)", "no other")


@pytest.mark.parametrize("law", [dist.Bernoulli(0.5 * jnp.ones(3)).to_event(1), ONE.mask(False)])
def test_rows_must_have_the_row_law(law):
    words = "site must have the law ribp.numpyro.RestrictedBernoulli", "'z'"
    message_of(lambda: first_state(with_rows(law, lambda z: None)), *words)


def test_sweeps_are_counted_from_one():
    message_of(lambda: row_kernel(model, sweeps=0), "sweeps must be at least 1")


def test_rows_on_the_left_of_another_plate():
    """What is observed may have axes of its own: they are added up."""

    def model(x=None):
        with numpyro.plate("rows", 5, dim=-2):
            z = numpyro.sample("z", ONE)
            with numpyro.plate("dims", 3, dim=-1):
                numpyro.sample("x", dist.Normal(z[..., 0, :], 0.01), obs=x)

    rows = jnp.eye(3)[jnp.array([0, 1, 2, 0, 1])]
    block = row_kernel(conditioned(model), sweeps=20)
    state = block.init(
        random.key(0), 0, {"z": jnp.tile(jnp.array([1, 0, 0]), (5, 1, 1))}, (rows,), {}
    )
    found = jax.jit(lambda state: block.sample(state, (rows,), {}))(state)
    np.testing.assert_array_equal(found.z["z"][:, 0], rows)
