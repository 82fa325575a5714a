"""What the suite says of itself: parts, statistics, and stored results."""

import json
from itertools import chain

import pytest

from ribp.testing.goodness import SUITE_STATISTICS, is_slow
from tests.helpers import ROOT
from tests.helpers.suite import part_of, summary, tenths

pytest_plugins = ["pytester"]


def test_parts_are_all_of_it():
    items = list(range(23))
    parts = [part_of(items, f"{k}/4") for k in range(1, 5)]
    assert sorted(chain(*parts)) == items
    assert {len(part) for part in parts} == {5, 6}
    assert part_of(items, "1/1") == items


@pytest.mark.parametrize("wrong", ["0/4", "5/4", "3", "a/b", "1/2/3", "-1/4"])
def test_wrong_parts(wrong):
    with pytest.raises(pytest.UsageError, match=r"--part: must be K/N"):
        part_of([1, 2, 3], wrong)


def test_the_least_p_stands_beside_what_is_expected():
    found = [("a", {"x": 0.35, "y": 2e-4}, {"y": 0.4}, 600), ("b", {"0": 0.9}, {}, 50)]
    lines = summary(found)
    assert lines[0].startswith("3 statistics in 2 checks")
    assert lines[1].startswith("least p 2.0e-04 in a: y; expected 2.1e-01, with probability .9")
    assert lines[2:] == ["looked at again: a: y: p = 2.0e-04 of 600, then 4.0e-01 of 6000"]
    assert tenths(found) == [1, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert summary([]) == ["no statistics"]


INSIDE = """
from ribp.testing.goodness import holds, is_caught

def test_right():
    assert holds(lambda n, seed: {"mass": 0.5, "noise": 0.01}, 20)
    assert is_caught(lambda n, seed: [0.0], 20)

def test_wrong():
    assert holds(lambda n, seed: [0.0], 20)

def test_many():
    assert holds(lambda n, seed: [0.5] * SIZE, 20)
"""
OUTSIDE = """
from tests.helpers.suite import Suite

def pytest_addoption(parser):
    parser.addoption("--results")

def pytest_configure(config):
    config.pluginmanager.register(Suite(config.getoption("results")))
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest(OUTSIDE)
    return pytester


@pytest.mark.parametrize("workers", [0, 1])
def test_results_are_stored_from_whichever_process(suite, workers):
    suite.makepyfile(INSIDE.replace("SIZE", "40"))
    file = suite.path / "results.json"
    arguments = ["--results", str(file), "-p", "no:cacheprovider", "-n", str(workers)]
    done = suite.runpytest_subprocess(*arguments)
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*<failed, 20 replicates; 0: p = 0>", "43 statistics in 3 checks*"])
    found = json.loads(file.read_text())
    assert (found["statistics"], found["least_p"]) == (43, 0.0)
    assert found["tests"] == {"passed": 2, "failed": 1, "skipped": 0}
    assert [name.rpartition("::")[2] for name in found["failed"]] == ["test_wrong"]
    assert {"ribp", "python", "numpy"} <= set(found["versions"])
    tier = "slow" if is_slow() else "quick"
    assert (found["tier"], found["part"]) == (tier, "1/1")


def test_too_many_statistics_do_not_pass(suite):
    suite.makepyfile(INSIDE.replace("SIZE", str(SUITE_STATISTICS + 1)))
    done = suite.runpytest_subprocess("-p", "no:cacheprovider", "-k", "many")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["TOO MANY STATISTICS*"])
