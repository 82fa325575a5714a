"""The study of the two families of q: a quick run, and what it must show."""

import json

import pytest

from experiments.variational import run, stochastic

pytestmark = pytest.mark.jit


def test_structured_marginals_are_nearer_to_the_truth(tmp_path, capsys):
    run.main(["--quick", "--out", str(tmp_path)])
    assert "k 1, noise 0.3: error 0.000 and" in capsys.readouterr().out
    first = json.loads((tmp_path / "results.json").read_text())
    assert first["quick"]
    for line in first["numbers"]:
        assert line["structured"] < line["mean field"]
        if line["k"] == 1:
            assert line["structured"] < 1e-9  # the family holds the posterior
    run.main(["--quick", "--out", str(tmp_path)])
    assert json.loads((tmp_path / "results.json").read_text())["numbers"] == first["numbers"]


def test_batches_are_compared_with_all_rows(tmp_path, capsys):
    small = ["--rows", "4000", "--features", "5", "--dims", "8", "--passes", "3", "--threads", "1"]
    stochastic.main([*small, "--out", str(tmp_path)])
    assert "gain, sample" in capsys.readouterr().out
    found = json.loads((tmp_path / "stochastic.json").read_text())
    whole, batches = found["structured"]["trace"], found["stochastic"]["trace"]
    assert [step["passes"] for step in whole] == [1, 2, 3]
    gains = [step["gain"] for step in whole]
    assert gains == sorted(gains)
    assert gains[-1] == whole[-1]["gain, sample"] == 1.0
    assert batches[-1]["row work"] == 4 * batches[-1]["passes"] == 4.0
    assert batches[-1]["gain, sample"] > 0
    assert found["structured"]["features found"] <= 5


def test_no_pass_begins_too_late(tmp_path):
    small = ["--rows", "2000", "--features", "4", "--dims", "6", "--threads", "1"]
    stochastic.main([*small, "--minutes", "0", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "stochastic.json").read_text())
    assert len(found["structured"]["trace"]) == 1
