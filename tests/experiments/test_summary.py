"""The page of all studies: what is best is so by differences, and stored tables are those shown."""

import numpy as np
import pytest

from experiments.summary import __main__ as summary
from experiments.summary import cells, questions
from experiments.summary.cells import FOUND, HELD_OUT, Cell, Row
from experiments.summary.questions import QUESTIONS, Question
from tests.helpers import ROOT


@pytest.fixture
def row(monkeypatch):
    """Return a row with stored numbers of three methods, one of which is behind."""
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 5.0, 5)  # some seeds are hard for all
    stored = {}
    for name, gain in (("a", 0.0), ("b", -0.01), ("c", -1.0)):
        noise = rng.normal(0, 0.1, 5)
        stored |= {f"x | {name} | {s}": {"f1": hard[s] + gain + noise[s]} for s in range(5)}
    monkeypatch.setattr(cells, "stored", lambda study: stored)
    parts = {"R-IBP": "a", "NMF, told": "b", "K-SVD, told": "c", "MOFA+": "not run"}
    return Row("x", "page", {k: Cell("s", ("x", name), "f1") for k, name in parts.items()})


def test_the_best_and_what_is_not_clearly_behind_are_marked(row):
    """Spread between seeds is much larger than what methods differ by."""
    assert summary.best(row) == {"R-IBP", "NMF, told"}
    lines = summary.lines_of([row])
    assert lines[0] == "| data | R-IBP | NMF, told | K-SVD, told |"
    assert lines[2].startswith("| [x](page.md) | **")
    assert lines[2].count("**") == 4


def test_a_row_that_was_not_run_is_left_out(row):
    nothing = Row("y", "page", {"R-IBP": Cell("s", ("y", "a"), "f1")})
    assert summary.best(nothing) == set()
    assert len(summary.lines_of([row, nothing])) == len(summary.lines_of([row]))


@pytest.mark.parametrize("every", [FOUND, HELD_OUT])
def test_cells_name_studies_and_pages_that_exist(every):
    for row in every:
        assert (ROOT / "docs" / "evaluation" / f"{row.page}.md").exists()
        for name, cell in row.cells.items():
            assert name in summary._COLUMNS
            assert _exists(cell)


def test_answers_are_differences_seed_by_seed_or_numbers(row):
    a, b, c = (row.cells[name] for name in ("R-IBP", "NMF, told", "K-SVD, told"))
    never = Cell("s", ("x", "not run"), "f1")
    pairs = {"better": (a, c), "worse": (c, a), "the same": (a, b), "not run": (a, never)}
    asked = Question("Which?", "page", "gain", pairs)
    lines = questions.lines_of([asked, Question("None?", "page", "", {"not run": never})])
    assert len(lines) == 4  # a head, a rule, one question, an empty line
    better, worse, same = lines[2].split("; ")
    gains = [a.values()[seed] - c.values()[seed] for seed in range(5)]
    mean, error = np.mean(gains), np.std(gains, ddof=1) / np.sqrt(5)
    assert better.endswith(f"better {mean:+.3f} ± {error:.3f}, ahead")
    assert worse == f"worse {-mean:+.3f} ± {error:.3f}, behind"
    assert same.endswith("level |")
    values = sorted(a.values().values())
    text = questions.lines_of([Question("How much?", "page", "", {"x": a}, 1)])[2]
    assert f"x {values[2]:.1f} ({values[0]:.1f} to {values[4]:.1f}) |" in text


def test_questions_name_studies_and_pages_that_exist():
    for one in QUESTIONS:
        assert (ROOT / "docs" / "evaluation" / f"{one.page}.md").exists()
        for cells_ in one.answers.values():
            for cell in [cells_] if isinstance(cells_, Cell) else cells_:
                assert _exists(cell)


def _exists(cell):
    """Return whether there is the study of a cell; chains of other samplers must be stored."""
    if cell.study == cells.PEERS:
        return len(cell.values()) >= 5
    return (ROOT / "experiments" / cell.study / "run.py").exists()


def test_stored_tables_are_those_of_the_stored_results():
    page = (ROOT / "docs" / "evaluation" / "index.md").read_text()
    tables = {"found.md": summary.lines_of(FOUND), "held-out.md": summary.lines_of(HELD_OUT)}
    tables |= {"questions.md": questions.lines_of(QUESTIONS), "runs.md": summary.runs()}
    for file, lines in tables.items():
        assert (summary.OUT / file).read_text() == "\n".join(lines).rstrip() + "\n"
        assert f"```{{include}} ../../experiments/summary/results/{file}\n```" in page
    assert (summary.OUT / "found.png").stat().st_size < 150_000
    assert "experiments/summary/results/found.png" in page
