"""`ribp demo` as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ribp.cli import demo
from ribp.datasets import load_chords

RIBP = Path(sys.executable).with_name("ribp")

pytestmark = pytest.mark.jit


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run([RIBP, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_table_and_report(tmp_path, monkeypatch, capsys):
    short = demo._OPTIONS | {"chains": 1, "warmup": 10, "draws": 10}
    monkeypatch.setattr(demo, "_OPTIONS", short)
    demo.demo(tmp_path / "here" / "demo")
    out = capsys.readouterr().out
    folder = tmp_path / "here" / "demo"
    assert "What was found" in out
    assert "report.html" in out
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")
    models = json.loads((folder / "run" / "compare.json").read_text())["models"]
    ours, free, told, roomy = models.values()
    assert (ours["found"], ours["f1"]) == (12, 1.0)
    assert ours["f1"] > free["f1"] > 0.7  # the rival has had a fair start
    assert (told["found"], told["f1"]) == (12, 1.0)
    assert roomy["f1"] < 0.9


def test_nmf_rows_have_the_largest_activations():
    chords = load_chords()
    rows = demo._nmf(chords, 12)
    np.testing.assert_array_equal(rows.sum(axis=1), chords.counts)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("demo", "--out", "file/demo", cwd=tmp_path)
    assert done.returncode == 1
    assert "file/demo" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_command(tmp_path):
    done = run("dmo", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
