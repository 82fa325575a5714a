"""Shared settings: property tests are reproducible and have no deadline (kernels compile).

Linear algebra stays on one thread, as in fits: matrices are small, and workers share the cores.

Tests of kernels come first, then the long ones. Two workers begin with one half of the list each,
and every second file is in the other half: so each compiles other kernels, and finds those of the
other on disk when they are needed.
"""

import signal
import sys
from itertools import groupby

import numpy as np  # noqa: F401  (loads a library that is to be limited)
import pytest
import scipy.linalg  # noqa: F401  (the same)
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from tests.helpers.suite import Suite, part_of

settings.register_profile(
    "ribp", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ribp")
threadpool_limits(limits=1, user_api="blas")

FIRST = ("kernels", "docs", "cli", "mcmc")


def pytest_addoption(parser):
    parser.addoption("--part", default="1/1", help="run every N-th test, from the K-th on: K/N")
    parser.addoption("--store", help="a file for the results, with seeds and versions")


def pytest_configure(config):
    config.pluginmanager.register(Suite(config.getoption("store"), config.getoption("part")))


def pytest_collection_modifyitems(config, items):
    """Deal files out to two halves of equal length, in the order of their folders."""
    items[:] = part_of(items, config.getoption("part"))

    def place(item):
        folder = item.path.parent.name
        return FIRST.index(folder) if folder in FIRST else len(FIRST)

    files = groupby(sorted(items, key=place), key=lambda item: item.path)
    halves = [], []
    for number, (_, tests) in enumerate(files):
        halves[number % 2].extend(tests)
    (one, other), half = halves, len(items) // 2
    rest = len(items) - half
    items[:] = one[:half] + other[rest:] + other[:rest] + one[half:]


@pytest.fixture
def short_searches(monkeypatch):
    """Cut searches short: for tests of a face, not of what is found behind it."""
    from tests.helpers.short_searches import shorten

    shorten(monkeypatch.setattr)


@pytest.fixture
def ctrl_c_is_heard():
    """A process started in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ribp(monkeypatch, capsys):
    """Return a function that runs a command and gives code, output and errors."""
    from ribp.cli.main import main

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["ribp", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return ended.value.code, out, err

    return run
