"""Where compiled code is kept, step by step and in this process."""

import sys
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


def test_blas_alone(monkeypatch, tmp_path):
    name = "scipy.linalg.cython_blas"
    assert name in sys.modules
    loaded = sys.modules[name]
    helper._load_blas_alone()
    assert sys.modules[name] is loaded
    import scipy.linalg
    from scipy.linalg import cython_blas

    assert cython_blas is loaded
    assert scipy.linalg.norm([3.0, 4.0]) == 5.0
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(helper.scipy, "__file__", "/nowhere/scipy/__init__.py")
    helper._load_blas_alone()  # not found: left to numba
    assert name not in sys.modules
    (tmp_path / "linalg").mkdir()
    (tmp_path / "linalg" / "cython_blas.py").write_text("found = True")
    monkeypatch.setattr(helper.scipy, "__file__", str(tmp_path / "__init__.py"))
    helper._load_blas_alone()
    assert sys.modules[name].found
