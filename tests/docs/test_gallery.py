"""Every script of the gallery runs, is short, and writes the pictures that the page shows."""

import re
import runpy
from pathlib import Path

import pytest

from ribp.testing.recovery import n_recovered
from tests.helpers import ROOT

DOCS = ROOT / "docs"
SCRIPTS = sorted(path for path in DOCS.glob("gallery/*.py") if path.name != "make.py")
PAGE = (DOCS / "gallery.md").read_text()

# Chains are too short to be called converged, and say so.
pytestmark = pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")


def shown_after(script: Path) -> set[str]:
    """Return the pictures that the page shows below a script."""
    part = PAGE.partition(f"gallery/{script.name}")[2].partition("literalinclude")[0]
    return set(re.findall(r"pictures/gallery/([\w-]+\.png)", part))


@pytest.mark.jit
@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_writes_its_pictures(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(script))
    if script.stem == "saturation":
        assert n_recovered(names["found"], names["truth"]) == 6
    written = {path.name for path in tmp_path.glob("*.png")}
    assert written == shown_after(script)
    assert written
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in written)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_on_the_page(script):
    most = 50 if "def model" in script.read_text() else 25
    assert len(script.read_text().splitlines()) <= most
    assert f"```{{literalinclude}} gallery/{script.name}\n" in PAGE


def test_pictures_are_there_and_small():
    shown = set(re.findall(r"pictures/gallery/([\w-]+\.png)", PAGE))
    kept = list(DOCS.glob("pictures/gallery/*.png"))
    assert {path.name for path in kept} == shown
    assert max(path.stat().st_size for path in kept) < 120_000
    assert sum(path.stat().st_size for path in kept) < 1_000_000
