"""Rows of the structured family against enumeration: moments, every coordinate step, draws."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import logsumexp

import ribp
from ribp.kernels import sweep_structured as kernel
from ribp.testing.exact import all_rows
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates


class Row(NamedTuple):
    """What the data and the prior say of a row, and its q."""

    linear: np.ndarray
    gram: np.ndarray
    theta: np.ndarray
    h: np.ndarray
    lam: np.ndarray
    g: np.ndarray


def harsh(rng, features=None):
    """Return a random row: laws with gaps, point masses, ties, log-odds up to 700 and beyond."""
    features = features or int(rng.integers(1, 6))
    size = 10 ** rng.uniform(-1, 2.5)
    loadings = np.sqrt(size) * rng.normal(size=(features, rng.integers(1, 4)))
    gram = loadings @ loadings.T + np.diag(rng.random(features))
    theta = rng.normal(size=features) * rng.choice([1.0, 5.0, 100.0])
    f = rng.random(features + 1) * (rng.random(features + 1) < rng.choice([0.3, 0.6, 1.0]))
    f[rng.integers(features + 1)] += 0.1
    with np.errstate(divide="ignore"):
        h = np.log(f / f.sum()) - ribp.log_esp(theta)
    lam = theta + rng.choice([0.0, 1.0, 10.0, 700.0]) * rng.normal(size=features)
    if rng.random() < 0.3:
        lam[:] = lam[0]  # ties
    g = h + np.where(h > -np.inf, rng.normal(size=h.size), 0.0)
    return Row(2 * size * rng.normal(size=features), gram, theta, h, lam, g)


def sweep(rows, update, gram=None, weights=None):
    """Return what the kernel makes of some rows; each has its own G unless one is given."""
    n, features = len(rows), rows[0].lam.size
    lam, g = np.array([r.lam for r in rows]), np.array([r.g for r in rows])
    own = np.array([r.gram for r in rows]) if gram is None else np.zeros((0, features, features))
    place = np.arange(n) if gram is None else np.full(n, -1)
    gram = np.zeros((features, features)) if gram is None else gram
    nu, probs, divergences = np.empty_like(lam), np.empty_like(g), np.empty(n)
    pairs, own_pairs = np.zeros((features, features)), np.empty_like(own)
    kernel.sweep(
        np.array([r.linear for r in rows]), gram, own, place, rows[0].theta,
        np.array([r.h for r in rows]), np.arange(n), np.ones(n) if weights is None else weights,
        update, lam, g, nu, probs, divergences, pairs, own_pairs,
    )  # fmt: skip
    return lam, g, nu, probs, divergences, pairs, own_pairs


def log_q(row):
    z = all_rows(row.lam.size)
    values = z @ row.lam + row.g[z.sum(axis=1)]
    return values - logsumexp(values)


def log_target(row):
    z = all_rows(row.lam.size)
    fit = z @ (row.linear + row.theta) - 0.5 * np.einsum("ri,ij,rj->r", z, row.gram, z)
    return fit + row.h[z.sum(axis=1)]


def bound(row):
    """Return E_q [log target - log q]."""
    here = log_q(row)
    on = here > -np.inf
    return float(np.exp(here[on]) @ (log_target(row)[on] - here[on]))


def scale(row):
    return max(1.0, np.abs(row.linear).max(), np.abs(row.lam).max(), np.abs(row.theta).max())


def check_moments(row, found):
    lam, g, nu, probs, divergences, pairs, own_pairs = found
    row = row._replace(lam=lam[0], g=g[0])
    z, q = all_rows(row.lam.size), np.exp(log_q(row))
    np.testing.assert_allclose(nu[0], q @ z, atol=1e-11)
    np.testing.assert_allclose(pairs, (z.T * q) @ z, atol=1e-11)
    np.testing.assert_array_equal(own_pairs[0], pairs)
    np.testing.assert_allclose(probs[0], np.bincount(z.sum(axis=1), q), atol=1e-11)
    # g is normalised, so that the divergence is E log q less the prior
    values = z @ row.lam + row.g[z.sum(axis=1)]
    assert logsumexp(values) == pytest.approx(0.0, abs=1e-12 * scale(row))
    value = row.linear @ nu[0] - 0.5 * (row.gram * pairs).sum() - divergences[0]
    assert value == pytest.approx(bound(row), abs=1e-11 * scale(row))
    return row


def test_moments_and_passes():
    """Moments are those of enumeration, and a pass never lowers the bound."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        row = harsh(rng)
        row = check_moments(row, sweep([row], False))
        for _ in range(2):
            before, exact = bound(row), logsumexp(log_target(row))
            row = check_moments(row, sweep([row], True))
            assert bound(row) >= before - 1e-12 * scale(row)
            assert bound(row) <= exact + 1e-11 * scale(row)


class Pieces:
    """The steps of a pass, one at a time."""

    def __init__(self, row):
        features, counts = row.lam.size, row.h.size
        self.row, self.ends = row, (kernel.smallest_count(row.h), kernel.largest_count(row.h))
        self.lam = row.lam.copy()
        self.fixed = row.linear - 0.5 * np.diag(row.gram) + row.theta
        self.u = self.fixed - self.lam
        possible = row.h > -np.inf
        self.r = np.zeros(counts)
        self.r[possible] = row.h[possible] - row.g[possible]
        after = [np.zeros((features + 1, counts)) for _ in range(3)]
        self.after = after[0], after[1], np.zeros((features + 1, counts, features)), after[2]
        kernel._build_after(self.lam, self.u, row.gram, *self.ends, *self.after)
        self.before = np.zeros(counts), np.zeros(counts), np.zeros((counts, features))
        self.tables = np.zeros((features + 1, counts, features)), np.zeros((features, counts))

    def step(self, i):
        """Return the best lambda_i less that without what others say, or None if it is certain."""
        log_e, value, means, onto = self.after
        found, free = kernel._step(
            i, *self.ends, self.row.g, self.r, *self.before, log_e[i + 1], value[i + 1],
            means[i + 1], onto[i],
        )  # fmt: skip
        return found if free else None

    def add(self, i):
        kernel._add_before(
            i, self.lam, self.u, self.row.gram, *self.ends, *self.before, *self.tables
        )


def right(pieces, i):
    step = pieces.step(i)
    return None if step is None else pieces.fixed[i] + step


def mean_field(pieces, i):
    """The broken twin: what others say is taken at their means, whatever z_i is."""
    row = pieces.row._replace(lam=pieces.lam)
    nu = np.exp(log_q(row)) @ all_rows(row.lam.size)
    return pieces.fixed[i] - row.gram[i] @ nu + row.gram[i, i] * nu[i]


def coordinate_drops(row, rule):
    """Yield by how much each step lowers the bound, in units of its rounding."""
    pieces = Pieces(row)
    for i in range(row.lam.size):
        before = bound(row._replace(lam=pieces.lam))
        best = rule(pieces, i)
        if best is not None:
            pieces.lam[i], pieces.u[i] = best, pieces.fixed[i] - best
            now = row._replace(lam=pieces.lam)
            yield (before - bound(now)) / (1e-12 * max(scale(row), scale(now)))
        pieces.add(i)


def test_no_step_lowers_the_bound():
    rng = np.random.default_rng(1)
    assert max(max(coordinate_drops(harsh(rng), right), default=0) for _ in range(80)) < 1


@pytest.mark.jit
def test_no_step_lowers_the_bound_in_hundreds_of_cases():
    rng = np.random.default_rng(2)
    assert max(max(coordinate_drops(harsh(rng), right), default=0) for _ in range(600)) < 1


def test_mean_field_steps_lower_the_bound():
    rng = np.random.default_rng(1)
    drops = [max(coordinate_drops(harsh(rng, 4), mean_field), default=0) for _ in range(20)]
    assert np.mean(np.array(drops) > 1e6) > 0.3


def conditional_gain(row, lam, log_weights):
    """Return the mean of log target - log q, rows weighted as given."""
    on = log_weights > -np.inf
    z = all_rows(lam.size)[on]
    gain = log_target(row)[on] - z @ lam - row.g[z.sum(axis=1)]
    return np.exp(log_weights[on] - logsumexp(log_weights[on])) @ gain


def test_a_step_is_the_best_there_is():
    """The optimum of lambda_i is E[V + r | z_i = 1] - E[V + r | z_i = 0], by enumeration."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        row = harsh(rng)
        z, pieces = all_rows(row.lam.size), Pieces(row)
        for i in range(row.lam.size):
            here = log_q(row._replace(lam=pieces.lam))
            parts = [np.where(z[:, i] == on, here, -np.inf) for on in (0, 1)]
            found = pieces.step(i)
            if found is None:
                assert min(p.max() for p in parts) == -np.inf
            else:
                means = [conditional_gain(row, pieces.lam, p) for p in parts]
                best = pieces.lam[i] + means[1] - means[0]
                assert pieces.fixed[i] + found == pytest.approx(best, abs=1e-10 * scale(row))
                pieces.lam[i] = pieces.fixed[i] + found
                pieces.u[i] = -found
            pieces.add(i)


def test_a_pass_is_its_steps():
    rng = np.random.default_rng(4)
    for _ in range(20):
        row = harsh(rng)
        pieces = Pieces(row)
        for i in range(row.lam.size):
            best = right(pieces, i)
            if best is not None:
                pieces.lam[i], pieces.u[i] = best, pieces.fixed[i] - best
            pieces.add(i)
        np.testing.assert_allclose(sweep([row], True)[0][0], pieces.lam, rtol=1e-13)


def test_the_count_part_is_the_best_there_is():
    """g(k) = h(k) + E[V | k], so that the bound is that of the counts with the sets summed out."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        row = harsh(rng, 4)
        lam, g, *_ = sweep([row], True)
        row = row._replace(lam=lam[0], g=g[0])
        highest = bound(row)
        for k in np.flatnonzero(row.h > -np.inf):
            for by in (-0.1, 0.1):
                other = row.g.copy()
                other[k] += by
                assert bound(row._replace(g=other)) <= highest + 1e-11 * scale(row)


def test_rows_that_can_only_be_one_thing():
    rng = np.random.default_rng(6)
    for ones in (0, 4):
        row = harsh(rng, 4)
        h = np.full(5, -np.inf)
        h[ones] = -ribp.log_esp(row.theta)[ones]
        row = row._replace(h=h, g=h.copy())
        found = sweep([row], True)
        np.testing.assert_array_equal(found[0][0], row.lam)  # nothing to learn
        np.testing.assert_array_equal(found[2][0], np.full(4, ones == 4))
        check_moments(row, found)


def test_ties_are_like_any_other_values():
    rng = np.random.default_rng(7)
    row = harsh(rng, 4)._replace(lam=np.zeros(4))
    near = sweep([row._replace(lam=1e-9 * rng.normal(size=4))], True)[0]
    np.testing.assert_allclose(sweep([row], True)[0], near, atol=1e-6 * scale(row))


def test_rows_are_weighted_and_do_not_see_each_other():
    rng = np.random.default_rng(8)
    rows = [harsh(rng, 4) for _ in range(3)]
    rows = [r._replace(theta=rows[0].theta, gram=rows[0].gram) for r in rows]
    weights = np.array([1.0, 3.0, 2.0])
    together = sweep(rows, True, gram=rows[0].gram, weights=weights)
    apart = [sweep([row], True) for row in rows]
    for at, (lam, g, nu, *_) in enumerate(apart):
        for whole, alone in zip(together, (lam, g, nu), strict=False):
            np.testing.assert_array_equal(whole[at], alone[0])
    total = sum(w * found[5] for w, found in zip(weights, apart, strict=True))
    np.testing.assert_allclose(together[5], total, rtol=1e-14, atol=1e-14)


def draw_p_values(rows, laws, n, seed):
    """Compare n draws of each row with a law."""
    out = np.zeros((n * len(rows), rows[0].lam.size), np.int8)
    lam = np.repeat([r.lam for r in rows], n, axis=0)
    kernel.draw(np.uint64(seed), 3, 10, lam, np.repeat([r.g for r in rows], n, axis=0), out)
    codes = (out @ (1 << np.arange(out.shape[1]))).reshape(len(rows), n)
    seen = [np.bincount(c, minlength=2 ** out.shape[1]) for c in codes]
    return list(map(frequencies_p_value, seen, laws))


def draw_cases():
    rng = np.random.default_rng(9)
    rows = []
    for f in ([0, 0.5, 0, 0.5, 0], [0.2] * 5, [0, 0, 1, 0, 0], [0.5, 0, 0, 0, 0.5]):
        row = harsh(rng, 4)
        with np.errstate(divide="ignore"):
            row = row._replace(lam=rng.normal(size=4), g=np.log(f))
        rows.append(row)
    return rows


def test_draws_come_from_q():
    rows = draw_cases()
    assert holds(
        partial(draw_p_values, rows, [np.exp(log_q(row)) for row in rows]), replicates(400)
    )


def test_draws_that_forget_the_count_are_noticed():
    z = all_rows(4)
    for row in draw_cases()[::2]:
        nu = np.exp(log_q(row)) @ z
        independent = np.prod(np.where(z == 1, nu, 1 - nu), axis=1)
        assert is_caught(partial(draw_p_values, [row], [independent]), 400)


def test_draws_with_an_odd_number_of_features():
    rng = np.random.default_rng(10)
    row = harsh(rng, 3)._replace(lam=np.array([0.3, -0.5, 1.0]), g=np.zeros(4))
    assert holds(partial(draw_p_values, [row], [np.exp(log_q(row))]), replicates(400))
