"""Kinds of columns: their laws, their derivatives, their texts, and what they refuse."""

import numpy as np
import pytest
from scipy import integrate, stats

from ribp import kinds
from ribp.errors import InputError
from ribp.testing.goodness import frequencies_p_value, holds, mean_p_value, replicates
from tests.helpers.kind_cases import KINDS, OWN, VALUES

ETA = np.random.default_rng(1).normal(0, 2, (6, 3))


def own_of(name):
    return np.array(OWN.get(name, ()))


def eta_of(name):
    return np.ascontiguousarray(ETA[:, : KINDS[name].width])


@pytest.mark.parametrize("name", KINDS)
def test_probabilities_add_up_to_one(name):
    kind, own = KINDS[name], own_of(name)
    for eta in eta_of(name)[:, None]:
        if kind.has_units:
            low = 0.0 if name == "positive" else -np.inf
            total, _ = integrate.quad(
                lambda x, eta=eta: np.exp(kind.log_density(np.array([x]), eta, own))[0], low, np.inf
            )
        else:
            most = len(kind.levels) or 4000
            values = np.arange(getattr(kind, "trials", most - 1) + 1.0)
            total = np.exp(kind.log_density(values, np.repeat(eta, values.size, 0), own)).sum()
        assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_slopes_are_derivatives(name):
    kind, own, step = KINDS[name], own_of(name), 1e-4
    for value in VALUES[name]:
        eta = eta_of(name)
        values = np.full(len(eta), value)
        slope, bent = kind.slopes(values, eta, own)
        for k in range(kind.width):
            shift = step * (np.arange(kind.width) == k)
            low, at, high = (
                kind.log_density(values, eta + sign * shift, own) for sign in (-1, 0, 1)
            )
            scale = 1.0 + np.abs(at)
            np.testing.assert_allclose(
                slope[:, k], (high - low) / (2 * step), atol=1e-5 * scale.max()
            )
            found = -(high - 2 * at + low) / step**2
            np.testing.assert_allclose(bent[:, k], found, atol=1e-5 * scale.max())
            assert (bent >= 0).all()


@pytest.mark.parametrize("name", KINDS)
def test_information_is_the_mean_bend(name):
    kind, own = KINDS[name], own_of(name)
    eta = eta_of(name)[:2]
    if kind.has_units:
        values = np.ones(2)
        np.testing.assert_allclose(kind.information(eta, own), kind.slopes(values, eta, own)[1])
        return
    values = np.arange(getattr(kind, "trials", (len(kind.levels) or 4000) - 1) + 1.0)
    for one in eta[:, None]:
        wide = np.repeat(one, values.size, 0)
        probs = np.exp(kind.log_density(values, wide, own))
        expected = probs @ kind.slopes(values, wide, own)[1]
        np.testing.assert_allclose(kind.information(one, own)[0], expected, rtol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_draws_have_the_law_and_its_moments(name):
    kind, own = KINDS[name], own_of(name)
    eta = np.array([[0.4, -0.5, 0.9][: kind.width]])

    def check(n, seed):
        drawn = kind.draw(np.random.default_rng(seed), np.repeat(eta, n, 0), own)
        assert kind.possible(drawn).all()
        mean, variance = (float(one[0]) for one in kind.expected(eta, own))
        below, above = kind.tails(drawn, np.repeat(eta, n, 0), own)
        p_values = [mean_p_value(np.tanh(drawn / 5), *_bounded(kind, eta, own))]
        if not kind.has_units:
            p_values += [mean_p_value(drawn, mean), mean_p_value((drawn - mean) ** 2, variance)]
        uniform = below + np.random.default_rng(seed + 1).random(n) * (1 - below - above)
        counts = np.histogram(uniform, 20, (0, 1))[0]
        return [*p_values, frequencies_p_value(counts, np.full(20, 0.05))]

    assert holds(check, replicates(2000))


def _bounded(kind, eta, own):
    """Return the mean of tanh(x/5), by summation or quadrature."""
    if kind.has_units:
        low = 0.0 if kind.name == "positive" else -np.inf
        total, _ = integrate.quad(
            lambda x: np.tanh(x / 5) * np.exp(kind.log_density(np.array([x]), eta, own))[0],
            low, np.inf,
        )  # fmt: skip
        return (total,)
    values = np.arange(200.0)[kind.possible(np.arange(200.0))]
    wide = np.repeat(eta, values.size, 0)
    return (float(np.tanh(values / 5) @ np.exp(kind.log_density(values, wide, own))),)


@pytest.mark.parametrize("name", ["real", "positive"])
def test_moments_of_numbers(name):
    kind, own = KINDS[name], own_of(name)
    mean, variance = kind.expected(np.array([[0.7]]), own)
    scale = np.exp(own[0])
    law = (
        stats.norm(0.7 * scale, scale)
        if name == "real"
        else stats.lognorm(scale, scale=np.exp(0.7 * scale))
    )
    np.testing.assert_allclose([mean[0], variance[0]], [law.mean(), law.var()])


@pytest.mark.parametrize("name", KINDS)
def test_a_look_begins_with_what_the_column_shows(name):
    """Without features the link of the centre gives the column's mean, or its frequencies."""
    kind = KINDS[name]
    rng = np.random.default_rng(0)
    values = np.array(VALUES[name])[rng.integers(len(VALUES[name]), size=4000)]
    look = kind.look(values)
    centre, own = kind.begin(look)
    assert (len(centre), len(own)) == (kind.width, kind.n_own)
    eta = np.array([centre])
    if kind.levels:
        probs = kind.level_probs(eta, np.array(own))[0]
        smoothed = look.frequencies + 0.5
        np.testing.assert_allclose(probs, smoothed / smoothed.sum(), rtol=1e-12)
    elif not kind.has_units:
        mean, variance = kind.expected(eta, np.array(own))
        assert mean[0] == pytest.approx(values.mean(), rel=0.01)
        if name == "negbin":  # whose own number is begun with the spread
            assert variance[0] == pytest.approx(values.var(), rel=0.01)


@pytest.mark.parametrize("name", KINDS)
def test_a_column_alone(name):
    """An entry left out has the law of a column of all others."""
    kind = KINDS[name]
    values = np.array(VALUES[name] * 3 + VALUES[name][:1])
    found = kind.left_out(values)
    rest = kind.look(np.delete(values, 2))
    assert found[2] == pytest.approx(kind.alone(rest, values[2:3])[0], rel=1e-9)
    assert np.isfinite(found).all()
    few = kind.left_out(values[:1])
    assert few.shape == (1,)


@pytest.mark.parametrize("name", ["real", "positive"])
def test_numbers_alone_have_students_law(name):
    seen, new = np.array([0.4, 1.9, 0.7, 3.1]), np.array([0.2, 1.0, 7.0])
    log = name == "positive"
    x = np.log(seen) if log else seen
    law = stats.t(3, x.mean(), x.std(ddof=1) * np.sqrt(1 + 1 / 4))
    right = law.logpdf(np.log(new)) - np.log(new) if log else law.logpdf(new)
    np.testing.assert_allclose(KINDS[name].alone(KINDS[name].look(seen), new), right)


def test_two_levels_are_one_law():
    """Binary is ordinal and categorical with two levels, and binomial with one trial."""
    eta, x = ETA[:, :1], np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    nothing, pair = np.zeros(0), ["no", "yes"]
    expected = kinds.binary().log_density(x, eta, nothing)
    assert expected[1] == pytest.approx(-np.logaddexp(0, -eta[1, 0]))
    ordinal, one = kinds.ordinal(pair), kinds.binomial(1)
    np.testing.assert_allclose(ordinal.log_density(x, eta, nothing), expected)
    np.testing.assert_allclose(one.log_density(x, eta, nothing), expected, atol=1e-14)
    two = np.hstack([np.zeros_like(eta), eta])
    categorical = kinds.categorical(pair)
    np.testing.assert_allclose(categorical.log_density(x, two, nothing), expected)
    look = kinds.binary().look(x)
    centre = categorical.begin(look).centre
    assert centre[1] - centre[0] == pytest.approx(kinds.binary().begin(look).centre[0])
    assert one.begin(one.look(x)).centre == pytest.approx(kinds.binary().begin(look).centre)
    assert categorical.variance * 2 == kinds.binary().variance


def test_far_levels_of_an_order_do_not_cancel():
    kind, own = kinds.ordinal(["a", "b", "c"]), np.array([-20.0])
    found = kind.log_density(np.array([1.0]), np.array([[60.0]]), own)
    assert found[0] == pytest.approx(-60 - 20, rel=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_texts_come_back(name):
    assert kinds.parse(str(KINDS[name])) == KINDS[name]


def test_texts_of_kinds():
    assert kinds.parse(" ordinal( low,high ) ").levels == ("low", "high")
    assert kinds.parse("binary(no, yes)") == kinds.binary(["no", "yes"])
    assert kinds.parse("binary") == kinds.binary()
    assert tuple(KINDS) == kinds.NAMES
    for wrong in ("", "gaussian", "binomial", "binomial(x)", "ordinal", "real(3)", "ordinal(a)"):
        with pytest.raises(InputError, match=r"ordinal\(|ordinal\(\["):
            kinds.parse(wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kinds.ordinal(["a"]),
        lambda: kinds.categorical("abc"),
        lambda: kinds.categorical(["a", "a"]),
        lambda: kinds.categorical([str(k) for k in range(51)]),
        lambda: kinds.binomial(0),
    ],
)
def test_what_kinds_refuse(make):
    with pytest.raises(InputError, match=r"levels|trials"):
        make()


@pytest.mark.parametrize("name", KINDS)
def test_values_that_cannot_be(name):
    kind = KINDS[name]
    assert kind.possible(np.array(VALUES[name])).all()
    wrong = {"real": np.inf, "positive": 0.0, "binomial": 4.0, "ordinal": 4.0, "categorical": 3.0}
    for value in (wrong.get(name, 0.5), np.nan):
        assert not kind.possible(np.array([value]))[0]
    assert kind.rule
