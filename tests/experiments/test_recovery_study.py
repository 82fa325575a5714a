"""The recovery study: its cases are what they say, its scores are right, and a run works."""

import contextlib
import json
from functools import partial

import numpy as np
import pytest

from experiments.recovery import chains, images, run, waiting
from experiments.recovery.cases import NAMES, load
from experiments.recovery.parts import WITHOUT, without
from ribp.testing.recovery import f1, n_recovered
from tests.helpers.stand_ins import sha

pytestmark = pytest.mark.jit
SHORT = chains.Sweeps(4, 4, 4)


@pytest.mark.parametrize("name", NAMES)
def test_cases(name):
    case = load(name, 1)
    assert len(case.data) == len(case.rows) == len(case.counts)
    ones = case.rows.sum(axis=1)
    most = case.max_features or int(ones.max())
    probs = case.counts.log_probs(most)[case.counts.law_of_row, ones]
    assert np.isfinite(probs).all()  # the truth is possible


def test_power_is_the_square_of_what_the_other_chords_have():
    power, root = load("chords-power", 0).data, load("chords-exact", 0).data
    assert power.std() == pytest.approx(1.0)
    np.testing.assert_allclose(power / power.max(), (root / root.max()) ** 2, atol=1e-12)


def test_scores():
    truth = np.array([[1, 0], [1, 0], [0, 1]])
    assert f1(truth[:, ::-1].astype(bool), truth) == 1.0
    assert f1(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]], bool), truth) == pytest.approx(2 / 3)
    features = np.array([[1.0, 0, 0, 2], [0, 1, 0, 0]])
    assert n_recovered(-features[::-1], features) == 2
    assert n_recovered(np.array([[0.0, 0, 1, 0], [0, 1, 0, 0]]), features) == 1


def test_a_short_run():
    found, seconds = chains.run(load("chords-exact", 0), 0, SHORT)
    assert found.f1 > 0.95
    assert found.truth_f1 > 0.95
    assert found.features >= found.right == found.true_features == 12
    assert 1 <= found.n_best <= found.n_made
    assert seconds > 0.0


def test_how_long_it_is_to_the_answer():
    case = load("chords-exact", 0)
    found, _ = chains.run(case, 0, SHORT)
    best = max(found.log_joint, found.truth_log_joint)
    numbers, seconds = waiting.run(waiting.SEARCHED, case, 0, SHORT, best)
    assert 1 <= numbers["sweeps"] <= numbers["of"] == 8
    assert numbers["short of the best by"] <= waiting.WITHIN
    assert seconds > 0.0
    numbers, _ = waiting.run(waiting.FROM_PRIOR, case, 0, SHORT, best)
    assert numbers["sweeps"] is None
    assert numbers["short of the best by"] > 1000.0
    numbers, _ = waiting.run(waiting.SEARCHED, case, 0, SHORT, best + 100.0)
    assert numbers["sweeps"] is None  # nobody knows that


@pytest.mark.parametrize("part", WITHOUT)
def test_parts_are_left_out_and_put_back(part):
    module, name, other = WITHOUT[part]
    before = getattr(module, name)
    with contextlib.suppress(ZeroDivisionError), without(part):
        assert getattr(module, name) is other
        raise ZeroDivisionError
    assert getattr(module, name) is before is not other
    with without(part):
        found, _ = chains.run(load("chords-exact", 0), 0, SHORT)
    assert found.f1 > 0.5


def test_a_quick_study_without_files_skips_their_cases(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "NAMES", ("chords-exact",))
    monkeypatch.setattr(run, "PRIORS", {"chords-power": (1, 16)})
    monkeypatch.setattr(run, "WITHOUT", {"no repairs": WITHOUT["no repairs"]})
    monkeypatch.delenv("RIBP_DATA", raising=False)
    run.main(["--quick", "--out", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "chords-power-1332: skipped, no chords.npz" in shown
    assert "cambridge-10k: skipped, no cambridge_10k.npz" in shown
    stored = json.loads((tmp_path / "results.json").read_text())
    assert set(stored["numbers"]) == {
        "fresh | chords-exact | 30",
        "to the answer | chords-exact | 30",
        "to the answer, no search | chords-exact | 30",
        "no repairs | chords-exact | 30",
        "v = 16 | chords-power | 30",
    }
    assert "| chords-exact | no repairs |" in (tmp_path / "parts.md").read_text()
    assert "| chords-exact | 1 of 1 |" in (tmp_path / "waiting.md").read_text()


@pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
@pytest.mark.parametrize("kind", images.MODELS)
def test_images(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.random((200, 3)) < 0.5
    values = rows @ (2.0 * rng.normal(size=(3, 8))) + 0.3 * rng.normal(size=(200, 8))
    np.savez(tmp_path / images.FILE, X=values)
    here = partial(images.load_cambridge, sha256=sha(tmp_path / images.FILE))
    monkeypatch.setattr(images, "load_cambridge", here)
    monkeypatch.setattr(images, "N_SWEEPS", 4)
    numbers, seconds = images.run(kind, 0, tmp_path)
    assert numbers["features"] == 3
    assert np.isfinite(numbers["log_joint"])
    assert seconds > 0.0


def test_scores_of_nothing_and_of_constants():
    truth = np.array([[1.0, 2, 3], [3, 2, 2]])
    assert n_recovered(np.zeros((0, 3)), truth) == 0
    assert n_recovered(np.ones((2, 3)), truth) == 0
    assert f1(np.zeros((4, 0)), np.ones((4, 2))) == 0.0
    assert f1(np.zeros((4, 1)), np.zeros((4, 2))) == 0.0
