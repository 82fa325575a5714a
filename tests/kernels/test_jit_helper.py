"""Where compiled code is kept, step by step and in this process."""

from pathlib import Path

import numba
import pytest

from ribp.kernels import jit as helper


def test_digest_sees_names_and_contents(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    first = helper.sources_digest(tmp_path)
    (tmp_path / "notes.txt").write_text("not code")
    assert helper.sources_digest(tmp_path) == first
    (tmp_path / "a.py").write_text("x = 2")
    second = helper.sources_digest(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, helper.sources_digest(tmp_path)}) == 3


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Four places that may hold the cache, as a plain file (blocked) until a test frees one."""
    names = ["numba", "package", "xdg", "home"]
    for name in names:
        (tmp_path / name).write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setattr(helper, "_KERNELS", tmp_path / "package")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    return tmp_path


def test_the_first_place_that_can_be_written_is_taken(places):
    assert helper.cache_folder() is None
    for name in ["home", "xdg", "package", "numba"]:
        (places / name).unlink()
        (places / name).mkdir()
        assert (places / name) in helper.cache_folder().parents


def test_no_home_and_no_settings(places, monkeypatch):
    def nowhere():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert helper.cache_folder() is None


def test_a_kernel_without_a_cache_still_works(monkeypatch):
    monkeypatch.setattr(helper, "_CACHE", None)
    assert helper.jit(lambda x: x + 1)(2) == 3
