"""`ribp demo` as a user runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

RIBP = Path(sys.executable).with_name("ribp")

pytestmark = pytest.mark.jit


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run([RIBP, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_table_and_picture(tmp_path):
    done = run("demo", "--out", "here/demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "How likely is each note?" in done.stdout
    assert (tmp_path / "here" / "demo" / "row-law.png").stat().st_size > 10_000


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
