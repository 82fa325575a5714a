"""What a bare import brings in, and what it must not."""

import subprocess
import sys

import pytest

import ribp

LOADED = "import sys; print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {LOADED}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_is_light():
    loaded = modules_after("import ribp")
    heavy = {"numba", "sklearn", "scipy", "matplotlib", "numpy", "rich", "typer", "jax", "numpyro"}
    assert not loaded & heavy


def test_nothing_but_the_extra_knows_jax():
    code = "import ribp; [getattr(ribp, name) for name in ribp.__all__]"
    assert not modules_after(code) & {"jax", "jaxlib", "numpyro"}


def test_without_numpyro_its_import_says_what_to_install():
    code = "import sys; sys.modules['numpyro'] = None; import ribp; ribp.numpyro"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ribp.numpyro needs NumPyro")
    assert "pip install 'ribp[numpyro]'" in last


def test_first_answer_does_not_load_what_it_does_not_need():
    loaded = modules_after("import ribp; ribp.log_esp([0.0, 1.0])")
    assert "numba" in loaded
    assert not loaded & {"sklearn", "matplotlib", "rich", "typer"}


HELP_MAY_LOAD = {
    "annotated_doc", "click", "markdown_it", "mdurl", "pygments", "ribp", "rich", "shellingham",
    "typer", "typing_extensions", "typing_inspection",
}  # fmt: skip
STARTUP = {"__main__", "_distutils_hack", "_virtualenv", "sitecustomize", "usercustomize"}


def test_help_is_light():
    code = "import ribp.cli.main as m; m.app(['--help'], standalone_mode=False)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {LOADED}"], capture_output=True, text=True, check=True
    )
    assert "demo" in done.stdout
    loaded = set(done.stdout.splitlines()[-1].split())
    others = {name for name in loaded - sys.stdlib_module_names if "editable" not in name}
    assert others - STARTUP <= HELP_MAY_LOAD


def test_public_names():
    assert set(ribp.__all__) <= set(dir(ribp))
    for name in ribp.__all__:
        assert getattr(ribp, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ribp.nonsense
