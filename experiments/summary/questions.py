"""Questions about all studies, each answered by stored numbers.

An answer is a difference between two methods on each set of data, or a number by itself. Of
differences the mean over seeds and its standard error are given, and a word: the first is "ahead"
or "behind" if that is more than two of these errors, else "level". Of numbers the median, the least
and the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.shared import table
from experiments.study import compared
from experiments.summary.cells import PEERS, Cell

_VAGUE = {
    "chords": "chords", "first toy set": "toy", "bars": "bars", "signed, gaps": "signed",
    "finite buffet": "ibp-20", "Reuters, mix": "mix",
}  # fmt: skip
"""Sets of `experiments.vague_counts`."""
_RECOVERY = {
    "chords": "chords-exact", "first toy set": "missing-one", "bars": "bars",
    "signed, gaps": "signed", "finite buffet": "ibp-20",
}  # fmt: skip
"""Sets of `experiments.recovery`."""
_BINARY = {"yes/no": "binary, balanced", "12% ones": "binary, 12% ones"}
_LOUD = {"notes": "recorded, one or three notes", "piano": "piano, one or three notes"}
_OF_BUFFETS = {
    "pgfa, Gibbs": ("ibp-20", "pgfa"), "pgfa, particle Gibbs": ("ibp-20", "pgfa-pg"),
}  # fmt: skip
"""Samplers of `benchmarks.peers`, and the data that they were run on."""


class Question(NamedTuple):
    """What is asked, the page that says more, and what answers it."""

    text: str
    page: str
    compared: str
    """What the numbers are."""
    answers: dict[str, tuple[Cell, Cell] | Cell]
    """By the name of the data: two methods, or a number."""
    digits: int = 3


def _vague(text: str, first: str, second: str, number: str = "f1") -> Question:
    """Return a question about what is said of the counts."""
    what = "held-out log density" if number == "held out" else "F1"
    answers: dict[str, tuple[Cell, Cell] | Cell] = {
        name: (
            Cell("vague_counts", (case, first), number),
            Cell("vague_counts", (case, second), number),
        )
        for name, case in _VAGUE.items()
    }
    return Question(text, "vague_counts", f"{what}: {first}, less {second}", answers)


def _tau(text: str, answers: dict[str, tuple[str, ...]]) -> Question:
    cells: dict[str, tuple[Cell, Cell] | Cell] = {
        name: Cell("strengths", parts, "tau") for name, parts in answers.items()
    }
    return Question(text, "strengths", "τ, the spread of strengths that is learned", cells)


def _kinds(text: str, compared: str, number: str, tables: dict[str, str], own: str) -> Question:
    answers: dict[str, tuple[Cell, Cell] | Cell] = {
        name: (Cell("kinds", (case, own), number), Cell("kinds", (case, "as numbers"), number))
        for name, case in tables.items()
    }
    return Question(text, "kinds", compared, answers)


def _waiting(text: str, compared: str, kind: str, number: str, digits: int) -> Question:
    answers: dict[str, tuple[Cell, Cell] | Cell] = {
        name: Cell("recovery", (kind, case), number) for name, case in _RECOVERY.items()
    }
    return Question(text, "recovery", compared, answers, digits)


def _peers(text: str, compared: str, number: str, others: dict[str, tuple[str, str]]) -> Question:
    """Return a question about chains of other samplers: of each the data, and its name there."""
    answers: dict[str, tuple[Cell, Cell] | Cell] = {
        name: (Cell(PEERS, (data, "buffet"), number), Cell(PEERS, (data, other), number))
        for name, (data, other) in others.items()
    }
    return Question(text, "peers", compared, answers, 3 if number == "f1" else 0)


QUESTIONS = (
    _vague("Do counts help to find features, beside the same model without them?",
           "exact", "learned"),
    _vague("Do they help to predict hidden entries?", "exact", "learned", "held out"),
    _vague("Beside a rival that is told everything, and has as much time?",
           "exact", "NMF told"),
    _vague("The same, on data that are negative, too?", "exact", "K-SVD told"),
    _vague("Beside a rival that is told the counts, but not how many features there are?",
           "exact", "K-SVD given more"),
    _vague("Who is told nothing: is the model ahead even then?",
           "learned", "NMF given more, no counts"),
    _vague("What does it cost if the counts of a tenth of the rows are missing?",
           "a tenth missing", "exact"),
    _vague("If counts are vague?", "plus or minus 1", "exact"),
    _vague("If they are vague on one side?", "window off by one", "exact"),
    _vague("If they are wrong?", "wrong by one", "exact"),
    _tau("Do strengths say when on and off is right?",
         {"chords": ("binary data", "chords"), "bars": ("binary data", "bars")}),
    _tau("And when it is wrong? (the logarithm of the loudness has the deviation 0.4)",
         {name: (which, "0.4", "strengths") for name, which in _LOUD.items()}),
    _kinds("Do kinds find more than the Gaussian likelihood on yes and no?",
           "F1: kinds, less the same model with numbers", "f1", _BINARY, "default settings"),
    _kinds("Do they predict better?",
           "held-out log density: kinds, less the same model with numbers", "held out",
           {"newsgroups": "newsgroups", "VerbAgg": "VerbAgg"}, "counts learned"),
    _waiting("How long is it to the answer?", "processor seconds until the log joint is within "
             "10 of the best known", "to the answer", "seconds", 1),
    _waiting("How far is a chain without a search, after twenty times as many sweeps?",
             "log joint short of the best known", "to the answer, no search",
             "short of the best by", 0),
    _peers("Beside other samplers of a buffet, in as much time?",
           "F1 after 30 processor seconds: `IndianBuffet`, less the other", "f1", _OF_BUFFETS),
    _peers("The same, by how probable it is what they find?",
           "log joint of the best draw: `IndianBuffet`, less the other", "log_joint",
           _OF_BUFFETS | {"hybridBNP on its images": ("cambridge", "hybrid")}),
)  # fmt: skip


def lines_of(questions: Sequence[Question]) -> list[str]:
    """Return the lines of a table; sets that were not run are left out, as are whole questions."""
    lines = []
    for one in questions:
        answers = [
            f"{name} {text}"
            for name, cells in one.answers.items()
            if (text := _answer(cells, one.digits))
        ]
        if answers:
            lines.append([f"[{one.text}]({one.page}.md)", one.compared, "; ".join(answers)])
    return table(["question", "number", "answer"], lines)


def _answer(cells: tuple[Cell, Cell] | Cell, digits: int) -> str:
    """Return a difference with its error and a word, or a number with its range."""
    if isinstance(cells, Cell):
        values = list(cells.values().values())
        if not values:
            return ""
        middle, low, high = (
            f"{v:.{digits}f}" for v in (np.median(values), min(values), max(values))
        )
        return f"{middle} ({low} to {high})"
    return compared(cells[0].values(), cells[1].values(), digits)
