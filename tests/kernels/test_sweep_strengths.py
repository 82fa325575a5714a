"""Rows with strengths given the features: conditionals and transitions against enumeration."""

import numpy as np
import pytest

from ribp.kernels import strength_support as supports
from ribp.kernels import sweep_strengths as kernel
from ribp.kernels import whole_rows
from ribp.kernels.choose import FAR
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.row_cases import (
    EXACT,
    FEATURES,
    ONES,
    ROWS,
    SEEN,
    TABLE,
    THETA,
    after_flip,
    after_proposal,
    after_relocations,
    after_walk,
    posterior,
    proposal_law,
    step,
)
from tests.helpers.strength_cases import (
    COMMON,
    DIAGONAL,
    LAWS,
    LOADINGS,
    NOISE,
    OFFSET,
    A,
    X,
    at_hand,
    exact_moments,
    log_likelihood,
    supported,
)

NEARLY = {"rtol": 0, "atol": 1e-9}  # 1/M_aa - lambda loses lambda eps


def conditionals(seen, table, law, gain=None):
    """Return functions of a row: flip log-odds and relocation log-weights."""
    mu, tau = LAWS[law]

    def log_odds(z, i):
        support, size, _ = supported(z, seen, law)
        g, rho, _ = kernel.own_terms(i, z, size, support, mu, tau)
        gained = (gain or supports.gain)(g, rho, mu, tau)
        return THETA[i] + gained + step(table, int(z.sum() - z[i]))

    def log_weights(z, i):
        support, size, _ = supported(z, seen, law)
        return weights_of(supports.slot_of(i, size, support.slots), z, size, support, mu, tau)

    return log_odds, log_weights


def weights_of(a, z, size, support, mu, tau):
    """Return the log-weights of places for the one in slot a."""
    out = np.empty(FEATURES)
    supports.fill_out(a, size, support)
    kernel.relocation_log_weights(a, z, THETA, support, mu, tau, out)
    return out


def loud_supports(law, loud):
    """Yield rows with their supports, where data have more to say."""
    b, squares, gram = at_hand(SEEN["all"])
    b, squares, gram = b * loud, squares * loud, gram._replace(matrix=gram.matrix * loud)
    for z in ROWS:
        support = supports.new_support(FEATURES)
        size, _ = supports.build(z, b, support, gram, squares, *LAWS[law], False)
        yield z, size, support, squares


each_far = pytest.mark.parametrize("far", [-FAR, -5.0, -0.5])


@each_far
@pytest.mark.parametrize("loud", [1.0, 40.0])
@pytest.mark.parametrize("law", ["around one", "signed"])
def test_only_places_that_may_be_chosen_are_looked_at(law, loud, far):
    mu, tau = LAWS[law]
    for z, size, support, squares in loud_supports(law, loud):
        found = []
        for a in range(size):
            moves = kernel.may_move(far, a, a + 1, z, size, THETA, support, mu, tau)
            out, i = weights_of(a, z, size, support, mu, tau), support.slots[a]
            others = np.delete(out, i).max() - out[i]
            assert moves or others < far
            assert not moves or others > far - tau * np.sqrt(squares.max())
            found.append(moves)
        assert kernel.may_move(far, 0, size, z, size, THETA, support, mu, tau) == any(found)


def changes(z, size, support, step, mu, tau):
    """Return the log-odds that each feature changes."""
    found = []
    for i in range(FEATURES):
        g, rho, _ = kernel.own_terms(i, z, size, support, mu, tau)
        log_odds = THETA[i] + supports.gain(g, rho, mu, tau) + step[size - z[i]]
        found.append(-log_odds if z[i] else log_odds)
    return np.array(found)


@each_far
@pytest.mark.parametrize("loud", [1.0, 40.0])
@pytest.mark.parametrize("law", ["around one", "signed"])
def test_only_flips_that_may_be_made_are_looked_at(law, loud, far):
    mu, tau = LAWS[law]
    step_of = np.array([step(TABLE["interval"], k) for k in range(FEATURES)])
    for z, size, support, squares in loud_supports(law, loud):
        if np.isfinite(TABLE["interval"][size]):
            most = changes(z, size, support, step_of, mu, tau).max()
            flips = kernel.may_flip(far, z, size, THETA, support, step_of, mu, tau)
            assert flips or most < far
            assert not flips or most > far - tau * np.sqrt(squares.max())


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("law", ["around one", "signed"])
def test_the_first_flip_is_where_hazards_pass_the_clock(law, first):
    """Survival to feature i has the chance of no change before it."""
    mu, tau = LAWS[law]
    step_of = np.array([step(TABLE["interval"], k) for k in range(FEATURES)])
    for z, size, support, _ in loud_supports(law, 1.0):
        if np.isfinite(TABLE["interval"][size]):
            stays = 1.0 / (1.0 + np.exp(changes(z, size, support, step_of, mu, tau)))
            hazards = -np.log(np.cumprod(stays[first:]))
            given = (z, size, THETA, support, step_of, mu, tau)
            assert kernel.most_hazards(first, *given) >= hazards[-1]
            for at, total in enumerate(hazards):
                before = hazards[at - 1] if at else 0.0
                if total > before:
                    middle = min(0.5 * (before + total), before + 50.0)
                    assert kernel.first_flip(first, middle, *given) == first + at
            assert kernel.first_flip(first, 1.001 * hazards[-1] + 1e-9, *given) == FEATURES
            assert kernel.first_flip(first, np.inf, *given) == FEATURES


def test_the_hazard_of_a_move_is_that_of_its_chance_to_stay():
    log_weights = np.array([0.3, -np.inf, 2.0, -1.0, -90.0])
    stays = np.exp(log_weights[2]) / np.exp(log_weights).sum()
    assert kernel.hazard_of_move(2, log_weights) == pytest.approx(-np.log(stays), rel=1e-14)
    np.testing.assert_array_equal(log_weights, [0.3, -np.inf, -np.inf, -1.0, -90.0])


@pytest.mark.parametrize("law", ["around one", "signed"])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("table", TABLE)
def test_flips_and_relocations_leave_the_posterior_unchanged(table, seen, law):
    pi = posterior(log_likelihood(SEEN[seen], *LAWS[law]), TABLE[table])
    log_odds, log_weights = conditionals(SEEN[seen], TABLE[table], law)
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(pi, i, log_odds), pi, **EXACT)
    np.testing.assert_allclose(after_relocations(pi, log_weights), pi, **EXACT)


def test_nearly_on_off_is_the_law_of_binary_rows():
    scaled = ((X - OFFSET - ROWS @ A) / NOISE) ** 2
    binary = posterior(-0.5 * scaled.sum(axis=1), TABLE["interval"])
    nearly = posterior(log_likelihood(SEEN["all"], *LAWS["nearly on-off"]), TABLE["interval"])
    np.testing.assert_allclose(nearly, binary, atol=1e-5)  # tau^2 G
    log_odds, log_weights = conditionals(SEEN["all"], TABLE["interval"], "nearly on-off")
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(nearly, i, log_odds), nearly, **NEARLY)
    np.testing.assert_allclose(after_relocations(nearly, log_weights), nearly, **NEARLY)


def without_determinant(g, rho, mu, tau):
    """Return the gain of the broken twin that forgets the log-determinant."""
    return supports.most_gain(g, rho, mu, tau)


def test_broken_twins_of_the_moves_are_caught():
    pi = posterior(log_likelihood(SEEN["all"], *LAWS["signed"]), TABLE["interval"])
    log_odds, _ = conditionals(SEEN["all"], TABLE["interval"], "signed", without_determinant)
    assert np.abs(after_flip(pi, 0, log_odds) - pi).sum() > 1e-2
    _, log_weights = conditionals(SEEN["all"], TABLE["interval"], "signed")
    assert np.abs(after_walk(pi, log_weights) - pi).sum() > 1e-3


@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("table", ["a hole", "interval"])
def test_whole_rows_leave_the_posterior_unchanged(table, seen, damped):
    table, (mu, tau) = TABLE[table], LAWS["around one"]
    exact = log_likelihood(SEEN[seen], mu, tau)
    pi = posterior(exact, table)
    b, squares, _ = at_hand(SEEN[seen])
    mean, precision, shift = 0.4, 5.0, np.empty(FEATURES)
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + precision))
    kernel.fill_shift(b, squares, DIAGONAL, guide, mean, precision, mu, tau, shift)
    whole_rows.temper(0.9 if damped else 0.1, shift)
    q = proposal_law(table, THETA + shift)
    scores = np.array([supported(z, SEEN[seen], "around one")[2] for z in ROWS])
    np.testing.assert_allclose(after_proposal(pi, q, scores - ROWS @ shift), pi, **EXACT)
    assert np.abs(after_proposal(pi, q, scores) - pi).sum() > 1e-3 or seen == "none"


def sweeps(n, seed, seen, table, law, moves, twist=lambda sizes: sizes):
    """Return z, strengths and data after sweeps that begin at the posterior of a random row."""
    rng, (mu, tau) = np.random.default_rng(seed), LAWS[law]
    pi = posterior(log_likelihood(seen, mu, tau), table)
    z = ROWS[rng.choice(len(ROWS), n, p=pi)]
    rows = np.where(z == 1, 1.0, 0.0)
    b, _, _ = at_hand(seen)
    products = np.tile(b, (n, 1))
    observed = np.tile(seen, (n, 1)) if not seen.all() else np.empty((0, 0), bool)
    steps = np.full((1, FEATURES), -np.inf)
    finite = np.isfinite(table[1:])
    np.subtract(table[1:], table[:-1], out=steps[0], where=finite)
    mean, precision = 0.4, 5.0
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + precision))
    kernel.sweep(
        np.uint64(seed), 3, 0, products, observed, rows, LOADINGS, COMMON, DIAGONAL, THETA,
        table[None], steps, np.zeros(n, np.int64), np.array([moves]), guide, mean, precision,
        mu, tau,
    )  # fmt: skip
    return twist(rows), pi


def checks_of(seen, table, law, moves, twist=lambda sizes: sizes):
    """Return a check: supports and strengths of rows after a sweep have their posterior."""
    mu, tau = LAWS[law]

    def check(n, seed):
        rows, pi = sweeps(n, seed, seen, table, law, moves, twist)
        z = (rows != 0).astype(np.int8)
        values = z @ (1 << np.arange(FEATURES))
        means, squares = np.zeros(FEATURES), np.zeros(FEATURES)
        for at, row in enumerate(ROWS):
            m, cov = exact_moments(row, seen, mu, tau)
            means[row == 1] += pi[at] * m
            squares[row == 1] += pi[at] * (m**2 + np.diag(cov))
        found = [mean_p_value(values == at, pi[at]) for at in np.flatnonzero(pi > 1e-3)]
        found += list(map(mean_p_value, rows.T, means))
        return found + list(map(mean_p_value, (rows**2).T, squares))

    return check


ALL = (True, True, True)


@pytest.mark.jit
@pytest.mark.parametrize("seen", ["all", "most", "few"])
@pytest.mark.parametrize(
    ("table", "law"), [("interval", "around one"), ("one count", "signed"), ("a hole", "signed")]
)
def test_sweeps_keep_the_posterior_of_supports_and_strengths(table, law, seen):
    assert holds(checks_of(SEEN[seen], TABLE[table], law, ALL), replicates(20_000))


def carried(rows):
    """Break strengths: those of the prior mean, as if the data had not been seen."""
    return np.where(rows != 0, 1.0 + 0.9 * (rows - 1.0), 0.0)


@pytest.mark.jit
def test_strengths_that_are_wrong_are_caught():
    check = checks_of(SEEN["all"], TABLE["interval"], "around one", ALL, carried)
    assert is_caught(check, 20_000)


@pytest.mark.parametrize("moves", [ALL, (False, False, False)])
@pytest.mark.parametrize("seen", ["all", "few"])
def test_a_few_rows_are_swept_without_the_compiler_too(seen, moves):
    for law in ("around one", "signed"):
        rows, _ = sweeps(60, 1, SEEN[seen], TABLE["interval"], law, moves)
        ones = (rows != 0).sum(axis=1)
        assert np.isfinite(rows).all()
        assert set(ones) <= set(ONES)


def test_features_that_are_certain_need_no_random_numbers():
    theta = np.array([50.0, -50.0, 50.0, -50.0])
    rows = np.ones((1, FEATURES)) * (theta > 0)
    b, squares, _ = at_hand(SEEN["all"])
    kernel.sweep(
        np.uint64(1), 0, 0, 1e-3 * b[None], np.empty((0, 0), bool), rows, LOADINGS, COMMON,
        squares, theta, np.zeros((1, FEATURES + 1)), np.zeros((1, FEATURES)),
        np.zeros(1, np.int64), np.array([(True, False, False)]), COMMON, 0.4, 5.0, 1.0, 0.4,
    )  # fmt: skip
    np.testing.assert_array_equal(rows[0] != 0, theta > 0)


def test_a_feature_without_a_doubt_stays_beside_one_that_moves():
    rows = np.tile([1.0, 1.0, 0.0, 0.0], (40, 1))
    kernel.sweep(
        np.uint64(1), 0, 0, np.tile([2000.0, 0.2, 0.2, 0.1], (40, 1)), np.empty((0, 0), bool),
        rows, LOADINGS, np.zeros_like(COMMON), np.array([2000.0, 0.5, 0.5, 0.5]), THETA,
        TABLE["one count"][None], np.full((1, FEATURES), -np.inf), np.zeros(40, np.int64),
        np.array([(False, True, False)]), COMMON, 0.4, 5.0, 1.0, 0.4,
    )  # fmt: skip
    assert rows[:, 0].all()
    assert ((rows != 0).sum(axis=0)[1:] > 0).all()
    np.testing.assert_array_equal((rows != 0).sum(axis=1), 2)
