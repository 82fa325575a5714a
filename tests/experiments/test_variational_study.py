"""The study of the two families of q: a quick run, and what it must show."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.variational import run

pytestmark = pytest.mark.jit


def test_structured_marginals_are_nearer_to_the_truth(tmp_path, capsys):
    run.main(["--quick", "--out", str(tmp_path)])
    assert "structured" in capsys.readouterr().out
    for line in json.loads((tmp_path / "results.json").read_text()):
        assert line["structured"] < line["mean field"]
        if line["k"] == 1:
            assert line["structured"] < 1e-9  # the family holds the posterior
