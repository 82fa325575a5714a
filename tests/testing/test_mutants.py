"""The tool that makes mutants: what it changes, which tests it asks, what it writes down."""

import argparse
import ast
import json

import pytest

from tests import mutants
from tests.helpers import ROOT, seeing
from tests.helpers.equivalent_mutants import EQUIVALENT
from tests.helpers.seeing import COMPILED, UNCOMPILED
from tests.mutants import (
    ROOMS,
    SOURCE,
    Mutant,
    Result,
    chosen,
    lines_of,
    mutants_of,
    mutated,
    stored,
    table,
    to_try,
    users_of,
)

TEXT = '''"""Says 3 - 2."""
LIMIT = 4.0


def f(a, b, c=7):
    """Return 1 - 2."""
    if a < b and -c:
        return g(a, b, 0.5)
    return a + b * c[2]
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    file = tmp_path / "room" / "module.py"
    file.parent.mkdir()
    file.write_text(TEXT)
    return file


def test_every_change_of_a_function_is_made_once(module):
    texts = [mutated(one) for one in mutants_of(module)]
    assert len(texts) == len(set(texts)) == 9
    for change in (
        "a <= b and", "a < b or -c", "and c:", "g(b, a, 0.5)", "g(a, b, 1.0)",
        "a - b * c[2]", "return a\n", "b / c[2]", "c[3]",
    ):  # fmt: skip
        assert sum(change in text + "\n" for text in texts) == 1, change
    for text in texts:
        assert "LIMIT = 4.0" in text
        assert "c=7" in text
        assert "Return 1 - 2." in text
    with pytest.raises(ValueError, match="not there any more"):
        mutated(Mutant("room/module.py", (900, 0, 900, 1), "sign"))


def test_the_lines_of_a_mutant_are_those_of_its_statement(module):
    module.write_text(
        "def f(a, b):\n    if (\n        a < b\n    ):\n        return g(\n a + 1,\n b)\n"
    )
    lines = {one.place[0]: lines_of(one) for one in mutants_of(module)}
    assert lines == {3: range(2, 5), 6: range(5, 8)}


@pytest.mark.parametrize("room", ROOMS)
def test_mutants_of_a_room_are_programs_that_differ(room):
    some = chosen(room, 12, seed=5)
    assert some == chosen(room, 15, seed=5)[:12] != chosen(room, 12, seed=6)
    assert len(set(some)) == 12
    for one in some:
        before = ast.dump(ast.parse((SOURCE / one.file).read_text()))
        assert ast.dump(ast.parse(mutated(one))) != before
    assert some[0].file not in {one.file for one in chosen(room, 12, 5, [some[0].file])}


def test_the_table_counts_what_is_stored(monkeypatch):
    results = {
        "kernels/a.py:1:0 sign": "tests/x", "kernels/a.py:2:0 sign": "",
        "mcmc/b.py:3:1 index": "no end", "mcmc/b.py:4:1 index": "",
    }  # fmt: skip
    results = {name: Result("a + b", by) for name, by in results.items()}
    monkeypatch.setattr(mutants, "EQUIVALENT", {"mcmc/b.py:4:1 index": "a bound never met"})
    assert table(results)[2:] == [
        "| kernels | 2 | 1 | 0 | 1 |", "| mcmc | 2 | 1 | 1 | 0 |", "| all | 4 | 2 | 1 | 1 |",
    ]  # fmt: skip
    assert mutants.survivors(results) == ["kernels/a.py:2:0 sign"]


def options(**changes):
    return argparse.Namespace(
        **({"again": None, "room": ["room"], "number": 4, "seed": 0, "skip": []} | changes)
    )


def test_a_run_goes_on_and_forgets_lines_that_changed(module, capsys):
    first = to_try({}, options())
    assert len(first) == 4
    results = {one.name: Result(mutants.text_of(one), "") for one in first[:3]}
    results |= {"room/module.py:9:4-9:5 sign": Result("return a", "tests/x")}
    results |= {"room/gone.py:1:4-1:5 sign": Result("return a", "tests/x")}
    assert to_try(results, options()) == first[3:]
    assert capsys.readouterr().out.count("its line has changed") == 2
    assert len(results) == 3
    assert to_try(results, options(number=3)) == []
    assert sorted(to_try(results, options(again="module"))) == sorted(first[:3])


def test_kernels_that_use_one_are_found():
    assert {"choose", "sweep_collapsed"} <= users_of("choose")
    assert "random" not in users_of("choose")
    assert users_of("sweep_collapsed") <= users_of("choose")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own, for copies and records."""
    for owner in (mutants, seeing):
        monkeypatch.setattr(owner, "PLACE", tmp_path / "mutants")
    (tmp_path / "mutants").mkdir()
    return tmp_path / "mutants"


def test_a_mutant_is_caught_by_tests_that_see_it_only(place):
    lines = (SOURCE / "kernels" / "choose.py").read_text().splitlines()
    every = mutants_of(SOURCE / "kernels" / "choose.py")
    coin = next(m for m in every if m.what == "sign" and "(1.0 - draw)" in lines[m.place[0] - 1])
    for way in (UNCOMPILED, COMPILED):
        way.seconds.write_text("{}")
    assert "test_choose" in mutants.caught_by(coin, ["tests/kernels/test_choose.py"])
    assert mutants.caught_by(coin, ["tests/test_totals.py"]) == ""
    assert (place / "src/ribp/kernels/choose.py").read_text().splitlines() == lines


def test_tests_that_run_a_line_are_recorded_and_asked_first(place):
    way = UNCOMPILED._replace(tests=("kernels/test_choose.py", "kernels/test_ones.py"))
    source = mutants.copied()
    assert seeing.record(way, source) == []
    lines = [line for one in mutants_of(SOURCE / "kernels" / "ones.py") for line in lines_of(one)]
    asked = seeing.seeing(way, source / "ribp" / "kernels" / "ones.py", lines)
    assert {test.partition("::")[0] for test in asked} == {"tests/kernels/test_ones.py"}
    assert seeing.seeing(way, source / "ribp" / "kernels" / "ones.py", [1]) == []


SLEEPS = "import time\n\n\ndef test_sleeps():\n    time.sleep({})\n"


def test_a_test_that_takes_too_long_is_ended(place, tmp_path):
    test = tmp_path / "test_slow.py"
    test.write_text(SLEEPS.format(0.1))
    known = place / "known.json"
    arguments = (UNCOMPILED, SOURCE.parent, "-c", str(ROOT / "pyproject.toml"), str(test))
    assert seeing.failures(*arguments, written=known) == []
    (name,) = json.loads(known.read_text())
    assert name.endswith("::test_sleeps")
    test.write_text(SLEEPS.format(30))
    assert seeing.failures(*arguments, known=known, patience=1) == [seeing.NO_END]


def test_stored_results_are_of_every_room_and_nearly_all_are_caught():
    results = stored()
    for room in ROOMS:
        assert sum(name.split("/")[0] == room for name in results) >= 30
    assert EQUIVALENT.keys() <= results.keys()
    assert not any(results[name].caught_by for name in EQUIVALENT)
    caught = sum(bool(one.caught_by) for one in results.values())
    assert caught >= 0.95 * (len(results) - len(EQUIVALENT))
    assert not [name for name, one in results.items() if "exit code" in one.caught_by]


def test_the_page_shows_what_is_stored():
    page = (ROOT / "docs" / "evaluation" / "calibration.md").read_text()
    assert "\n".join(table(stored())) in page
