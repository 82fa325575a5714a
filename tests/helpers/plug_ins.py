"""Plug-ins from outside of the package: those of the developer pages, registered for a while."""

import doctest
import re
import sys
from contextlib import contextmanager
from functools import cache
from types import ModuleType

from ribp.counts.text import LAWS
from ribp.entries import ENTRY_KINDS
from ribp.likelihoods import LIKELIHOODS
from ribp.measures import MEASURES
from ribp.rows.homes import HOMES
from ribp.weights import WEIGHT_PRIORS
from tests.helpers import ROOT

REGISTRIES = [LAWS, ENTRY_KINDS, LIKELIHOODS, MEASURES, HOMES, WEIGHT_PRIORS]


@cache
def of_page(name):
    """Return what the first block of code of a developer page defines."""
    page = (ROOT / "docs" / "developer" / f"{name}.md").read_text()
    block = re.search(r"```python\n(.*?)```", page, re.S)[1]
    page = sys.modules[f"page {name}"] = ModuleType(f"page {name}")  # so that values can be pickled
    for example in doctest.DocTestParser().get_examples(block):
        exec(example.source, vars(page))
    return vars(page)


@contextmanager
def registered(registry, name, plugin):
    """Register a plug-in, and unregister it in the end."""
    registry.register(name, plugin)
    try:
        yield
    finally:
        registry.unregister(name)


@contextmanager
def nothing_left():
    """Forget in the end whatever is registered within."""
    before = [dict(registry._plugins) for registry in REGISTRIES]
    try:
        yield
    finally:
        for registry, plugins in zip(REGISTRIES, before, strict=True):
            registry._plugins = plugins
