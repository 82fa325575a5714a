"""The augmented sampler: every conditional by enumeration, every move and the whole by its law."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from ribp import counts
from ribp.errors import InputError, ProposalLimitError
from ribp.mcmc import augmented
from ribp.mcmc import augmented_moves as moves
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, mean_p_value, replicates
from tests.helpers.buffet_trials import (
    FEW,
    HOLE,
    MANY,
    MASS_PRIOR,
    MIXED,
    SPREAD,
    AugmentedTrial,
    augmented_sweep,
    gaussian_likelihood,
)

pytestmark = pytest.mark.jit

PART = 24_000  # draws that are simulated at once
BITS = np.array([1, 2, 4])


DATA = np.array([[1.5, -0.5], [1.2, 0.3], [-0.8, 1.0]])


def flat(rows):
    return 0.0


# The law of the next row


def next_count_probs(holders, others, mass, concentration, size=40):
    """Return P(the next row has k ones), k < size, by convolving one coin after another."""
    probs = stats.poisson(mass * concentration / (concentration + others)).pmf(np.arange(size))
    for held in holders:
        p = held / (concentration + others)
        probs = np.convolve(probs, [1 - p, p])[:size]
    return probs


@pytest.mark.parametrize("ones", [0, 1, 2, 5])
def test_chance_that_a_block_ends(ones):
    rng = np.random.default_rng(ones)
    for features, others, concentration in [(0, 0, 1.0), (1, 3, 0.5), (6, 9, 2.5)]:
        holders = rng.integers(1, others + 1, features) if features else np.zeros(0, int)
        truth = next_count_probs(holders, others, 1.7, concentration)[ones]
        found = moves.log_count_prob(holders, others, 1.7, concentration, ones)
        assert found == pytest.approx(math.log(truth), rel=1e-12)


def length_probs(ones, mass, concentration):
    """Return P(0 discards), P(1 discard) and P(more) before the first row of all with `ones`."""
    first = stats.poisson(mass).pmf(np.arange(30))
    second = [next_count_probs([1] * k, 1, mass, concentration)[ones] for k in range(30)]
    one = sum(p * q for k, (p, q) in enumerate(zip(first, second, strict=True)) if k != ones)
    return [first[ones], one, 1 - first[ones] - one]


def lengths(others, ones):
    """Return a check of how many discards there are before the first row."""

    def check(n, seed):
        rng, nobody = np.random.default_rng(seed), np.zeros(0, int)
        blocks = [moves.propose(rng, nobody, others, 1.5, 2.0, ones, MANY) for _ in range(n)]
        found = np.bincount([min(block.number, 2) for block in blocks], minlength=3)
        return [frequencies_p_value(found, length_probs(ones, 1.5, 2.0))]

    return check


@pytest.mark.parametrize("ones", [1, 3])
def test_rows_follow_the_buffet(ones):
    assert holds(lengths(0, ones), replicates(4000))


def test_one_row_too_many_is_caught():
    assert is_caught(lengths(1, 3), 4000)


def test_blocks_are_consistent():
    rng = np.random.default_rng(0)
    for _ in range(300):
        block = moves.propose(rng, np.array([3, 0, 5]), 6, 2.0, 1.0, 2, MANY)
        assert block.row.sum() == 2
        assert block.row[1] == block.sums[1] == 0  # a feature that nobody has is gone
        assert 2 not in block.counts
        assert len(block.counts) <= block.number
        assert block.sums.max(initial=0) <= block.number
        assert (block.number == 0) == (not block.counts)


# Row n given everything else


def small_buffet(law, discard_counts):
    """Return three rows; row 0 shares a feature with a row, one with its own discards, one not."""
    state = augmented.AugmentedState(
        rows=np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]], np.int8),
        discard_sums=np.array([[0, 1, 0, 3], [1, 0, 0, 0], [0, 0, 0, 0]]),
        n_discards=np.array([4, 1, 0]),
        discard_counts=(frozenset(discard_counts), frozenset({1}), frozenset()),
        mass=1.3,
        number=0,
    )
    laws = counts.by_row([law, counts.uniform(0, 9), counts.uniform(0, 9)])
    return moves.Buffet(state, laws, 0.7, gaussian_likelihood(DATA), MANY)


def enumerated(buffet, law):
    """Return all rows (entries of features 0, 1, 3; features of its own), with probabilities."""
    held, others = np.array([2, 3, 3]), 7  # proposals without row 0
    p = held / (0.7 + others)
    likelihood = gaussian_likelihood(DATA)
    places = [
        (z, own)
        for z in itertools.product([False, True], repeat=3)
        for own in range(law.largest + 1)
    ]
    probs = np.zeros(len(places))
    for at, (z, own) in enumerate(places):
        ones = sum(z) + own
        if ones > law.largest or ones in buffet.counts[0]:
            continue
        rows = np.zeros((3, 3 + own), np.int8)
        rows[1:, :2] = [[1, 1], [0, 1]]
        rows[0] = [*z, *[1] * own]
        prior = np.where(z, p, 1 - p).prod() * stats.poisson(1.3 * 0.7 / 7.7).pmf(own)
        seen = rows[:, rows.any(axis=0)]
        probs[at] = prior * law.probs(ones)[ones] * math.exp(likelihood(seen))
    return places, probs / probs.sum()


def place(target, z, own):
    target.z, target.own = np.array(z), own
    return target


def flip_matrix(target, places, i):
    step = np.eye(len(places))
    for a, (z, own) in enumerate(places):
        b = places.index((tuple(v ^ (j == i) for j, v in enumerate(z)), own))
        step[a, b] = 1 / (1 + np.exp(-moves.flip_log_odds(place(target, z, own), i)))
        step[a, a] = 1 - step[a, b]
    return step


def birth_matrix(target, places, probs):
    step = np.eye(len(places))
    for a, (z, own) in enumerate(places):
        for other in (own - 1, own + 1):
            if probs[a] > 0 and (z, other) in places:
                b = places.index((z, other))
                change = target.log_prob(np.array(z), other) - target.log_prob(np.array(z), own)
                step[a, b] = 0.5 * min(1.0, math.exp(change))
                step[a, a] -= step[a, b]
    return step


def relocation_matrix(target, places):
    """Take away a one at random, put it back by its weights."""
    step = np.zeros((len(places), len(places)))
    for a, (z, own) in enumerate(places):
        ones = [*np.flatnonzero(z), *[3] * own]
        if not ones:
            step[a, a] = 1
        for old in ones:
            place(target, z, own).shift(old, -1)
            log_weights = moves.relocation_log_weights(target)
            assert log_weights.size == target.z.size + 1
            weights = np.exp(log_weights - log_weights.max())
            for new in np.flatnonzero(weights):
                base = tuple(target.z.tolist()), target.own
                target.shift(new, 1)
                there = tuple(target.z.tolist()), target.own
                place(target, *base)
                if there in places:
                    step[a, places.index(there)] += weights[new] / weights.sum() / len(ones)
    return step


ROW_LAWS = {
    "interval": (counts.uniform(0, 4), ()),
    "with an indicator": (counts.table([0.1, 0.2, 0.3, 0.1, 0.3]), (0, 3)),
    "point mass": (counts.exactly(2), (1,)),
}


@pytest.mark.parametrize("name", ROW_LAWS)
def test_row_moves_are_stationary(name):
    law, forbidden = ROW_LAWS[name]
    buffet = small_buffet(law, forbidden)
    places, probs = enumerated(buffet, law)
    target = moves.RowTarget(buffet, 0)
    assert (target.z.tolist(), target.own) == ([True, False, False], 1)
    log_probs = np.array([target.log_prob(np.array(z), own) for z, own in places])
    found = np.exp(log_probs - log_probs.max())
    np.testing.assert_allclose(found / found.sum(), probs, rtol=1e-11)
    steps = [flip_matrix(target, places, i) for i in range(3)]
    steps += [birth_matrix(target, places, probs), relocation_matrix(target, places)]
    for step in steps:
        assert np.abs(probs @ step - probs).max() < 1e-12
    target.log_rate += 0.1  # as one row too many would do
    assert np.abs(probs @ relocation_matrix(target, places) - probs).max() > 1e-4


def test_features_are_visited_in_random_order(monkeypatch):
    """Columns stand in order of appearance, which knows the row: walking along them is biased."""
    seen = []
    target = moves.RowTarget(small_buffet(counts.uniform(0, 4), ()), 0)
    monkeypatch.setattr(moves, "flip_log_odds", lambda target, i: seen.append(i) or -math.inf)

    def p_values(n, seed):
        seen.clear()
        rng = np.random.default_rng(seed)
        for _ in range(n):
            moves.flip_each(rng, target)
        orders = np.array(seen).reshape(-1, 3) @ [9, 3, 1]
        found = np.bincount(orders, minlength=27)
        return [frequencies_p_value(found[[5, 7, 11, 15, 19, 21]], [1] * 6), orders.size == n]

    assert holds(p_values, replicates(600))


def test_row_updates_draw_from_the_enumerated_law():
    law, forbidden = ROW_LAWS["with an indicator"]
    buffet = small_buffet(law, forbidden)
    places, probs = enumerated(buffet, law)
    likely = np.flatnonzero(probs > 0.02)

    def p_values(n, seed, probs=probs):
        rng, target, found = np.random.default_rng(seed), moves.RowTarget(buffet, 0), []
        for _ in range(n):
            moves.flip_each(rng, target)
            moves.add_or_remove(rng, target)
            moves.relocate_each(rng, target)
            found.append(places.index((tuple(target.z.tolist()), target.own)))
        hits = np.array(found)[:, None] == likely
        return along_a_chain(hits, probs[likely], 0 * likely)

    assert holds(p_values, replicates(3000))
    assert is_caught(lambda n, seed: p_values(n, seed, 0.8 * probs), 3000)


# Each move alone keeps the joint law: exact draws of the prior, data, then the move


def stepped(step, laws, mass=2.0):
    """Return a check that a step given data keeps the joint law of states and data."""
    return AugmentedTrial(step, laws, mass).one_sweep


def alone(move):
    """Return the step that makes one kind of move, twice for each row."""

    def step(rng, state, laws, concentration, log_likelihood):
        buffet = moves.Buffet(state, laws, concentration, log_likelihood, MANY)
        for n in (0, 1, 2, 0, 1, 2):
            move(rng, buffet, n)
        return buffet.state(1)

    return step


@pytest.mark.parametrize("move", [moves.redraw_block, moves.change_row, moves.redraw_discards])
def test_each_move_keeps_the_joint_law(move):
    assert holds(stepped(alone(move), MIXED), replicates(600, 5000))


def without_indicator(rng, buffet, n):
    counts_of_discards, buffet.counts[n] = buffet.counts[n], frozenset()
    moves.change_row(rng, buffet, n)
    buffet.counts[n] = counts_of_discards


def always_accepting(rng, buffet, n):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves, "accepts", lambda rng, log_ratio: True)
        moves.redraw_discards(rng, buffet, n)


def deaf_to_data(rng, buffet, n):
    buffet.log_lik = -math.inf
    moves.redraw_block(rng, buffet, n)


BROKEN = {
    "no indicator": (without_indicator, SPREAD, 200),
    "discards always accepted, as printed": (always_accepting, HOLE, 2500),
    "blocks always accepted": (deaf_to_data, FEW, 300),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_moves_are_caught(name):
    move, laws, n = BROKEN[name]
    assert is_caught(stepped(alone(move), laws), n)


# The mass


def mass_from_kept_rows(rng, state, laws, concentration, log_likelihood):
    kept = state._replace(
        rows=state.rows[:, state.rows.any(axis=0)], n_discards=0 * state.n_discards
    )
    return state._replace(mass=augmented.draw_mass(rng, kept, concentration, MASS_PRIOR))


def test_learned_mass_joint_distribution():
    assert holds(stepped(augmented_sweep(learn_mass=True), FEW, mass=None), replicates(600, 5000))


def test_mass_from_kept_rows_is_caught():
    assert is_caught(stepped(mass_from_kept_rows, FEW, mass=None), 1500)


# The prior


@pytest.mark.parametrize(
    ("mass", "concentration", "same"), [(1.0, 1.0, 0.56146), (2.0, 1.0, 0.44066), (1, 2.5, 0.3231)]
)
def test_prior_draws_have_the_reference_values(mass, concentration, same):
    law = counts.as_row_counts("exactly(1)", 2)

    def p_values(n, seed, expected=same):
        rng = np.random.default_rng(seed)
        drawn = [augmented.draw_prior(rng, law, mass, concentration, MANY).rows for _ in range(n)]
        return [mean_p_value([(rows[0] == rows[1]).all() for rows in drawn], expected, 5e-6)]

    assert holds(p_values, replicates(2000))
    assert is_caught(lambda n, seed: p_values(n, seed, same + 0.1), 2000)


def test_a_run_without_data_has_the_reference_value():
    law = counts.as_row_counts("exactly(1)", 2)

    def p_values(n, seed):
        rng = np.random.default_rng(seed)
        state, found = augmented.draw_prior(rng, law, 1.0, 1.0, MANY), []
        for _ in range(n):
            state, _ = augmented.update(
                rng, state, law, 1.0, flat, learn_mass=False, max_discards=MANY
            )
            found.append([(state.rows[0] == state.rows[1]).all()])
        return along_a_chain(np.array(found), [0.56146], [5e-6])

    assert holds(p_values, replicates(1500))


# The posterior of three rows


def codes(rows):
    """Return a number for each matrix (..., 3, features) that does not depend on column order."""
    patterns = (rows * BITS[:, None]).sum(axis=-2)
    return sum((patterns == k).sum(axis=-1) * 16 ** (k - 1) for k in range(1, 8))


def rows_of(code):
    patterns = [k for k in range(1, 8) for _ in range(code >> 4 * (k - 1) & 15)]
    return np.array([[(k >> n) & 1 for k in patterns] for n in range(3)], np.int8).reshape(3, -1)


def partition_prior(laws, mass, concentration, n, seed):
    """Return codes and probabilities of three rows with one feature each, by quadrature.

    Rows share as in sampling from the normalised odds w: a given partition into blocks of n_b
    rows has probability int u^2/2 exp(-psi(u)) prod_b kappa_{n_b}(u) du, with kappa_n(u) =
    int w^n exp(-uw) nu(dw) and psi(u) = int (1 - exp(-uw)) nu(dw). Grids are even in log w, log u.
    """
    x = np.linspace(-40, 45, 1000)
    w = np.exp(x)
    u, step = w[:, None], x[1] - x[0]
    density = mass * concentration * (1 + w) ** -concentration * step  # of log w
    kappa = {n: (np.exp(n * x - u * w) * density).sum(axis=1) for n in (1, 2, 3)}
    psi = (-np.expm1(-u * w) * density).sum(axis=1)

    def chance(*sizes):
        product = np.prod([kappa[n] * w**n for n in sizes], axis=0)
        return (product * np.exp(-psi)).sum() * step / 2

    partitions = {(7,): chance(3), (1, 2, 4): chance(1, 1, 1)}
    partitions |= dict.fromkeys([(3, 4), (5, 2), (6, 1)], chance(2, 1))
    keys = [sum(16 ** (k - 1) for k in blocks) for blocks in partitions]
    return np.array(keys), np.array(list(partitions.values())), math.inf


def simulated_prior(laws, mass, concentration, n, seed):
    """Return codes, frequencies and the number of draws, thirty times as many as the chain has."""
    rng = np.random.default_rng([seed, 1])
    drawn = [simulated_codes(rng, laws, mass, concentration) for _ in range(max(1, 30 * n // PART))]
    keys, seen = np.unique(drawn, return_counts=True)
    return keys, seen / seen.sum(), seen.sum()


def simulated_codes(rng, laws, mass, concentration, n=PART, atoms=80):
    """Return codes of draws of the prior, with weights of a beta process from sticks.

    For c = 1 the sizes are products of Beta(alpha, 1) sticks; for c > 1, those of mass c alpha,
    each kept with probability (1-pi)^{c-1}.
    """
    log_size = -np.cumsum(rng.exponential(size=(atoms, n)), axis=0) / (mass * concentration)
    rest = -np.expm1(log_size)
    kept = rng.random(rest.shape) < rest ** (concentration - 1)
    odds = np.where(kept, np.exp(log_size) / rest, 0)
    e = np.zeros((atoms + 1, 4, n))
    e[0, 0] = 1
    for i in range(atoms):
        e[i + 1] = e[i]
        e[i + 1, 1:] += odds[i] * e[i, :-1]
    rows, every = np.zeros((n, 3, atoms), bool), np.arange(n)
    for row, law in enumerate(laws):
        left = law.sample(rng, n)
        for i in range(atoms - 1, -1, -1):
            chance = odds[i] * e[i, left - 1, every] / e[i + 1, left, every]
            rows[:, row, i] = (left > 0) & (rng.random(n) < chance)
            left = left - rows[:, row, i]
    return codes(rows)


def posterior(prior):
    """Return codes, their posterior probabilities and the standard errors of these."""
    keys, probs, n = prior
    likelihood = np.exp([gaussian_likelihood(DATA)(rows_of(int(k))) for k in keys])
    weights = likelihood / (probs @ likelihood)
    result = probs * weights
    spread = (probs * weights**2) @ (np.eye(keys.size) - result) ** 2
    return keys, result, np.sqrt(spread / n)


def along_a_chain(hits, probs, errors):
    """Return p-values of a chain's frequencies, by means of batches."""
    batches = np.array([part.mean(axis=0) for part in np.array_split(hits, 40)])
    return list(map(mean_p_value, batches.T, probs, errors))


POSTERIORS = {
    "one feature": (partition_prior, [counts.exactly(1)] * 3, 1.0, 1.0),
    "one feature, concentration 2.5": (partition_prior, [counts.exactly(1)] * 3, 1.0, 2.5),
    "two features": (simulated_prior, [counts.exactly(2)] * 3, 2.0, 1.0),
    "one or two": (simulated_prior, [counts.uniform(1, 2)] * 3, 1.5, 2.5),
    "one or three": (simulated_prior, list(HOLE), 2.0, 2.5),
    "by row": (simulated_prior, list(MIXED), 2.0, 2.5),
}


def run(laws, mass, concentration, n, seed):
    rng = np.random.default_rng(seed)
    state, found = augmented.draw_prior(rng, laws, mass, concentration, MANY), []
    for _ in range(n):
        state, _ = augmented.update(
            rng, state, laws, concentration, gaussian_likelihood(DATA), learn_mass=False,
            max_discards=MANY,
        )  # fmt: skip
        found.append(codes(state.rows))
    return np.array(found)


@pytest.mark.parametrize("name", POSTERIORS)
def test_posterior_of_three_rows(name):
    prior, laws, mass, concentration = POSTERIORS[name]

    def p_values(n, seed):
        keys, probs, errors = posterior(prior(laws, mass, concentration, n, seed))
        found = run(counts.by_row(laws), mass, concentration, n, seed)
        assert np.isin(found, keys).mean() > 0.99
        return {
            str(key): p
            for key, p, prob in zip(
                keys, along_a_chain(found[:, None] == keys, probs, errors), probs, strict=True
            )
            if prob > 0.02
        }

    assert holds(p_values, replicates(800))


@pytest.mark.parametrize(("concentration", "same"), [(1.0, 0.56146), (2.5, 0.3231)])
def test_the_prior_by_quadrature_has_the_reference_values(concentration, same):
    _, probs, _ = partition_prior(None, 1.0, concentration, 0, 0)
    assert probs.sum() == pytest.approx(1, abs=1e-5)
    assert probs[0] + probs[2] == pytest.approx(same, abs=1e-5)


# The state, the limits and the door


def test_states_stay_consistent():
    rng, data = np.random.default_rng(4), np.random.default_rng(0).normal(size=(3, 2))
    log_likelihood = gaussian_likelihood(data)
    state = augmented.draw_prior(rng, MIXED, 2.0, 2.0)
    for number in range(60):
        rows, sums = state.rows.copy(), state.discard_sums.copy()
        new, info = augmented.update(
            rng, state, MIXED, 2.0, log_likelihood, learn_mass=True, mass_prior=MASS_PRIOR
        )
        np.testing.assert_array_equal(state.rows, rows)
        np.testing.assert_array_equal(state.discard_sums, sums)
        state = new
        assert state.number == number + 1
        assert (state.rows.any(axis=0) | state.discard_sums.any(axis=0)).all()
        assert (state.discard_sums <= state.n_discards[:, None]).all()
        for n, ones in enumerate(state.rows.sum(axis=1).tolist()):
            assert MIXED[n].probs(ones)[ones] > 0
            assert ones not in state.discard_counts[n]
        kept = state.rows[:, state.rows.any(axis=0)]
        assert info.log_likelihood == pytest.approx(log_likelihood(kept), abs=1e-12)
        assert info.n_discards == state.n_discards.sum()


def test_the_same_seed_gives_the_same_chain():
    first, second = (run(MIXED, 2.0, 2.0, 20, 7) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_large_counts_are_looked_up_too():
    buffet = small_buffet(counts.poisson(20), ())
    for ones in (3, 40, 200):
        assert buffet.log_f(0, ones) == pytest.approx(stats.poisson(20).logpmf(ones))


def test_a_limit_that_is_met_is_an_error():
    law = counts.as_row_counts("exactly(10)", 4)
    rng = np.random.default_rng(0)
    with pytest.raises(ProposalLimitError, match=r"max_discards=1000 .* row 0 .* 10 ones") as error:
        augmented.draw_prior(rng, law, 1.0, 1.0, 1000)
    assert (error.value.n_proposed, error.value.n_accepted) == (1000, 0)
    assert "method='gibbs'" in str(error.value)
    one = counts.as_row_counts("exactly(1)", 4)
    state = augmented.draw_prior(rng, one, 1.0, 1.0)
    with pytest.raises(ProposalLimitError, match="10 ones") as error:
        augmented.update(rng, state, law, 1.0, flat, learn_mass=False, max_discards=1000)
    assert error.value.n_accepted == 3
    state = state._replace(n_discards=np.array([0, 1001, 0, 0]))
    with pytest.raises(ProposalLimitError, match="max_discards=1000"):
        augmented.update(rng, state, one, 1.0, flat, learn_mass=False, max_discards=1000)


def test_forecasts():
    rng = np.random.default_rng(0)
    hopeless = augmented.forecast(rng, counts.as_row_counts("exactly(10)", 12), 1.0, 1.0)
    assert not hopeless.feasible
    assert hopeless.share_beyond > 0.9
    easy = augmented.forecast(rng, counts.as_row_counts("exactly(2)", 12), 2.0, 1.0)
    assert easy.feasible
    assert easy.quartiles == tuple(sorted(easy.quartiles))
    unknown_mass = augmented.forecast(rng, counts.as_row_counts("exactly(2)", 12), None, 1.0)
    assert not unknown_mass.feasible


def test_forecasts_are_right():
    """About half of the draws of the prior have fewer discards than the forecast's median."""
    rng, law = np.random.default_rng(0), counts.as_row_counts("uniform(1,2)", 5)
    median = augmented.forecast(rng, law, 2.0, 1.0, n_draws=1000).quartiles[1]
    found = [augmented.draw_prior(rng, law, 2.0, 1.0, MANY).n_discards.sum() for _ in range(300)]
    assert 0.7 < np.median(found) / median < 1.3


def test_the_door():
    rng = np.random.default_rng(0)
    learned = counts.as_row_counts(counts.learned([1, 1]), 3)
    state = augmented.draw_prior(rng, MIXED, 2.0, 2.0)
    with pytest.raises(InputError, match="known laws"):
        augmented.draw_prior(rng, learned, 1.0, 1.0)
    with pytest.raises(InputError, match="known laws"):
        augmented.update(rng, state, learned, 1.0, flat, learn_mass=False)
    with pytest.raises(InputError, match="rows"):
        augmented.update(rng, state, MIXED[:2], 1.0, flat, learn_mass=False)
    with pytest.raises(InputError, match="finite"):
        augmented.update(rng, state, MIXED, 1.0, lambda z: math.nan, learn_mass=False)
    with pytest.raises(InputError, match="mass"):
        augmented.draw_prior(rng, MIXED, -1.0, 1.0)
    with pytest.raises(InputError, match="concentration"):
        augmented.draw_prior(rng, MIXED, 1.0, 0.0)
