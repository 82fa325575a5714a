"""What the whole suite says of itself: its statistics, and the results of the slow tier.

Every honest check tells its verdict (`ribp.testing.goodness.watchers`); p-values travel with the
reports of tests, so that they are all known where the suite ends, whichever process ran a test. The
rate of false alarms holds for so many statistics: with more the suite does not pass.
"""

import json
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import ribp
from ribp.testing import goodness
from tests.helpers import ROOT

NAME = "verdicts"
WATCHERS = goodness.watchers  # as they are, not what a test puts in their place
PACKAGES = ("numpy", "scipy", "numba", "xarray", "scikit-learn", "dask", "pytest")


def part_of(items, part):
    """Return every n-th of the tests, from the k-th on, for part "k/n"."""
    try:
        k, n = (int(number) for number in part.split("/"))
    except ValueError:
        k, n = 0, 0
    if not 1 <= k <= n:
        raise pytest.UsageError(f"--part: must be K/N with 1 <= K <= N, as in 3/8; got {part!r}")
    return items[k - 1 :: n]


class Suite:
    """A plug-in that counts statistics, sums up, and stores results."""

    def __init__(self, store=None, part="1/1"):
        self.store, self.part = store, part
        self.start = time.monotonic()
        self.found, self.outcomes, self.seconds = [], {}, {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        heard = []
        WATCHERS.append(heard.append)
        try:
            return (yield)
        finally:
            WATCHERS.pop()
            if heard:
                item.user_properties.append(
                    (NAME, [(v.p_values, v.again, v.n_replicates) for v in heard])
                )

    def pytest_runtest_logreport(self, report):
        name = report.nodeid
        self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[name] = report.outcome
        if report.when == "call":
            verdicts = dict(report.user_properties).get(NAME, [])
            self.found += [(name, *verdict) for verdict in verdicts]

    def pytest_terminal_summary(self, terminalreporter):
        if self.found:
            terminalreporter.section("statistics")
            for line in summary(self.found):
                terminalreporter.write_line(line)

    def pytest_sessionfinish(self, session):
        if hasattr(session.config, "workerinput"):
            return
        if n_statistics(self.found) > goodness.SUITE_STATISTICS:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.store:
            Path(self.store).parent.mkdir(parents=True, exist_ok=True)
            Path(self.store).write_text(json.dumps(self.results(), indent=1) + "\n")

    def results(self):
        """Return all that is worth keeping of a run."""
        outcomes = list(self.outcomes.values())
        slowest = sorted(self.seconds, key=self.seconds.get, reverse=True)[:20]
        return {
            "part": self.part,
            "tier": "slow" if goodness.is_slow() else "quick",
            "seed": int(os.environ.get("RIBP_TEST_SEED", "0")),
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "versions": {
                "ribp": ribp.__version__,
                "python": platform.python_version(),
                **{package: version(package) for package in PACKAGES},
            },
            "minutes": round((time.monotonic() - self.start) / 60, 1),
            "tests": {name: outcomes.count(name) for name in ("passed", "failed", "skipped")},
            "failed": [name for name, outcome in self.outcomes.items() if outcome == "failed"],
            "statistics": n_statistics(self.found),
            "least_p": least(self.found)[0],
            "summary": summary(self.found),
            "p_values_by_tenths": tenths(self.found),
            "slowest": {name: round(self.seconds[name], 1) for name in slowest},
        }


def n_statistics(found):
    return sum(len(p_values) for _, p_values, *_ in found)


def least(found):
    """Return the least p-value and where it was found."""
    return min(
        ((p, f"{test}: {name}") for test, p_values, *_ in found for name, p in p_values.items()),
        default=(1.0, "no statistics"),
    )


def tenths(found):
    """Return how many p-values lie in each tenth; those of right checks are nearly uniform."""
    values = [p for _, p_values, *_ in found for p in p_values.values()]
    return np.histogram(values, bins=10, range=(0.0, 1.0))[0].tolist()


def summary(found):
    """Return lines: how many statistics, the least p beside what is expected, and the doubtful."""
    number = n_statistics(found)
    if not number:
        return ["no statistics"]
    smallest, where = least(found)
    # The least of n independent uniform variates has these quantiles.
    low, middle, high = (-np.expm1(np.log1p(-q) / number) for q in (0.05, 0.5, 0.95))
    lines = [
        f"{number} statistics in {len(found)} checks (at most {goodness.SUITE_STATISTICS}, for"
        f" fewer than one false alarm in {1 / goodness.SUITE_RATE:.0f} runs)",
        f"least p {smallest:.1e} in {where}; expected {middle:.1e}, with probability .9 between"
        f" {low:.1e} and {high:.1e}",
    ]
    for test, p_values, again, n in found:
        lines += [
            f"looked at again: {test}: {name}: p = {p_values[name]:.1e} of {n},"
            f" then {p:.1e} of {goodness.TIMES * n}"
            for name, p in again.items()
        ]
    if number > goodness.SUITE_STATISTICS:
        lines.append("TOO MANY STATISTICS: group some of them, or false alarms become likely")
    return lines


def commit():
    """Return the commit that is tested, with a plus if files were changed; None without git."""
    try:
        asked = ["git", "describe", "--always", "--dirty=+", "--abbrev=12"]
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
