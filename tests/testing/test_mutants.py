"""The tool that makes mutants: what it changes, which tests it asks, what it writes down."""

import ast

import pytest

from tests import mutants
from tests.mutants import ROOMS, SOURCE, Mutant, chosen, mutants_of, mutated, stages, table

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


@pytest.mark.parametrize("room", ROOMS)
def test_mutants_of_a_room_are_programs_that_differ(room):
    some = chosen(room, 12, seed=5)
    assert some == chosen(room, 12, seed=5) != chosen(room, 12, seed=6)
    assert len(set(some)) == 12
    for one in some:
        before = ast.dump(ast.parse((SOURCE / one.file).read_text()))
        assert ast.dump(ast.parse(mutated(one))) != before
        assert stages(one)[-1][0] == [f"tests/{name}" for name in mutants.SAMPLERS]


def test_kernels_are_asked_without_the_compiler_first():
    own = "tests/kernels/test_choose.py"
    assert stages(Mutant("kernels/choose.py", (1, 0, 1, 1), "sign"))[:2] == [
        ([own], True),
        ([own], False),
    ]


def test_the_table_counts_what_is_stored(monkeypatch):
    stored = {
        "kernels/a.py:1:0 sign": "tests/x", "kernels/a.py:2:0 sign": "",
        "mcmc/b.py:3:1 index": "no end", "mcmc/b.py:4:1 index": "",
    }  # fmt: skip
    monkeypatch.setattr(mutants, "EQUIVALENT", {"mcmc/b.py:4:1 index": "a bound never met"})
    assert table(stored)[2:] == [
        "| kernels | 2 | 1 | 0 | 1 |", "| mcmc | 2 | 1 | 1 | 0 |", "| all | 4 | 2 | 1 | 1 |",
    ]  # fmt: skip
    assert mutants.survivors(stored) == ["kernels/a.py:2:0 sign"]


@pytest.mark.parametrize("asked", ["kernels/test_choose.py", "testing/test_faults.py"])
def test_a_mutant_is_caught_by_tests_that_see_it_only(asked, monkeypatch):
    lines = (SOURCE / "kernels" / "choose.py").read_text().splitlines()
    every = mutants_of(SOURCE / "kernels" / "choose.py")
    coin = next(m for m in every if m.what == "sign" and "(1.0 - draw)" in lines[m.place[0] - 1])
    monkeypatch.setattr(mutants, "stages", lambda mutant: [([f"tests/{asked}"], True)])
    assert ("test_choose" in mutants.caught_by(coin)) == ("choose" in asked)
