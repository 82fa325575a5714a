"""The study of loudness: what it makes, who takes part, and a quick run of it."""

import json

import numpy as np
import pytest

from experiments.strengths import data, methods
from experiments.strengths import run as study

pytestmark = pytest.mark.jit


@pytest.mark.parametrize(
    ("which", "n_rows"),
    [
        (data.PIANO, 232),
        (data.PIANO_THREE, 220),
        (data.RECORDED, 232),
        (data.RECORDED_THREE, 220),
    ],
)
def test_loud_chords(which, n_rows):
    made, even = data.loud(3, 0.7, which), data.loud(3, 0.0, which)
    assert made.values.shape == (n_rows, 100)
    np.testing.assert_array_equal(made.counts, made.notes.sum(axis=1))
    np.testing.assert_array_equal(made.spectra, even.spectra)
    np.testing.assert_array_equal(made.notes, even.notes)
    assert not np.allclose(made.values, even.values, atol=0.1)


def test_hidden_entries():
    made = data.binary("chords", 3)
    np.testing.assert_array_equal(np.isnan(made.values), made.hidden)
    assert 0.005 < made.hidden.mean() < 0.015


def test_a_quick_run(tmp_path, short_searches):
    study.main(["--quick", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "results.json").read_text())["numbers"]
    assert len(found) == len(methods.METHODS) + 1
    assert found[f"{data.RECORDED} | 0.4 | NMF told 12 | 1"]["F1"] > 0.9
    assert found[f"{data.RECORDED} | 0.4 | K-SVD told 12 | 1"]["F1"] > 0.9
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "loud.md", "binary.md"}
