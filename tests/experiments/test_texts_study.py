"""The study of texts: what it tells models, and a quick run of it."""

import json

import numpy as np
import pytest

from experiments.real_features.cases import Case
from experiments.texts import run as study

pytestmark = pytest.mark.jit


def texts(name, folder):
    """Return counts of two topics, one of them or both in a row."""
    rng = np.random.default_rng(0)
    rows = np.array([[1, 0], [0, 1], [1, 1]] * 15, np.int8)
    words = rng.poisson(rng.gamma(2.0, 0.5, (45, 1)) * (rows @ rng.gamma(0.3, 12.0, (2, 12)) + 0.2))
    return Case(np.log1p(words), rows, True, words.astype(float))


def test_exposures_are_words_of_a_topic():
    case = texts("mix", None)
    own = study.exposures(case)
    assert own.mean() == pytest.approx(1.0)
    ratio = case.word_counts.sum(axis=1) / case.k / own
    busy = case.word_counts.sum(axis=1) > 0
    np.testing.assert_allclose(ratio[busy], ratio[busy][0])


def test_a_quick_run(tmp_path, monkeypatch, short_searches):
    monkeypatch.setattr(study, "load", texts)
    study.main(["--quick", "--data", str(tmp_path), "--out", str(tmp_path / "out")])
    found = json.loads((tmp_path / "out" / "results.json").read_text())["numbers"]
    assert len(found) == len(study.CASES) * len(study.METHODS)
    assert all(0.3 < one["F1"] <= 1.0 for one in found.values())
    text = (tmp_path / "out" / "table.md").read_text()
    assert "Poisson, strengths, exposure learned" in text
