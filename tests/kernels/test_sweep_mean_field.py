"""Mean field for rows: the bound by enumeration, every factor's update, the traps."""

import numpy as np
import pytest
from scipy.special import entr, expit, logsumexp

import ribp
from ribp.kernels import sweep_mean_field as kernel
from ribp.testing import exact
from ribp.testing.exact import all_rows
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.harsh_cases import CASES

FEATURES = 4
ROWS = all_rows(FEATURES)
COUNTS = np.arange(FEATURES + 1)
LAWS = {
    "all counts": ribp.counts.table([0.1, 0.2, 0.3, 0.3, 0.1]),
    "one count": ribp.counts.exactly(2),
    "a hole": ribp.counts.table([0.0, 0.4, 0.0, 0.6]),
    "none or all": ribp.counts.table([0.5, 0.0, 0.0, 0.0, 0.5]),
    "never all": ribp.counts.uniform(0, 2),
    "never none": ribp.counts.uniform(1, 4),
    "none": ribp.counts.exactly(0),
}
LOG_F = np.array([law.log_probs(FEATURES) for law in LAWS.values()])


class Tables:
    """What the kernel needs of the laws, and inclusion probabilities by their definition."""

    def __init__(self, theta):
        self.eta = np.array([ribp.inclusion_probs(theta, k) for k in COUNTS])
        order = np.argsort(-theta)
        self.logits = np.empty((FEATURES - 1, FEATURES))
        self.logits[:, order] = kernel.inclusion_logits(theta[order], FEATURES - 1)
        self.offsets = -np.logaddexp(0, self.logits).sum(axis=1)
        self.log_f = LOG_F
        self.span = np.ones((len(LOG_F), 2), np.int64)
        self.end_values = np.full((len(LOG_F), 2), -np.inf)
        self.end_gammas = np.zeros((len(LOG_F), 2, FEATURES + 1))
        for at, log_f in enumerate(LOG_F):
            between = 1 + np.flatnonzero(np.isfinite(log_f[1:-1]))
            if between.size:
                self.span[at] = between[0], between[-1] + 1
            for end, count in enumerate([0, FEATURES]):
                with np.errstate(divide="ignore"):
                    each = np.log(self.eta if end else 1 - self.eta).sum(axis=1)
                each[count] = 0.0
                if np.isfinite(log_f[count]):
                    self.end_values[at, end] = logsumexp(log_f + each)
                    self.end_gammas[at, end] = np.exp(log_f + each - logsumexp(log_f + each))

    def sweep(self, case, nu, gamma, own=False):
        """Make a pass over rows with the laws in turn; return the parts of the bound."""
        parts, none = np.empty((len(nu), 2)), np.empty((0, FEATURES, FEATURES))
        rows, gram = np.arange(len(nu)), case.gram[0]
        where = (
            [np.zeros_like(gram), case.gram, rows] if own else [gram, none, np.full_like(rows, -1)]
        )
        kernel.sweep(
            case.b, *where, self.logits, self.offsets, self.log_f, self.span, self.end_values,
            self.end_gammas, rows % len(LAWS), nu, gamma, parts,
        )  # fmt: skip
        return parts


class Case:
    """Rows, the laws in turn, with random b and G."""

    def __init__(self, rng, n_rows=7, same=True, size=1.0):
        features = rng.normal(0, size, (n_rows, FEATURES, 5))
        if same:
            features[:] = features[0]
        self.theta = rng.normal(0, 2, FEATURES)
        self.tables = Tables(self.theta)
        self.gram = features @ features.transpose(0, 2, 1) + np.diag(rng.random(FEATURES))
        x = np.einsum("ni,nid->nd", rng.integers(0, 2, (n_rows, FEATURES)), features)
        self.b = np.einsum("nd,nid->ni", x + rng.normal(size=x.shape), features)
        self.nu = rng.random((n_rows, FEATURES))
        self.gamma = np.zeros((n_rows, FEATURES + 1))


def definition(b, gram, log_f, eta, nu, gamma):
    """Return a row's part of the bound by summing over all rows z and all counts."""
    q = np.where(ROWS, nu, 1 - nu).prod(axis=1)
    with np.errstate(divide="ignore"):
        log_p = (
            np.array([np.log(np.where(ROWS, e, 1 - e)).sum(axis=1) for e in eta]) + log_f[:, None]
        )
    log_p = log_p + ROWS @ b - 0.5 * np.einsum("zi,ij,zj->z", ROWS, gram, ROWS)
    joint = np.outer(gamma, q)
    at = joint > 0
    return float(
        (joint[at] * log_p[at]).sum() + entr(nu).sum() + entr(1 - nu).sum() + entr(gamma).sum()
    )


def all_definitions(case, nu, gamma):
    laws = LOG_F[np.arange(len(nu)) % len(LAWS)]
    each = zip(case.b, case.gram, laws, nu, gamma, strict=True)
    return np.array([definition(b, g, f, case.tables.eta, v, c) for b, g, f, v, c in each])


@pytest.mark.parametrize("name", CASES)
def test_logits_are_those_of_many_digit_arithmetic(name):
    theta = CASES[name][:7]
    found = kernel.inclusion_logits(theta, theta.size - 1)
    for i in range(theta.size):
        log_e = exact.log_esp(np.delete(theta, i), theta.size - 1)
        expected = theta[i] - np.diff(log_e)
        bound = 1e-14 * np.maximum(1, np.abs(log_e[1:]) + np.abs(log_e[:-1]) + abs(theta[i]))
        assert (np.abs(found[:, i] - expected) <= 10 * bound).all()
    for k in range(1, theta.size):
        for sign in (1, -1):  # eta, and 1 - eta
            eta = exact.inclusion_probs(sign * theta, k if sign == 1 else theta.size - k)
            np.testing.assert_allclose(expit(sign * found[k - 1]), eta, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("same", [True, False])
def test_parts_are_the_bound_and_a_pass_never_lowers_it(same):
    rng, ends = np.random.default_rng(0), set()
    for size in np.geomspace(0.05, 5.0, 6):
        case = Case(rng, 2 * len(LAWS), same, size)
        nu, gamma, before = case.nu, case.gamma, None
        for _ in range(4):
            parts = case.tables.sweep(case, nu, gamma, own=not same)
            after = parts.sum(axis=1)
            np.testing.assert_allclose(after, all_definitions(case, nu, gamma), atol=1e-11)
            np.testing.assert_allclose(gamma.sum(axis=1), 1)
            assert before is None or (after >= before - 1e-11).all()
            before = after
        ends |= {int(k) for k in gamma.argmax(axis=1)}
    assert ends == set(range(FEATURES + 1))


def single_updates(case, row, spoil=None):
    """Yield the bound before and after each single update of a few passes over one row."""
    law, tables = row % len(LAWS), case.tables
    low, high = tables.span[law]
    given = tables.logits, tables.offsets, LOG_F[law], low, high
    nu, gamma = case.nu[row].copy(), np.zeros(FEATURES + 1)
    gram, pull, field = case.gram[row], np.empty(FEATURES), np.empty(FEATURES)
    linear = case.b[row] - 0.5 * np.diag(gram)
    gamma[low:high] = np.exp(LOG_F[law][low:high]) / np.exp(LOG_F[law][low:high]).sum()

    def value():
        return definition(case.b[row], gram, LOG_F[law], tables.eta, nu, gamma)

    for _ in range(2):
        before = value()
        if spoil == "counts see one entry":
            shown = np.where(np.arange(FEATURES) == 1, nu, 0)
            kernel.fill_counts(shown, tables.logits, 0 * tables.offsets, *given[2:], gamma)
        else:
            kernel.fill_counts(nu, *given, gamma)
        yield before, value()
        kernel.fill_pull(gamma, tables.logits, low, high, pull)
        kernel.fill_field(nu, linear, gram, field)
        if spoil == "no pull":
            pull[:] = 0.0
        for i in range(FEATURES):
            before = value()
            if spoil == "own square twice":
                field[i] -= gram[i, i] * nu[i]
            kernel.improve_entry(i, pull, gram, nu, field)
            after = value()
            yield before, after
            if spoil is None:
                for other in (expit(pull[i] + field[i] + d) for d in (-0.01, 0.01)):
                    changed = nu.copy()
                    changed[i] = other
                    there = definition(case.b[row], gram, LOG_F[law], tables.eta, changed, gamma)
                    assert there <= after + 1e-12


def largest_fall(spoil, seed=1):
    rng, falls = np.random.default_rng(seed), [0.0]
    for size in [0.1, 0.5, 2.0]:
        case = Case(rng, same=False, size=size)
        for row in np.flatnonzero(case.tables.span[:, 1] > case.tables.span[:, 0]):
            falls += [before - after for before, after in single_updates(case, row, spoil)]
    return max(falls)


def test_no_single_update_lowers_the_bound():
    assert largest_fall(None) < 1e-12


@pytest.mark.parametrize("spoil", ["counts see one entry", "no pull", "own square twice"])
def test_broken_updates_are_caught(spoil):
    assert largest_fall(spoil) > 1e-3


def test_traps_are_entered_and_left():
    """Rows are emptied, then filled, where their law allows it; entries alone do not obey a law."""
    case = Case(np.random.default_rng(2))
    nu, gamma = case.nu, case.gamma
    allowed = np.isfinite(LOG_F)
    case.b[:] = -50.0
    case.tables.sweep(case, nu, gamma)
    np.testing.assert_array_equal(gamma[:, 0] > 0, allowed[:, 0])
    assert (nu[allowed[:, 0]] == 0).all()
    np.testing.assert_allclose(gamma[allowed[:, 0]], case.tables.end_gammas[allowed[:, 0], 0])
    case.b[:] = 50.0
    case.tables.sweep(case, nu, gamma)
    np.testing.assert_array_equal(gamma[:, FEATURES] > 0, allowed[:, FEATURES])
    assert (nu[allowed[:, FEATURES]] == 1).all()
    case.b[:, 0], case.b[:, 1:] = 50.0, -50.0
    case.tables.sweep(case, nu, gamma)
    between = case.tables.span[:, 1] > case.tables.span[:, 0]
    assert (nu[between, 0] > 0.99).all()
    assert (nu[between, 1:] < 0.01).all()


def test_without_the_traps_empty_rows_are_missed():
    """The broken twin: no ends, from an interior start count 0 is never found."""
    case = Case(np.random.default_rng(2))
    case.b[:] = -50.0
    right, nu, gamma = (
        case.tables.sweep(case, case.nu.copy(), case.gamma.copy()),
        case.nu,
        case.gamma,
    )
    case.tables.end_values[:] = -np.inf
    for _ in range(20):
        wrong = case.tables.sweep(case, nu, gamma)
    assert gamma[0, 0] == 0
    assert wrong[0].sum() < right[0].sum() - 0.1


def test_entries_that_are_certain_are_left_alone():
    gram, field = np.ones((2, 2)), np.array([800.0, -800.0])
    nu = np.array([1.0, 0.0])
    assert kernel.improve_entry(0, np.zeros(2), gram, nu, field) == 0.0
    assert kernel.improve_entry(1, np.zeros(2), gram, nu, field) == 0.0
    np.testing.assert_array_equal(nu, [1, 0])
    np.testing.assert_array_equal(field, [800, -800])


def test_what_is_not_a_number_is_not_hidden():
    nu, field = np.array([0.5, 0.5]), np.array([np.nan, 0.0])
    kernel.improve_entry(0, np.zeros(2), np.ones((2, 2)), nu, field)
    assert np.isnan(nu[0])


def test_draws_are_coins_that_belong_to_their_rows():
    def drawn(n, seed, first=0):
        out = np.empty((n, 5), np.int8)
        kernel.draw_rows(np.uint64(seed), 3, first, np.tile([0.0, 0.2, 0.9, 0.5, 1.0], (n, 1)), out)
        return out

    def p_values(n, seed, fourth=0.5):
        seen = np.bincount(drawn(n, seed) @ (1 << np.arange(5)), minlength=32)
        nu = np.array([0.0, 0.2, 0.9, fourth, 1.0])
        return [frequencies_p_value(seen, np.where(all_rows(5), nu, 1 - nu).prod(axis=1))]

    assert holds(p_values, replicates(600))
    assert is_caught(lambda n, seed: p_values(n, seed, fourth=0.2), 600)
    np.testing.assert_array_equal(drawn(20, 5, first=10), drawn(30, 5)[10:])
