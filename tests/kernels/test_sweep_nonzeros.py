"""Rows that count, non-zeros restricted: conditionals and transitions against enumeration."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit, logsumexp

import ribp
from ribp.kernels import sweep_nonzeros as kernel
from ribp.kernels.choose import FAR
from ribp.kernels.value_bounds import Terms, fill_terms
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.multiplicity_cases import (
    COMMON,
    DIAGONAL,
    DIMS,
    EXACT,
    FEATURES,
    LAWS,
    LOADINGS,
    LOG_CONCAVE,
    NOISE,
    SEEN,
    A,
    X,
    all_count_rows,
    at_hand,
    growth_of,
    hazards,
    log_prior_weights,
    log_rates,
    posterior,
    row_law,
    steps_of,
    tables_of,
)

MOST = 11  # beyond lies less than 1e-16 of every law here but for one
ROWS = all_count_rows(MOST)
GUIDED = (0.6, 1.0 / 0.8)  # mean and precision of an entry, about
CODE = (MOST + 1) ** np.arange(FEATURES - 1, -1, -1)
each_kind = pytest.mark.parametrize("kind", LOG_CONCAVE)
each_law = pytest.mark.parametrize("law", LAWS)
each_seen = pytest.mark.parametrize("seen", ["all", "most"])


def terms_of(squares):
    terms = Terms(squares, np.empty_like(squares), np.empty_like(squares))
    fill_terms(terms)
    return terms


def entries_of(kind):
    hazard = hazards(kind)
    return kernel.Entries(
        log_rates(kind), np.log(hazard), np.log(np.expm1(hazard)), growth_of(kind)
    )


class Case:
    """A row with its law and data, as kernels have them, and its enumerated posterior."""

    def __init__(self, kind, law, seen):
        self.kind, self.entries = kind, entries_of(kind)
        self.b, self.squares, self.gram = at_hand(SEEN[seen])
        self.table, self.step = tables_of(kind, LAWS[law], "nonzeros", FEATURES)
        self.pi = posterior(ROWS, kind, LAWS[law], "nonzeros", SEEN[seen])

    def gain(self, z):
        gain, active = np.empty(FEATURES), np.empty(FEATURES, np.int64)
        rates = self.entries.log_rates
        nonzeros = kernel.fill_gain(z, rates, self.b, self.gram, gain, active)
        np.testing.assert_array_equal(active[:nonzeros], np.flatnonzero(z))
        return gain

    def values(self, i, gain):
        """Return the log-weights of the values 1 .. MOST of entry i."""
        v, rate = np.arange(1, MOST + 1), np.exp(self.entries.log_rates[i])
        slope = gain - self.entries.log_rates[i]
        log_a = log_prior_weights(self.kind, rate, v)
        return log_a + slope * v - 0.5 * self.squares[i] * v**2

    def shares(self, i, gain):
        """Return the probabilities of the values of entry i if it is positive."""
        log_p = self.values(i, gain)
        return np.exp(log_p - logsumexp(log_p))

    def after_value(self, pi, i):
        moved = np.zeros_like(pi)
        for at in np.flatnonzero(pi > 1e-17):
            z = ROWS[at].astype(float)
            gain, others = self.gain(z), int((z > 0).sum() - (z[i] > 0))
            p = expit(kernel.value_log_odds(i, gain, self.squares, self.step[others], self.entries))
            base = at - int(z[i]) * CODE[i]
            moved[base] += pi[at] * (1 - p)
            moved[base + CODE[i] * np.arange(1, MOST + 1)] += pi[at] * p * self.shares(i, gain[i])
        return moved

    def relocated(self, at, i, carry=False):
        """Return states and probabilities when the entry at i moves; the twin carries its value."""
        z, out = ROWS[at].astype(float), np.empty(FEATURES)
        kernel.relocation_log_weights(
            i, z, self.gain(z), terms_of(self.squares), self.gram, self.entries, out
        )
        places = np.exp(out - logsumexp(out))
        kernel.set_value(i, 0.0, z, np.empty(FEATURES), self.gram)
        gain, base, law = self.gain(z), at - ROWS[at, i] * CODE[i], np.zeros(len(ROWS))
        for j in range(FEATURES):
            if carry and places[j] > 0:
                law[base + CODE[j] * ROWS[at, i]] += places[j]
            elif places[j] > 0:
                law[base + CODE[j] * np.arange(1, MOST + 1)] += places[j] * self.shares(j, gain[j])
        return law

    def after_relocation(self, **twin):
        """Return the law after one entry, chosen at random, was moved."""
        moved = np.zeros_like(self.pi)
        for at in np.flatnonzero(self.pi > 1e-17):
            on = np.flatnonzero(ROWS[at])
            for i in on:
                moved += self.pi[at] / on.size * self.relocated(at, i, **twin)
            moved[at] += self.pi[at] * (on.size == 0)
        return moved


@each_kind
@each_law
@each_seen
def test_values_leave_the_posterior_unchanged(kind, law, seen):
    case = Case(kind, law, seen)
    for i in range(FEATURES):
        np.testing.assert_allclose(case.after_value(case.pi, i), case.pi, **EXACT)


@each_kind
@each_law
@each_seen
def test_relocations_leave_the_posterior_unchanged(kind, law, seen):
    case = Case(kind, law, seen)
    np.testing.assert_allclose(case.after_relocation(), case.pi, **EXACT)


def test_values_that_are_carried_along_are_caught():
    case = Case("poisson", "one count", "most")
    assert np.abs(case.after_relocation(carry=True) - case.pi).sum() > 0.01


def test_relocations_that_walk_are_caught():
    case = Case("negative_binomial", "interval", "most")
    pi = case.pi
    for i in range(FEATURES):
        on = ROWS[:, i] > 0
        moved = np.where(on, 0.0, pi)
        for at in np.flatnonzero(on & (pi > 1e-17)):
            moved += pi[at] * case.relocated(at, i)
        pi = moved
    assert np.abs(pi - case.pi).sum() > 0.01


def test_flips_without_the_step_of_the_law_are_caught():
    case = Case("poisson", "interval", "most")
    case.step = np.zeros_like(case.step)
    assert np.abs(case.after_value(case.pi, 0) - case.pi).sum() > 0.01


@each_seen
def test_gains_stay_those_of_the_row(seen):
    case, z = Case("poisson", "interval", seen), np.array([2.0, 0.0, 1.0])
    gain = case.gain(z)
    for i, value in [(0, 3.0), (1, 5.0), (0, 0.0), (2, 1.0), (2, 0.0), (1, 2.0)]:
        kernel.set_value(i, value, z, gain, case.gram)
        assert z[i] == value
        np.testing.assert_allclose(gain, case.gain(z), rtol=1e-12)


def test_places_that_cannot_be_chosen_are_skipped():
    case = Case("poisson", "interval", "all")
    gain, row = np.array([300.0, -900.0, 5.0]), np.array([1.0, 0.0, 0.0])
    out, gram = np.empty(FEATURES), case.gram._replace(matrix=np.zeros((3, 3)))
    squares = np.full(FEATURES, 100.0)
    kernel.relocation_log_weights(0, row, gain, terms_of(squares), gram, case.entries, out)
    assert out[1] == -np.inf
    assert np.isfinite(out[[0]]).all()


def loud_case(kind, truth, loud):
    """Return a case whose data are those of `truth` without noise, and how loud they are."""
    case = Case(kind, "interval", "all")
    case.b = loud * (case.gram.matrix @ truth + case.squares * truth)
    case.squares = case.squares * loud
    case.gram = case.gram._replace(matrix=case.gram.matrix * loud)
    return case


TRUTHS = np.array([[2.0, 0.0, 1.0], [1.0, 3.0, 1.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("loud", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("truth", TRUTHS)
@each_kind
def test_what_may_not_change_is_certain(kind, truth, loud):
    case = loud_case(kind, truth, loud)
    terms, active, settled = terms_of(case.squares), np.empty(FEATURES, np.int64), []
    steps = np.append(case.step, -np.inf)
    for z in ROWS[(ROWS <= 3).all(axis=1)].astype(float):
        gain, on = case.gain(z), np.flatnonzero(z)
        active[: on.size] = on
        if not kernel.may_change_value(z, on.size, gain, terms, active, case.step):
            settled.append(tuple(z))
            for i in range(FEATURES):
                step = steps[on.size - (z[i] > 0)]
                log_odds = kernel.value_log_odds(i, gain, case.squares, step, case.entries)
                assert (log_odds if z[i] else -log_odds) > 37.0
                assert not z[i] or case.shares(i, gain[i])[int(z[i]) - 1] > 1 - 1e-15
        for a, i in enumerate(on):
            if not kernel.may_move(a, a + 1, active, z, gain, terms, case.gram.matrix):
                out = np.empty(FEATURES)
                kernel.relocation_log_weights(i, z, gain, terms, case.gram, case.entries, out)
                assert np.delete(out, i).max() < out[i] - FAR
    assert (tuple(truth) in settled) == (loud > 100.0)


@pytest.mark.parametrize("truth", TRUTHS)
def test_rows_without_a_doubt_stay(truth):
    case, rows = loud_case("geometric", truth, 1000.0), truth[None].copy()
    kernel.sweep(
        np.uint64(1), 0, 0, case.b[None], np.empty((0, 0), bool), rows, LOADINGS,
        case.gram.matrix, case.squares, *case.entries, case.table[None], case.step[None],
        np.zeros(1, np.int64), np.array([[1, 1, 0]], bool), np.eye(FEATURES), *GUIDED,
    )  # fmt: skip
    np.testing.assert_array_equal(rows[0], truth)


def test_what_is_left_of_a_column_that_was_taken_away_is_zero():
    squares, diagonal = np.array([1e-14, 1e-14, -1e-17, 2.0]), np.array([5.0, 0.0, 1.0, 3.0])
    kernel.clear_unseen(squares, diagonal)
    np.testing.assert_array_equal(squares, [0.0, 1e-14, 0.0, 2.0])


# Whole rows


def proposal(case, damped):
    """Return the law of proposals over ROWS, and the excess of each row."""
    work = np.empty((8, FEATURES))
    work[kernel.SQUARES] = case.squares
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + GUIDED[1]))
    kernel.fill_proposal(damped, case.b, case.squares, DIAGONAL, guide, *GUIDED, case.entries, work)
    log_q = case.table[(ROWS > 0).sum(axis=1)].copy()
    for i in range(FEATURES):
        rate, v = np.exp(case.entries.log_rates[i]), np.maximum(ROWS[:, i], 1)
        of_value = log_prior_weights(case.kind, rate, v) + work[kernel.SLOPE, i] * v
        of_value += -0.5 * work[kernel.CURVATURE, i] * v**2 - work[kernel.LOG_W, i]
        log_q += np.where(ROWS[:, i] > 0, of_value + work[kernel.WEIGHTS, i], 0.0)
    excess = [kernel.excess(z, case.b, case.squares, case.gram, work) for z in ROWS.astype(float)]
    return np.exp(log_q - logsumexp(log_q)), np.array(excess), work


@each_kind
@pytest.mark.parametrize("law", ["a hole", "interval"])
@pytest.mark.parametrize("seen", ["all", "most", "one"])
@pytest.mark.parametrize("damped", [False, True])
def test_whole_rows_are_weighed_by_the_posterior_over_the_proposal(kind, law, seen, damped):
    case = Case(kind, law, seen)
    q, excess, _ = proposal(case, damped)
    some = case.pi > 1e-12 * case.pi.max()
    ratio = np.log(case.pi[some]) - np.log(q[some])
    np.testing.assert_allclose(ratio - ratio[0], excess[some] - excess[some][0], atol=1e-9)


def test_features_that_are_not_seen_are_proposed_from_the_prior():
    case = Case("negative_binomial", "a hole", "one")
    case.squares[1] = 0.0
    _, _, work = proposal(case, False)
    assert work[kernel.SLOPE, 1] == work[kernel.CURVATURE, 1] == 0.0
    assert work[kernel.WEIGHTS, 1] == work[kernel.LOG_W, 1] == case.entries.log_odds[1]


# Whole sweeps

CASES = {
    "values": (np.array([[1, 0, 0]], bool), "interval"),
    "relocations": (np.array([[0, 1, 0]], bool), "one count"),
    "values and relocations": (np.array([[1, 1, 0]], bool), "no bottom"),
    "whole rows alone": (np.array([[0, 0, 1]], bool), "interval"),
    "all moves across a gap": (np.array([[1, 1, 1]], bool), "a hole"),
}


def swept(kind, moves, law, seen, n, seed, sweeps, wrong=None):
    """Return rows after some sweeps, begun in the posterior."""
    case = Case(kind, law, seen)
    rng = np.random.default_rng(seed)
    rows = ROWS[rng.choice(len(ROWS), n, p=case.pi)].astype(float)
    observed = np.empty((0, 0), bool) if seen == "all" else np.tile(SEEN[seen], (n, 1))
    products = np.tile(case.b, (n, 1))
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + GUIDED[1]))
    tables, steps = case.table[None], case.step[None]
    if wrong:
        tables, steps = wrong(case)
    for number in range(sweeps):
        kernel.sweep(
            np.uint64(seed), number, 7, products, observed, rows, LOADINGS, COMMON, DIAGONAL,
            *case.entries, tables, steps, np.zeros(n, np.int64), moves, guide, *GUIDED,
        )  # fmt: skip
    return case, rows


def law_p_values(kind, name, seen, n, seed, *, sweeps=2, wrong=None):
    moves, law = CASES[name]
    case, rows = swept(kind, moves, law, seen, n, seed, sweeps, wrong)
    found = np.bincount((np.minimum(rows, MOST) @ CODE).astype(int), minlength=len(ROWS))
    return [frequencies_p_value(found, case.pi)]


@pytest.mark.jit
@each_kind
@pytest.mark.parametrize("name", CASES)
@each_seen
def test_sweeps_leave_the_posterior_unchanged(kind, name, seen):
    assert holds(partial(law_p_values, kind, name, seen), replicates(20_000, 200_000))


def without_e(case):
    """Return tables of f alone, and their steps."""
    table = case.table + ribp.log_esp(case.entries.log_odds)
    return table[None], steps_of(table)[None]


@pytest.mark.jit
@pytest.mark.parametrize("name", ["values", "whole rows alone"])
def test_laws_without_their_normalisers_are_caught(name):
    assert is_caught(partial(law_p_values, "poisson", name, "most", wrong=without_e), 20_000)


@pytest.mark.parametrize("name", CASES)
@each_seen
def test_sweeps_without_the_compiler(name, seen):
    check = partial(law_p_values, "negative_binomial", name, seen, sweeps=1)
    assert holds(check, replicates(150))


@pytest.mark.jit
@each_kind
def test_a_gap_is_crossed(kind):
    """From a fixed row to the law on both sides of the gap, by all moves."""
    case = Case(kind, "a hole", "most")

    def check(n, seed):
        rows = np.tile([1.0, 0.0, 0.0], (n, 1))
        guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + GUIDED[1]))
        for number in range(60):
            kernel.sweep(
                np.uint64(seed), number, 0, np.tile(case.b, (n, 1)),
                np.tile(SEEN["most"], (n, 1)), rows, LOADINGS, COMMON, DIAGONAL, *case.entries,
                case.table[None], case.step[None], np.zeros(n, np.int64),
                np.ones((1, 3), bool), guide, *GUIDED,
            )  # fmt: skip
        found = np.bincount((np.minimum(rows, MOST) @ CODE).astype(int), minlength=len(ROWS))
        return [frequencies_p_value(found, case.pi)]

    assert holds(check, replicates(1000, 20_000))


@pytest.mark.jit
def test_rows_in_which_nothing_is_seen_have_the_law_of_the_prior():
    """Values without an upper limit, and features that the seen columns do not know."""
    kind = "geometric"
    entries = entries_of(kind)

    def check(n, seed):
        law = row_law(kind, LAWS["interval"], "nonzeros")
        rows = law.sample(np.random.default_rng(seed), n).astype(float)
        table, step = tables_of(kind, LAWS["interval"], "nonzeros", FEATURES)
        kernel.sweep(
            np.uint64(seed), 0, 0, np.zeros((n, FEATURES)), np.zeros((n, DIMS), bool), rows,
            LOADINGS, COMMON, DIAGONAL, *entries, table[None], step[None],
            np.zeros(n, np.int64), np.ones((1, 3), bool), np.eye(FEATURES), *GUIDED,
        )  # fmt: skip
        small = ROWS[(ROWS <= 5).all(axis=1)]
        probs = np.exp(law.log_prob(small))
        known = {tuple(z): at for at, z in enumerate(small)}
        at = [known.get(tuple(z), len(small)) for z in rows.astype(int)]
        return [frequencies_p_value(np.bincount(at, minlength=len(small) + 1),
                                    np.append(probs, 1 - probs.sum()))]  # fmt: skip

    assert holds(check, replicates(4000, 50_000))


@pytest.mark.jit
def test_a_sweep_is_the_same_in_pieces():
    moves = np.ones((1, 3), bool)
    case = Case("poisson", "interval", "all")
    data = np.random.default_rng(0).normal(size=(6, DIMS)) + X
    products = data @ (A / NOISE**2).T
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + GUIDED[1]))
    rest = (np.zeros(6, np.int64), moves, guide, *GUIDED)

    def run(pieces):
        rows = np.tile([2.0, 0.0, 1.0], (6, 1))
        for at in pieces:
            kernel.sweep(
                np.uint64(3), 1, at.start, products[at], np.empty((0, 0), bool), rows[at],
                LOADINGS, COMMON, DIAGONAL, *case.entries, case.table[None], case.step[None], *rest,
            )  # fmt: skip
        return rows

    np.testing.assert_array_equal(run([slice(0, 6)]), run([slice(2, 6), slice(0, 2)]))


@each_kind
def test_values_of_a_proposal_are_added_up_and_drawn_by_their_weights(kind):
    weights = np.stack(entries_of(kind)[:3])
    slope, bend = np.array([0.4, -0.2, 0.0]), np.array([0.5, 0.3, 0.0])
    sums, v = np.empty(FEATURES), np.arange(1.0, 400.0)
    kernel.summed_values(weights, slope, bend, growth_of(kind), sums)
    terms = [
        log_prior_weights(kind, np.exp(rate), v) + s * v - 0.5 * t * v * v
        for rate, s, t in zip(weights[0], slope, bend, strict=True)
    ]
    np.testing.assert_allclose(sums, logsumexp(terms, axis=1), rtol=1e-12)
    number = 300
    rows = np.tile([1.0, 1.0, 0.0], (number, 1))
    kernel.draw_values(np.uint64(3), weights, slope, bend, growth_of(kind), rows)
    assert not rows[:, 2].any()
    for i in range(2):
        p = np.exp(terms[i] - sums[i])
        error = np.sqrt((p @ v**2 - (p @ v) ** 2) / number)
        assert abs(rows[:, i].mean() - p @ v) < 4.5 * error
        assert (rows[:, i] >= 1.0).all()
