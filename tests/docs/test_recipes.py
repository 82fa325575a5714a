"""The recipe for PyMC runs where PyMC is installed; it is no extra of ours."""

import re

import pytest

from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "recipes" / "pymc.md").read_text()


def block():
    return re.search(r"^```{code-block} python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]


def test_the_recipe_for_pymc_is_python():
    compile(block(), "pymc.md", "exec")


def test_the_recipe_for_pymc_runs(capsys):
    pytest.importorskip("pymc")
    exec(compile(block(), "pymc.md", "exec"), {})
    assert "[ 0.8 -0.5]" in capsys.readouterr().out
