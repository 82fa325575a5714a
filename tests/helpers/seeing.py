"""Which tests run which lines of the source, and how long each takes: whom to ask about a mutant.

`record` runs tests once under coverage, each a context of its own: with the compiler off, which
sees lines of kernels, and with it. `seeing` then tells which tests run some lines, the quickest
first. Behind them come the other tests of the same files, which may have found ready made what
they share (a fixture, a cache), until all take `SECONDS`.

As a plug-in of pytest (``-p tests.helpers.seeing``) it keeps tests in the order in which they are
asked for (conftest deals them out to two workers), writes down the seconds of those that pass, and
ends the process at a test that takes much longer than it is known to.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pytest
from coverage import CoverageData

from tests.helpers import ROOT

PLACE = ROOT / ".mutants"
SECONDS = 60.0
WRITTEN, KNOWN, PATIENCE = "RIBP_SECONDS_WRITTEN", "RIBP_SECONDS_KNOWN", "RIBP_SECONDS_MORE"
SLOWER = 5
NO_END = "no end"


class Way(NamedTuple):
    """One way to run tests."""

    name: str
    tests: tuple[str, ...]
    """Those that are recorded."""
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def lines(self) -> Path:
        """Where coverage writes which test runs which lines."""
        return PLACE / f"{self.name}.coverage"

    @property
    def seconds(self) -> Path:
        """Where the seconds of tests are."""
        return PLACE / f"{self.name}.json"


UNCOMPILED = Way(
    "uncompiled",
    ("kernels", "likelihoods", "prior", "mcmc", "variational", "baselines", "search"),
    ("-m", "not jit"),
    (("NUMBA_DISABLE_JIT", "1"),),
)
COMPILED = Way(
    "compiled",
    ("weights", "prior", "kinds", "entries", "likelihoods", "mcmc", "variational",
     "posterior", "rows", "test_fitting.py", "test_model.py"),
)  # fmt: skip


def failures(way: Way, source: Path, *arguments: str, **seconds: object) -> list[str]:
    """Run pytest on a copy of the source; return which tests failed, or how else it ended.

    `seconds` may be files, `known` and `written`, and how many a test may take (`patience`) beyond
    five times what is known.
    """
    names = {"written": WRITTEN, "known": KNOWN, "patience": PATIENCE}
    plain = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "tests.helpers.seeing"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *way.arguments, *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(source), "RIBP_TEST_TIER": "quick",
             "OMP_NUM_THREADS": "1", **dict(way.environment),
             **{names[name]: str(value) for name, value in seconds.items()}},
    )  # fmt: skip
    if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return []
    if done.returncode == -signal.SIGALRM:
        return [NO_END]
    if "ERROR: not found" in done.stderr:
        raise RuntimeError(f"tests have other names now, record again:\n{done.stderr}")
    lines = done.stdout.splitlines()
    failed = [line.partition(" ")[2] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return [one.partition(" - ")[0] for one in failed] or [f"exit code {done.returncode}"]


def record(way: Way, source: Path) -> list[str]:
    """Run the tests of a way once, under coverage; return those that failed."""
    settings = PLACE / "coverage.ini"
    settings.write_text(f"[run]\ndata_file = {way.lines}\n")
    way.lines.unlink(missing_ok=True)
    cover = ("--cov=ribp", "--cov-context=test", f"--cov-config={settings}", "--cov-report=")
    tests = (f"tests/{one}" for one in way.tests)
    return failures(way, source, *cover, *tests, written=way.seconds)


def seeing(way: Way, file: Path, lines: Iterable[int]) -> list[str]:
    """Return tests to ask about some lines of a file, in this order."""
    seconds: dict[str, float] = json.loads(way.seconds.read_text())
    data = CoverageData(str(way.lines))
    data.read()
    contexts = data.contexts_by_lineno(str(file))
    every = {one.rpartition("|")[0] for line in lines for one in contexts.get(line, ())}
    first = sorted(every & seconds.keys(), key=seconds.__getitem__)
    files = {test.partition("::")[0] for test in first}
    near = [test for test in seconds if test.partition("::")[0] in files and test not in every]
    tests = [*first, *sorted(near, key=seconds.__getitem__)]
    totals = accumulate(seconds[test] for test in tests)
    return [test for test, total in zip(tests, totals, strict=True) if total <= SECONDS]


class InOrder:
    """The plug-in."""

    def __init__(self) -> None:
        known = os.environ.get(KNOWN)
        self.known: dict[str, float] = json.loads(Path(known).read_text()) if known else {}
        self.patience = float(os.environ.get(PATIENCE, "0"))
        self.seconds: dict[str, float] = {}
        self.passed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items):
        place = {item: number for number, item in enumerate(items)}
        result = yield
        items.sort(key=place.__getitem__)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        if self.known:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # compiled loops hear nothing else
            signal.alarm(int(self.patience + SLOWER * self.known.get(item.nodeid, 0.0)))
        result = yield
        signal.alarm(0)
        return result

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.passed and report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self):
        if WRITTEN in os.environ:
            passed = {one: round(s, 3) for one, s in self.seconds.items() if one in self.passed}
            Path(os.environ[WRITTEN]).write_text(json.dumps(passed, indent=1))


def pytest_configure(config):
    config.pluginmanager.register(InOrder())
