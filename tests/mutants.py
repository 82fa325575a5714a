"""Mutants: single small changes of the source, each of which some test should notice.

``python -m tests.mutants`` chooses places by a seed, the same number in every room, changes one at
a time in a copy of the source, and runs the tests that run the changed lines, the quickest first:
without the compiler, then with it (`tests.helpers.seeing`, which records once who runs what). What
ends with a failure, an error or no end at all is caught. Results are written after each mutant, and
a run that was stopped goes on; those whose line has changed since are dropped and others tried.

``--room kernels`` tries one room, ``--number 40`` so many in each, ``--seed 1`` others.
``--record`` records again, after tests were written. ``--again kernels/choose.py:40`` tries again
what is stored and has that in its name, with ``--ask tests/kernels/test_choose.py`` by these tests
only. ``--table`` prints what is stored. Survivors that change nothing that anybody can observe
stand in `EQUIVALENT` (`tests.helpers.equivalent_mutants`), each with its reason.
"""

import argparse
import ast
import copy
import json
import random
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ribp.kernels.jit import sources_digest
from tests.helpers import ROOT
from tests.helpers.equivalent_mutants import EQUIVALENT
from tests.helpers.seeing import (
    COMPILED,
    PLACE,
    UNCOMPILED,
    Way,
    failures,
    record,
    seeing,
)

SOURCE = ROOT / "src" / "ribp"
RESULTS = ROOT / "tests" / "mutants.json"
ROOMS = (
    "kernels", "weights", "mcmc", "variational", "rows", "prior", "posterior", "likelihoods",
    "kinds", "entries",
)  # fmt: skip

_OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change of one place."""

    file: str
    """Below src/ribp."""
    place: tuple[int, int, int, int]
    """Line and column, of the beginning and of the end."""
    what: str
    """Which change: sign, comparison, logic, factor, index, dropped, swapped."""

    @property
    def name(self) -> str:
        """What it is called in results."""
        line, column, last, end = self.place
        return f"{self.file}:{line}:{column}-{last}:{end} {self.what}"


def _place(node: ast.AST) -> tuple[int, int, int, int] | None:
    if not isinstance(node, ast.expr | ast.stmt):
        return None
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what could stand in the place of a node."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OPPOSITE:
        yield "sign", _with(node, op=_OPPOSITE[type(node.op)]())
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield "dropped", node.left
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    if isinstance(node, ast.BoolOp):
        yield "logic", _with(node, op=_OPPOSITE[type(node.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OPPOSITE:
        yield "comparison", _with(node, ops=[_OPPOSITE[type(node.ops[0])](), *node.ops[1:]])
    if isinstance(node, ast.Constant) and type(node.value) is float and node.value:
        yield "factor", ast.Constant(2.0 * node.value)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "index", ast.Constant(node.value + 1)
    if isinstance(node, ast.Call) and len(node.args) > 1:
        first, second = node.args[:2]
        names = isinstance(first, ast.Name) and isinstance(second, ast.Name)
        if names and not isinstance(first, ast.Starred):
            yield "swapped", _with(node, args=[second, first, *node.args[2:]])


def _with(node: ast.AST, **changes: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


class _Changed(ast.NodeTransformer):
    """Replaces one node, found by its place and what is done to it."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.n_done = mutant, 0

    def visit(self, node: ast.AST) -> ast.AST:
        if _place(node) == self.mutant.place and not self.n_done:
            for what, other in _changes(node):
                if what == self.mutant.what:
                    self.n_done += 1
                    return ast.copy_location(other, node)
        return self.generic_visit(node)


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of functions: not those of docstrings, annotations, or of defaults."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from ast.walk(statement)


def mutants_of(file: Path) -> list[Mutant]:
    """Return every change that can be made in a file, each once."""
    name = file.relative_to(SOURCE).as_posix()
    tree = ast.parse(file.read_text())
    found = {
        Mutant(name, place, what)
        for node in _code(tree)
        if (place := _place(node))
        for what, _ in _changes(node)
    }
    return sorted(found)


def mutated(mutant: Mutant) -> str:
    """Return the text of the file with the change in it."""
    tree = ast.parse((SOURCE / mutant.file).read_text())
    change = _Changed(mutant)
    tree = change.visit(tree)
    if change.n_done != 1:
        raise ValueError(f"{mutant.name} is not there any more")
    return ast.unparse(ast.fix_missing_locations(tree))


def chosen(room: str, number: int, seed: int, skipped: Collection[str] = ()) -> list[Mutant]:
    """Return some mutants of a room: for a larger number the same, and more."""
    files = sorted((SOURCE / room).glob("*.py"))
    every = [one for file in files for one in mutants_of(file)]
    random.Random(f"{room} {seed}").shuffle(every)
    return [one for one in every if one.file not in skipped][:number]


def lines_of(mutant: Mutant) -> range:
    """Return the lines of the innermost statement around a mutant, of its head if it has a body."""
    line, _, last, _ = mutant.place
    around = [
        range(node.lineno, body[0].lineno if (body := getattr(node, "body", None)) else end + 1)
        for node in ast.walk(ast.parse((SOURCE / mutant.file).read_text()))
        if isinstance(node, ast.stmt)
        and node.lineno <= line <= last <= (end := node.end_lineno or 0)
    ]
    return min((one for one in around if line in one), key=len)


def text_of(mutant: Mutant) -> str:
    """Return the line where a mutant begins, as it is without the change."""
    return (SOURCE / mutant.file).read_text().splitlines()[mutant.place[0] - 1].strip()


def copied() -> Path:
    """Return a copy of the source that stays where it is: compiled kernels are kept beside it."""
    copy_of_it = PLACE / "src"
    for file in sorted((ROOT / "src").rglob("*.py")):
        made = copy_of_it / file.relative_to(ROOT / "src")
        if not made.exists() or made.read_bytes() != file.read_bytes():
            made.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, made)
    return copy_of_it


def caught_by(mutant: Mutant, tests: Sequence[str] = ()) -> str:
    """Return the test that fails first, "no end", or an empty text for a survivor."""
    source = copied()
    file = source / "ribp" / mutant.file
    asked = [(way, tests or asked_of(way, mutant, file)) for way in (UNCOMPILED, COMPILED)]
    with changed(mutant, file):
        for way, some in asked:
            limits = {"known": way.seconds, "patience": patience(way, mutant)}
            found = some and failures(way, source, "--maxfail=1", *some, **limits)
            if found:
                return found[0]
    return ""


def asked_of(way: Way, mutant: Mutant, file: Path) -> list[str]:
    """Return which tests to ask; who runs a compiled line is known to nobody."""
    room, stem = Path(mutant.file).parts[0], Path(mutant.file).stem
    if room == "kernels" and way is COMPILED:
        own = f"tests/kernels/test_{stem}.py"
        return [own] if (ROOT / own).exists() else []
    return seeing(way, file, lines_of(mutant))


def patience(way: Way, mutant: Mutant) -> int:
    """Return how many seconds a test may take longer than it should: kernels must be compiled."""
    if way is UNCOMPILED:
        return 20
    return 300 if mutant.file.startswith("kernels/") else 60


def users_of(stem: str) -> set[str]:
    """Return the kernels that import one, by whatever way, and itself."""
    texts = {file.stem: file.read_text() for file in (SOURCE / "kernels").glob("*.py")}
    found, more = set(), {stem}
    while more:
        found |= more
        used = [f"from ribp.kernels.{one} import" for one in more]
        more = {name for name, text in texts.items() if any(one in text for one in used)} - found
    return found


@contextmanager
def changed(mutant: Mutant, file: Path) -> Iterator[None]:
    """Put a mutant in its place for a while, beside the compiled kernels that do not know it.

    Compiled kernels stand in a folder named after all their sources (`ribp.kernels.jit`).
    """
    kept = file.parent / "__pycache__"
    before = kept / f"compiled-{sources_digest(file.parent)}"
    file.write_text(mutated(mutant))
    after = kept / f"compiled-{sources_digest(file.parent)}"
    if before.exists() and mutant.file.startswith("kernels/"):
        left = ["test_*", *(f"{name}.*" for name in users_of(file.stem))]
        shutil.copytree(before, after, ignore=shutil.ignore_patterns(*left))
    try:
        yield
    finally:
        shutil.copy2(SOURCE / mutant.file, file)
        if after != before:
            shutil.rmtree(after, ignore_errors=True)


class Result(NamedTuple):
    """What became of a mutant."""

    line: str
    """Where it begins, without the change."""
    caught_by: str
    """A test, "no end", or nothing."""


def is_current(name: str, result: Result) -> bool:
    """Tell whether the source still has the line of a stored mutant."""
    file, _, place = name.partition(":")
    text = (SOURCE / file).read_text().splitlines() if (SOURCE / file).exists() else []
    number = int(place.partition(":")[0])
    return number <= len(text) and text[number - 1].strip() == result.line


def stored() -> dict[str, Result]:
    """Return all results."""
    text = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return {name: Result(**one) for name, one in text.items()}


def store(results: dict[str, Result]) -> None:
    """Write all results."""
    text = {name: one._asdict() for name, one in sorted(results.items())}
    RESULTS.write_text(json.dumps(text, indent=1) + "\n")


def table(results: dict[str, Result]) -> list[str]:
    """Return the table of what was made and caught, by room, as Markdown."""
    lines = ["| room | made | caught | equivalent | survived |", "| --- | --- | --- | --- | --- |"]
    totals = [0, 0, 0, 0]
    for room in ROOMS:
        names = [name for name in results if name.split("/")[0] == room]
        caught = sum(bool(results[name].caught_by) for name in names)
        equal = sum(name in EQUIVALENT for name in names if not results[name].caught_by)
        row = [len(names), caught, equal, len(names) - caught - equal]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        if names:
            lines.append(f"| {room} | {' | '.join(map(str, row))} |")
    return [*lines, f"| all | {' | '.join(map(str, totals))} |"]


def survivors(results: dict[str, Result]) -> list[str]:
    """Return the names of mutants that no test has noticed and that are not equivalent."""
    return [name for name, one in results.items() if not one.caught_by and name not in EQUIVALENT]


def to_try(results: dict[str, Result], options: argparse.Namespace) -> list[Mutant]:
    """Return which mutants to try; forget results whose line has changed."""
    for name in [name for name, one in results.items() if not is_current(name, one)]:
        print(f"dropped, its line has changed: {name}")
        del results[name]
    if options.again:
        files = {SOURCE / name.partition(":")[0] for name in results if options.again in name}
        every = [one for file in sorted(files) for one in mutants_of(file)]
        return [one for one in every if one.name in results and options.again in one.name]
    made = []
    for room in options.room or ROOMS:
        have = sum(name.split("/")[0] == room for name in results)
        every = chosen(room, options.number + have, options.seed, options.skip)
        made += [one for one in every if one.name not in results][: max(0, options.number - have)]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--room", choices=ROOMS, action="append", help="only these rooms")
    parser.add_argument("--number", type=int, default=30, help="mutants in each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", action="append", default=[], help="files to leave out")
    parser.add_argument("--record", action="store_true", help="which tests run which lines")
    parser.add_argument("--again", help="try stored ones with this in their name")
    parser.add_argument("--ask", action="append", default=[], help="only these tests")
    parser.add_argument("--table", action="store_true", help="print what is stored")
    options = parser.parse_args()
    results = stored()
    if not options.table:
        for way in (UNCOMPILED, COMPILED):
            if options.record or not way.lines.exists():
                print(f"{way.name}: failed unchanged: {record(way, copied())}", flush=True)
        for mutant in to_try(results, options):
            results[mutant.name] = Result(text_of(mutant), caught_by(mutant, options.ask))
            print(f"{results[mutant.name].caught_by or 'SURVIVED'}  {mutant.name}", flush=True)
            store(results)
    print("\n".join([*table(results), *survivors(results)]))


if __name__ == "__main__":
    main()
