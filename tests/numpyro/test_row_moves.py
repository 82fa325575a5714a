"""Moves of rows leave any target unchanged, and reach all of it; wrong corrections are caught."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random

import ribp
from ribp.numpyro import RestrictedBernoulli, row_moves
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.row_cases import FEATURES, LAWS, ROWS, THETA

FIT = np.array([0.0, 1.0, -1.0, 0.5, 2.0, -0.5, 0.3, 1.2, 0.1, -2.0, 0.8, 0.0, 1.5, -1.0, 0.4, 0.9])
MOVES = {
    "flip": (row_moves.flip,),
    "exchange": (row_moves.exchange,),
    "recount": (row_moves.recount,),
    "all": (row_moves.flip, row_moves.exchange, row_moves.recount),
}


def uncorrected(move):
    """Return the twin of a move that forgets how it proposes."""

    def wrong(key, z, i, log_f):
        return move(key, z, i, log_f)[0], jnp.zeros(z.shape[:-1])

    return wrong


@partial(jax.jit, static_argnames="moves")
def swept(key, z, log_f, moves, sweeps):
    law = RestrictedBernoulli(jnp.asarray(THETA), log_f)
    chained = law.chain()

    def log_density(z):
        return law.weigh(chained, z) + jnp.asarray(FIT)[z @ (1 << jnp.arange(FEATURES))]

    def sweep(number, z):
        one = random.fold_in(key, number)
        return row_moves.sweep(one, z, log_density, law.count_log_probs, moves)

    return lax.fori_loop(0, sweeps, sweep, z)


def after(name, moves, start, n, seed, sweeps=1):
    """Return the p-value of rows after sweeps: begun with the target, or all with one row."""
    log_p = ribp.RestrictedBernoulli(THETA, LAWS[name]).log_prob(ROWS) + FIT
    target = np.exp(log_p - np.logaddexp.reduce(log_p))
    n_rows = 100 * n
    if start == "target":
        first = np.random.default_rng(seed).choice(len(ROWS), n_rows, p=target)
    else:
        first = np.full(n_rows, target.argmin() if target.min() > 0 else np.flatnonzero(target)[0])
    log_f = LAWS[name].log_probs(FEATURES)
    z = swept(random.key(seed), ROWS[first].astype(np.int32), log_f, moves, sweeps)
    found = np.bincount(np.asarray(z) @ (1 << np.arange(FEATURES)), minlength=len(ROWS))
    return [frequencies_p_value(found, target)]


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("name", ["interval", "a hole"])
def test_a_sweep_leaves_the_target_unchanged(name, moves):
    assert holds(partial(after, name, MOVES[moves], "target"), replicates(300))


@pytest.mark.parametrize("name", LAWS)
def test_all_of_the_target_is_reached(name):
    moves = MOVES["exchange"] if name == "one count" else MOVES["all"]
    assert holds(partial(after, name, moves, "one row", sweeps=20), replicates(300))


@pytest.mark.parametrize("move", ["exchange", "recount"])
def test_a_move_without_its_correction_is_caught(move):
    wrong = (uncorrected(MOVES[move][0]),)
    assert is_caught(partial(after, "interval", wrong, "target"), 300)


def test_flips_alone_do_not_cross_a_hole():
    moves = (row_moves.flip, row_moves.exchange)
    assert is_caught(partial(after, "a hole", moves, "one row", sweeps=20), 300)


def test_rows_of_all_or_nothing_have_nothing_to_exchange():
    z = jnp.array([[0, 0, 0], [1, 1, 1]])
    proposed, correction = row_moves.exchange(random.key(0), z, 1, jnp.zeros(4))
    np.testing.assert_array_equal(proposed, z)
    np.testing.assert_array_equal(correction, [0.0, 0.0])
