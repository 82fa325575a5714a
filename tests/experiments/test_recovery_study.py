"""The recovery study: its cases are what they say, its scores are right, and a run works."""

import numpy as np
import pytest

from experiments.recovery import run
from experiments.recovery.cases import NAMES, load
from ribp.search.starts import Schedule
from ribp.testing.recovery import f1, n_recovered

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("name", NAMES)
def test_cases(name):
    case = load(name, 1)
    assert len(case.data) == len(case.rows) == len(case.counts)
    ones = case.rows.sum(axis=1)
    probs = case.counts.log_probs(int(ones.max()))[case.counts.law_of_row, ones]
    assert np.isfinite(probs).all()  # the truth is possible


def test_scores():
    truth = np.array([[1, 0], [1, 0], [0, 1]])
    assert f1(truth[:, ::-1].astype(bool), truth) == 1.0
    assert f1(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]], bool), truth) == pytest.approx(2 / 3)
    features = np.array([[1.0, 0, 0, 2], [0, 1, 0, 0]])
    assert n_recovered(-features[::-1], features) == 2
    assert n_recovered(np.array([[0.0, 0, 1, 0], [0, 1, 0, 0]]), features) == 1


def test_a_quick_run():
    found = run._run(load("chords-exact", 0), 0, 4, Schedule(steps=30))
    assert 0.5 < found.f1 <= 1.0
    assert found.truth_f1 > 0.95
    assert found.features >= 12


def test_scores_of_nothing_and_of_constants():
    truth = np.array([[1.0, 2, 3], [3, 2, 2]])
    assert n_recovered(np.zeros((0, 3)), truth) == 0
    assert n_recovered(np.ones((2, 3)), truth) == 0
    assert f1(np.zeros((4, 0)), np.ones((4, 2))) == 0.0
    assert f1(np.zeros((4, 1)), np.zeros((4, 2))) == 0.0
