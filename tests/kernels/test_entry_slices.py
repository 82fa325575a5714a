"""Log-weights of rows that count: every step keeps the joint law of weights and rows."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import ribp
from ribp.entries import make_entries
from ribp.kernels import entry_slices as kernel
from ribp.kernels.entry_density import NONZEROS, SUM, of_others
from ribp.measures import BetaProcess, GammaProcess
from ribp.testing.goodness import (
    holds,
    is_caught,
    mean_p_value,
    replicates,
    two_sample_p_value,
)
from ribp.weights import GammaOddsPrior, WeakLimitPrior
from ribp.weights.hyper_prior import draw_concentration, draw_mass

RESTRICT = {"nonzeros": NONZEROS, "sum": SUM}
FEATURES, N_ROWS = 4, 6
LAW = ribp.counts.table([0.1, 0.3, 0.4, 0.2])
KINDS = {"poisson": 1.0, "negative_binomial": 2.0}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_restriction = pytest.mark.parametrize("restrict", RESTRICT)


@dataclass
class Joint:
    """Weights and rows drawn from their prior."""

    kind: str
    restrict: str
    learns: tuple[bool, bool]

    @property
    def growth(self):
        return 0.0 if self.kind == "poisson" else 1.0 / KINDS[self.kind]

    def draw(self, rng):
        mass = draw_mass(rng, FEATURES) if self.learns[0] else 1.7
        c = draw_concentration(rng) if self.learns[1] else 1.0
        prior = GammaOddsPrior if self.kind == "poisson" else WeakLimitPrior
        theta = prior(mass, c, FEATURES).sample(rng, FEATURES)
        totals = LAW.sample(rng, N_ROWS)
        entries = make_entries(self.kind, self.restrict, KINDS[self.kind])
        drawn = entries.draw_rows(rng, self.restrict, np.minimum(theta, 30.0), totals)
        units = np.bincount(drawn.members, drawn.values, minlength=FEATURES)
        return theta, mass, c, units, np.bincount(totals, minlength=5).astype(float)

    def update(self, seed, theta, mass, c, units, histogram):
        after = theta.copy()
        mass, c = kernel.update_entry_weights(
            np.uint64(seed), after, units, histogram, self.growth, RESTRICT[self.restrict],
            mass, c, *self.learns,
        )  # fmt: skip
        return after, mass, c


def statistics(theta, mass, c, units):
    """Return bounded functions of weights and rows."""
    bent = np.tanh((theta + 2.0) / 4.0)
    share = units / max(units.sum(), 1.0)
    return [
        bent[0], bent[0] ** 2, bent[0] * bent[1], bent.max(), bent.min(), bent @ share,
        np.tanh(theta[0] - theta[1]) * (units[0] - units[1]) / (1 + units[0] + units[1]),
        np.log(mass), np.log(c), np.log(mass) * bent.mean(), np.log(c) * bent.mean(),
    ]  # fmt: skip


def joint_p_values(joint, n, seed, *, wrong=None):
    """Compare statistics before and after an update, in pairs; `wrong` spoils what it is given."""
    rng = np.random.default_rng(seed)
    differences = []
    for at in range(n):
        theta, mass, c, units, histogram = joint.draw(rng)
        given = (units, histogram) if wrong is None else wrong(units, histogram)
        after = joint.update(seed + at, theta, mass, c, *given)
        differences.append(
            np.subtract(statistics(*after, units), statistics(theta, mass, c, units))
        )
    table = np.array(differences).T
    return [mean_p_value(row, 0.0) for row in table if row.any()]


@pytest.mark.jit
@each_kind
@each_restriction
@pytest.mark.parametrize("learns", [(False, False), (True, False), (True, True)])
def test_updates_keep_the_joint_law(kind, restrict, learns):
    check = partial(joint_p_values, Joint(kind, restrict, learns))
    assert holds(check, replicates(3000, 40_000))


def units_of_others(units, histogram):
    return np.roll(units, 1), histogram


def rows_with_less(units, histogram):
    """Rows taken to have one less than they have."""
    return units, np.append(histogram[1:], 0.0)


@pytest.mark.jit
@pytest.mark.parametrize(
    ("kind", "restrict", "wrong"),
    [
        ("poisson", "sum", units_of_others),
        ("poisson", "nonzeros", units_of_others),
        ("negative_binomial", "sum", units_of_others),
        ("negative_binomial", "nonzeros", rows_with_less),
        ("poisson", "nonzeros", rows_with_less),
    ],
)
def test_wrong_statistics_are_caught(kind, restrict, wrong):
    check = partial(joint_p_values, Joint(kind, restrict, (False, False)), wrong=wrong)
    assert is_caught(check, 3000)


@each_kind
@each_restriction
@pytest.mark.parametrize("learns", [False, True])
def test_updates_without_the_compiler(kind, restrict, learns):
    check = partial(joint_p_values, Joint(kind, restrict, (learns, learns)))
    assert holds(check, replicates(40))


@each_kind
@each_restriction
def test_a_feature_alone_has_the_density_of_its_slice(kind, restrict):
    """The distribution of one site update, many times over, against quadrature."""
    joint = Joint(kind, restrict, (False, False))
    theta, mass, c, units, histogram = joint.draw(np.random.default_rng(3))
    top = int(np.flatnonzero(histogram).max())
    restriction = RESTRICT[restrict]
    others = of_others(0, theta, joint.growth, restriction, top)
    given = (0, theta, units, histogram[: top + 1], joint.growth, restriction, mass, c, others)

    def density(x):
        return np.exp(kernel.log_density_along(kernel.SITE, x - theta[0], *given) - scale)

    scale = kernel.log_density_along(kernel.SITE, 0.0, *given)
    ends = [-60.0, theta[0] - 5, theta[0], theta[0] + 5, 20.0]
    moments = [
        sum(quad(lambda x, p=p: density(x) * np.tanh(x / 3) ** p, *pair, limit=400)[0]
            for pair in pairwise(ends))
        for p in (0, 1, 2)
    ]  # fmt: skip

    def check(n, seed):
        place, x, found = np.zeros(3, np.int64), theta[0], []
        for _ in range(n):
            for _ in range(6):
                state = theta.copy()
                state[0] = x
                rest = (0, state, *given[2:])
                x += kernel.slice_by(np.uint64(seed), place, 3.0, kernel.SITE, *rest)
            found.append(np.tanh(x / 3))
        return [mean_p_value(np.array(found) ** p, moments[p] / moments[0]) for p in (1, 2)]

    assert holds(check, replicates(60, 3000))


@pytest.mark.jit
@each_kind
@each_restriction
def test_the_prior_is_that_of_simulated_rows(kind, restrict):
    """Rows of `ribp.simulate` in the weak limit, and rows of the prior used here."""
    joint = Joint(kind, restrict, (False, False))
    measure = GammaProcess(1.7) if kind == "poisson" else BetaProcess(1.7)

    def summary(rows):
        shared = (rows[0] > 0) & (rows[1] > 0)
        return [
            float((rows.sum(axis=0) > 0).sum()), float(shared.sum()),
            float((rows[0] == rows[1]).all()), np.log1p(rows.max()),
        ]  # fmt: skip

    def check(n, seed):
        rng, ours, theirs = np.random.default_rng(seed), [], []
        entries = make_entries(kind, restrict, KINDS[kind])
        for _ in range(n):
            theta = joint.draw(rng)[0]
            drawn = entries.draw_rows(
                rng, restrict, np.minimum(theta, 30.0), LAW.sample(rng, N_ROWS)
            )
            rows = np.zeros((N_ROWS, FEATURES))
            rows[np.repeat(np.arange(N_ROWS), drawn.lengths), drawn.members] = drawn.values
            ours.append(summary(rows))
            other = ribp.simulate(
                rng, n_rows=N_ROWS, counts=LAW, measure=measure, entries=kind, restrict=restrict,
                failures=KINDS[kind], truncation=ribp.WeakLimit(FEATURES),
            )  # fmt: skip
            theirs.append(summary(other.rows.toarray()))
        pairs = zip(np.array(ours).T, np.array(theirs).T, strict=True)
        return [two_sample_p_value(a, b) for a, b in pairs]

    assert holds(check, replicates(400, 4000))


def test_shifts_of_sums_change_no_ratio_of_weights():
    theta = np.array([-0.3, 2.0, -700.0, 900.0])
    moved = np.array([kernel.shifted(x, -0.4, 0.5, SUM) for x in theta])
    assert kernel.shifted(900.0, 0.0, 0.5, SUM) == 900.0
    log_pi, after = -np.logaddexp(0, -theta), -np.logaddexp(0, -moved)
    np.testing.assert_allclose(after, log_pi - 0.4, rtol=1e-13)
    assert kernel.shifted(2.0, 1.0, 0.5, SUM) == np.inf
    assert kernel.shifted(2.0, 1.0, 0.0, NONZEROS) == 3.0
    given = (theta, np.ones(4), np.ones(3), 0.5, SUM, 1.2, 1.0)
    assert kernel.shift_log_density(1.0, *given) == -np.inf
