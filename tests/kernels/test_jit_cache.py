"""The compiled-code cache: used when it can be, never stale, never needed."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import ribp

PACKAGE = Path(ribp.__file__).parent
UNIFORM = "from ribp.kernels.random import uniform_pair; print(uniform_pair(7, 0, 0, 0)[0])"
INCLUSION = "import ribp; print(round(float(ribp.inclusion_probs([0.0, 1.0, 2.0], 1)[2]), 6))"

pytestmark = pytest.mark.jit


def run(code: str, package_parent: Path, **environment: str) -> str:
    keep = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**keep, "PYTHONPATH": str(package_parent), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "ribp", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def compiled(folder: Path) -> list[Path]:
    return list(folder.rglob("compiled-*/**/*.nbc"))


def test_cache_is_written_beside_the_kernels_and_used_again(copy):
    first = run(UNIFORM, copy)
    files = {path: path.stat().st_mtime_ns for path in compiled(copy)}
    assert files
    assert run(UNIFORM, copy) == first
    assert {path: path.stat().st_mtime_ns for path in compiled(copy)} == files


def test_an_edit_to_a_helper_in_another_file_is_seen(copy):
    # `uniform_pair` calls `philox` here; put a caller into another file, as kernels do.
    caller = copy / "ribp" / "kernels" / "caller.py"
    caller.write_text(
        "from ribp.kernels.jit import jit\nfrom ribp.kernels.random import uniform_pair\n\n"
        "@jit\ndef twice(seed):\n    return 2 * uniform_pair(seed, 0, 0, 0)[0]\n"
    )
    code = "from ribp.kernels.caller import twice; print(twice(7))"
    before = run(code, copy)
    helper = copy / "ribp" / "kernels" / "random.py"
    helper.write_text(helper.read_text().replace("for _ in range(10):", "for _ in range(11):"))
    after = run(code, copy)
    assert before != after
    helper.write_text(helper.read_text().replace("for _ in range(11):", "for _ in range(10):"))
    assert run(code, copy) == before


@pytest.mark.parametrize("home", ["none", "writable"])
def test_read_only_package(copy, tmp_path, home):
    # A plain file where the folder would have to be stops root as well as a user.
    (copy / "ribp" / "kernels" / "__pycache__").write_text("")
    folder = tmp_path / "home"
    if home == "none":
        folder.write_text("")
    else:
        folder.mkdir()
    os.chmod(copy / "ribp" / "kernels", stat.S_IRUSR | stat.S_IXUSR)
    out = run(INCLUSION, copy, HOME=str(folder), PYTHONDONTWRITEBYTECODE="1")
    assert out == "0.665241"
    assert bool(compiled(tmp_path)) == (home == "writable")


def test_user_cache_folders(copy, tmp_path):
    run(UNIFORM, copy, NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    assert compiled(tmp_path / "numba")
    shutil.rmtree(copy / "ribp" / "kernels" / "__pycache__", ignore_errors=True)
    (copy / "ribp" / "kernels" / "__pycache__").write_text("")
    run(UNIFORM, copy, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert compiled(tmp_path / "xdg" / "ribp")
