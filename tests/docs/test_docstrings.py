"""Examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import ribp

MODULES = [
    module.name
    for module in pkgutil.walk_packages(ribp.__path__, "ribp.")
    if not module.name.startswith(("ribp.kernels", "ribp.cli", "ribp.__main__"))
]

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples():
    modules = ["ribp.symmetric", "ribp.restricted_bernoulli", "ribp.poisson_binomial"]
    assert all(doctest.testmod(importlib.import_module(name)).attempted for name in modules)
