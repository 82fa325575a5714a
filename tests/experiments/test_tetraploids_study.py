"""The study of tetraploids: what it makes, and a quick run of it."""

import json

import numpy as np
import pytest

from experiments.tetraploids import run as study

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("frequencies", [study.EVEN, study.UNEVEN])
def test_every_plant_has_four_copies(frequencies):
    made = study.tetraploids(3, frequencies, study.Scale())
    assert made.values.shape == (300, 60)
    assert (made.rows.sum(axis=1) == 4).all()
    assert set(np.unique(made.haplotypes)) == {0.0, 1.0}
    again = study.tetraploids(3, frequencies, study.Scale())
    np.testing.assert_array_equal(made.values, again.values)


def test_features_that_are_the_haplotypes_are_exact_and_so_are_their_rows():
    made = study.tetraploids(3, study.EVEN, study.QUICK)
    order = [2, 0, 1]
    found, decoded = made.haplotypes[order], made.rows[:, order]
    assert study._exact(found, made.haplotypes) == 1.0
    assert study._right_rows(found, decoded, made) == 1.0
    assert study._exact(found[:1], made.haplotypes) == pytest.approx(1 / 3)
    assert study._right_rows(found, decoded[::-1], made) < 1.0


def test_a_quick_run(tmp_path, short_searches):
    study.main(["--quick", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "results.json").read_text())["numbers"]
    assert len(found) == 2 * len(study.METHODS)
    assert found["alike | each row alone | 100"]["right numbers"] > 0.8
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "table.md"}
