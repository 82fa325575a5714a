"""Rows that count, sums restricted: conditionals and transitions against enumeration."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from ribp.kernels import sweep_sums as kernel
from ribp.kernels.choose import FAR
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.multiplicity_cases import (
    COMMON,
    DIAGONAL,
    EXACT,
    FEATURES,
    KINDS,
    LAWS,
    LOADINGS,
    SEEN,
    all_count_rows,
    at_hand,
    growth_of,
    log_rates,
    posterior,
    steps_of,
    tables_of,
)

MOST = 3
LEAST_UNIFORM = -53 * np.log(2.0)
ROWS = all_count_rows(MOST)
ROWS = ROWS[ROWS.sum(axis=1) <= MOST]
AT = {tuple(z): at for at, z in enumerate(ROWS)}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_law = pytest.mark.parametrize("law", LAWS)
each_seen = pytest.mark.parametrize("seen", SEEN)
UNIT = np.eye(FEATURES, dtype=int)


def normalised(log_weights):
    return np.exp(log_weights - logsumexp(log_weights))


class Case:
    """A row with its law and data, as kernels have them, and its enumerated posterior."""

    def __init__(self, kind, law, seen):
        self.log_rates, self.growth = log_rates(kind), growth_of(kind)
        self.b, self.squares, self.gram = at_hand(SEEN[seen])
        self.table, self.step = tables_of(kind, LAWS[law], "sum", MOST)
        self.pi = posterior(ROWS, kind, LAWS[law], "sum", SEEN[seen])

    def louder(self, times):
        """Let the data have more to say."""
        self.b, self.squares = self.b * times, self.squares * times
        self.gram = self.gram._replace(matrix=self.gram.matrix * times)
        return self

    def ahead(self, z):
        out = np.empty(FEATURES)
        total = kernel.fill_ahead(z, self.log_rates, self.b, self.squares, self.gram, out)
        assert total == z.sum()
        return out

    def unit_weights(self, z, i):
        z, out = z.astype(float), np.empty(FEATURES)
        ahead = self.ahead(z)
        kernel.unit_log_weights(i, z, self.squares, ahead, self.gram, self.growth, out)
        return out

    def moved_unit(self, z, i, weights=None):
        """Return states and probabilities when a unit at i moves."""
        log_w = (weights or self.unit_weights)(z, i)
        return {AT[tuple(z - UNIT[i] + UNIT[j])]: p for j, p in enumerate(normalised(log_w))}

    def after_unit(self, chosen=None, weights=None):
        """Return the law after a unit was moved; `chosen` has the chances of places to lose it."""
        moved = np.zeros_like(self.pi)
        for at, z in enumerate(ROWS):
            chances = z if chosen is None else chosen(z)
            if z.sum() == 0:
                moved[at] += self.pi[at]
                continue
            for i in np.flatnonzero(chances):
                for to, p in self.moved_unit(z, i, weights).items():
                    moved[to] += self.pi[at] * chances[i] / chances.sum() * p
        return moved

    def after_birth_or_death(self, reflect=False):
        """Return the law after a birth or death; the twin always proposes a birth at J = 0."""
        moved = np.zeros_like(self.pi)
        for at, z in enumerate(ROWS):
            total, stay = int(z.sum()), 1.0
            half = 1.0 if reflect and total == 0 else 0.5
            if total < MOST and np.isfinite(self.step[total]):
                log_w = self.unit_weights(z, -1)
                accept = min(1.0, np.exp(self.step[total] + logsumexp(log_w)))
                for j, p in enumerate(normalised(log_w)):
                    moved[AT[tuple(z + UNIT[j])]] += self.pi[at] * half * p * accept
                    stay -= half * p * accept
            if total > 0 and np.isfinite(self.step[total - 1]):
                for i in np.flatnonzero(z):
                    log_q = logsumexp(self.unit_weights(z, i))
                    accept = min(1.0, np.exp(-self.step[total - 1] - log_q))
                    moved[AT[tuple(z - UNIT[i])]] += self.pi[at] * 0.5 * z[i] / total * accept
                    stay -= 0.5 * z[i] / total * accept
            moved[at] += self.pi[at] * stay
        return moved

    def after_value(self, i):
        moved = np.zeros_like(self.pi)
        for at in np.flatnonzero(self.pi):
            z = ROWS[at].astype(float)
            others = int(z.sum() - z[i])
            out = np.empty(self.table.size - others)
            kernel.value_log_weights(
                i, z, others, self.squares, self.ahead(z), self.table, self.growth, out
            )
            for v, p in enumerate(normalised(out)):
                moved[AT[tuple(ROWS[at] + (v - ROWS[at, i]) * UNIT[i])]] += self.pi[at] * p
        return moved


@each_kind
@each_law
@each_seen
def test_every_move_leaves_the_posterior_unchanged(kind, law, seen):
    case = Case(kind, law, seen)
    np.testing.assert_allclose(case.after_unit(), case.pi, **EXACT)
    np.testing.assert_allclose(case.after_birth_or_death(), case.pi, **EXACT)
    for i in range(FEATURES):
        np.testing.assert_allclose(case.after_value(i), case.pi, **EXACT)


def test_all_units_once_in_random_order_leave_the_posterior_unchanged():
    case = Case("geometric", "interval", "most")
    moved = np.zeros_like(case.pi)
    for at, z in enumerate(ROWS):
        orders = list(permutations(np.repeat(np.arange(FEATURES), z)))
        for order in orders:
            law = {at: case.pi[at] / len(orders)}
            for i in order:
                after: dict[int, float] = {}
                for state, mass in law.items():
                    for to, p in case.moved_unit(ROWS[state], i).items():
                        after[to] = after.get(to, 0.0) + mass * p
                law = after
            for state, mass in law.items():
                moved[state] += mass
    np.testing.assert_allclose(moved, case.pi, **EXACT)


def per_value(case):
    """Return weights that know factorials, as if entries and not units were moved."""
    return lambda z, i: case.unit_weights(z, i) - np.log(z - UNIT[i] + 1.0)


TWINS = {
    "a unit at random, weights over z + 1": lambda case: case.after_unit(weights=per_value(case)),
    "a feature at random": lambda case: case.after_unit(chosen=lambda z: (z > 0).astype(float)),
    "a feature at random, weights over z + 1": lambda case: case.after_unit(
        chosen=lambda z: (z > 0).astype(float), weights=per_value(case)
    ),
    "always a birth in an empty row": lambda case: case.after_birth_or_death(reflect=True),
}


@pytest.mark.parametrize("twin", TWINS)
def test_broken_twins_are_caught(twin):
    case = Case("poisson", "interval", "one")
    assert np.abs(TWINS[twin](case) - case.pi).sum() > 0.01


def test_units_that_walk_are_caught():
    case = Case("poisson", "one count", "one")
    pi = case.pi
    for i in range(FEATURES):
        moved = np.zeros_like(pi)
        for at, z in enumerate(ROWS):
            for to, p in (case.moved_unit(z, i) if z[i] else {at: 1.0}).items():
                moved[to] += pi[at] * p
        pi = moved
    assert np.abs(pi - case.pi).sum() > 0.01


@each_seen
def test_what_is_ahead_stays_that_of_the_row(seen):
    case, z = Case("geometric", "interval", seen), np.array([2.0, 0.0, 1.0])
    ahead = case.ahead(z)
    for i, by in [(0, 1.0), (1, 2.0), (0, -3.0), (2, -1.0), (1, 1.0), (0, 1.0)]:
        kernel.add_units(i, by, z, case.squares, ahead, case.gram)
        np.testing.assert_allclose(ahead, case.ahead(z), rtol=1e-12)


LOUD = [1.0, 8.0, 40.0, 400.0]


@each_kind
@pytest.mark.parametrize("loud", LOUD)
def test_only_units_that_may_move_are_weighed(kind, loud):
    """Where a unit may not move, all other places have weights that are taken for zero."""
    case = Case(kind, "interval", "all").louder(loud)
    for z in ROWS:
        total, ahead = float(z.sum()), case.ahead(z.astype(float))
        given = (z.astype(float), total, case.squares, ahead, case.gram.matrix, case.growth)
        found = []
        for i in np.flatnonzero(z):
            weights = case.unit_weights(z, i)
            others = np.delete(weights, i).max() - weights[i]
            moves = kernel.may_move(i, i + 1, *given)
            assert moves or others < -FAR
            assert not moves or others >= -FAR - 2 * case.growth * total
            found.append(moves)
        assert kernel.may_move(0, FEATURES, *given) == any(found)


@each_kind
@each_law
@pytest.mark.parametrize("loud", LOUD)
def test_only_sums_that_may_change_are_tried(kind, law, loud):
    """Where a sum may not change, no uniform is small enough to accept a birth or a death."""
    case = Case(kind, law, "all").louder(loud)
    for z in ROWS[case.pi > 0]:
        total, tried = int(z.sum()), [-np.inf]
        if total < MOST and np.isfinite(case.step[total]):
            tried.append(case.step[total] + logsumexp(case.unit_weights(z, -1)))
        if total > 0 and np.isfinite(case.step[total - 1]):
            back = [logsumexp(case.unit_weights(z, i)) for i in np.flatnonzero(z)]
            tried.append(-case.step[total - 1] - min(back))
        ahead = case.ahead(z.astype(float))
        given = (case.squares, ahead, case.growth, case.step)
        changes = kernel.may_change_sum(z.astype(float), float(total), *given)
        assert changes or max(tried) < LEAST_UNIFORM
        if changes and loud == 1.0:
            assert max(tried) > 2 * LEAST_UNIFORM


def test_units_are_listed_and_chosen():
    z, units = np.array([2.0, 0.0, 3.0]), np.zeros(9, np.int64)
    assert kernel.list_units(z, units) == 5
    np.testing.assert_array_equal(units[:5], [0, 0, 2, 2, 2])
    assert [kernel.random_unit(u, z, 5.0) for u in (0.01, 0.39, 0.41, 0.999)] == [0, 0, 2, 2]
    assert kernel.random_unit(1 - 2.0**-53, z, 5.0) == 2
    values = np.array([3.0, -800.0, 5.0])
    assert kernel.log_sum(values) == pytest.approx(logsumexp(values), rel=1e-15)


# Whole sweeps

CASES = {
    "births": ([1, 0, 0], "interval"),
    "units": ([0, 1, 0], "one count"),
    "births and units": ([1, 1, 0], "no bottom"),
    "values": ([0, 0, 1], "interval"),
    "units and values across a gap": ([0, 1, 1], "a hole"),
    "all": ([1, 1, 1], "interval"),
}


def test_units_without_a_doubt_stay():
    """Feature 0 is told by the data, the others hardly: a unit there is the only one to move."""
    case = Case("geometric", "one count", "all")
    squares, b = np.array([2000.0, 0.5, 0.5]), np.array([[2000.0, 0.2, 0.2]])
    for begin in ([1.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 1.0]):
        rows = np.tile(begin, (40, 1))
        kernel.sweep(
            np.uint64(1), 0, 0, np.tile(b, (40, 1)), np.empty((0, 0), bool), rows, LOADINGS,
            np.zeros((3, 3)), squares, case.log_rates, case.growth, case.table[None],
            case.step[None], np.zeros(40, np.int64), np.array([[0, 1, 0]], bool),
        )  # fmt: skip
        np.testing.assert_array_equal(rows[:, 0], 1.0)
        assert np.unique(rows[:, 1]).size == 2
    rows = np.array([[1.0, 0.0, 0.0]])
    kernel.sweep(
        np.uint64(1), 0, 0, b - [0.0, 900.0, 900.0], np.empty((0, 0), bool), rows, LOADINGS,
        np.zeros((3, 3)), squares, case.log_rates, case.growth, np.zeros((1, 3)),
        np.zeros((1, 2)), np.zeros(1, np.int64), np.array([[1, 1, 0]], bool),
    )  # fmt: skip
    np.testing.assert_array_equal(rows, [[1.0, 0.0, 0.0]])


def law_p_values(kind, name, seen, n, seed, *, sweeps=2, begin=None, wrong=None):
    """Compare rows after some sweeps with the posterior, in which they begin unless told."""
    moves, law = CASES[name]
    case, rng = Case(kind, law, seen), np.random.default_rng(seed)
    rows = ROWS[rng.choice(len(ROWS), n, p=case.pi)].astype(float)
    if begin is not None:
        rows[:] = begin
    observed = np.empty((0, 0), bool) if seen == "all" else np.tile(SEEN[seen], (n, 1))
    table = case.table if wrong is None else wrong(case.table)
    for number in range(sweeps):
        kernel.sweep(
            np.uint64(seed), number, 7, np.tile(case.b, (n, 1)), observed, rows, LOADINGS,
            COMMON, DIAGONAL, case.log_rates, case.growth, table[None], steps_of(table)[None],
            np.zeros(n, np.int64), np.array([moves], bool),
        )  # fmt: skip
    found = np.zeros(len(ROWS))
    np.add.at(found, [AT[tuple(z)] for z in rows.astype(int)], 1)
    return [frequencies_p_value(found, case.pi)]


@pytest.mark.jit
@each_kind
@pytest.mark.parametrize("name", CASES)
@each_seen
def test_sweeps_leave_the_posterior_unchanged(kind, name, seen):
    assert holds(partial(law_p_values, kind, name, seen), replicates(10_000, 100_000))


@pytest.mark.jit
@each_kind
def test_a_gap_is_crossed(kind):
    check = partial(
        law_p_values, kind, "units and values across a gap", "most", sweeps=100, begin=[0, 1, 0]
    )
    assert holds(check, replicates(1000, 10_000))


@pytest.mark.jit
@pytest.mark.parametrize("name", ["births", "values"])
def test_laws_without_factorials_are_caught(name):
    def wrong(table):
        return table + gammaln(np.arange(MOST + 1) + 1.0)

    assert is_caught(partial(law_p_values, "poisson", name, "most", wrong=wrong), 10_000)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seen", ["all", "most"])
def test_sweeps_without_the_compiler(name, seen):
    check = partial(law_p_values, "negative_binomial", name, seen, sweeps=1)
    assert holds(check, replicates(150))
