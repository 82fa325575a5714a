"""Mutants: single small changes of the source, each of which some test should notice.

``python -m tests.mutants`` chooses places by a seed, the same number in every room, changes one at
a time in a copy of the source, and runs the tests that should see it: those of the same name as the
file (without the compiler where that is possible, which is quicker and sees indices), then those of
the room, then those that sample with everything. What ends with a failure, an error or no end at
all is caught. Results are written after each mutant, and a run that was stopped goes on.

``--room kernels`` tries one room, ``--number 40`` so many in each, ``--seed 1`` others.
``--table`` prints the table of what is stored. Survivors that change nothing that anybody can
observe stand in `EQUIVALENT`, each with its reason.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.helpers import ROOT

SOURCE = ROOT / "src" / "ribp"
RESULTS = ROOT / "tests" / "mutants.json"
ROOMS = (
    "kernels", "weights", "mcmc", "variational", "rows", "prior", "posterior", "likelihoods",
    "kinds", "entries",
)  # fmt: skip
SAMPLERS = ("mcmc/test_gibbs.py", "mcmc/test_gibbs_rows.py", "test_fitting.py")
MINUTES = 10
EQUIVALENT: dict[str, str] = {}
"""Reasons why a mutant changes nothing, by its name."""

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


def chosen(room: str, number: int, seed: int) -> list[Mutant]:
    """Return some mutants of a room, the same for the same seed."""
    files = sorted((SOURCE / room).glob("*.py"))
    every = [one for file in files for one in mutants_of(file)]
    return random.Random(f"{room} {seed}").sample(every, min(number, len(every)))


def stages(mutant: Mutant) -> list[tuple[list[str], bool]]:
    """Return which tests to ask, in turns, and whether without the compiler."""
    room, stem = Path(mutant.file).parts[0], Path(mutant.file).stem
    own, whole = f"tests/{room}/test_{stem}.py", f"tests/{room}"
    made = []
    if (ROOT / own).exists():
        if room == "kernels":
            made.append(([own], True))
        made.append(([own], False))
    if (ROOT / whole).is_dir():
        made.append(([whole], False))
    return [*made, ([f"tests/{one}" for one in SAMPLERS], False)]


def caught_by(mutant: Mutant) -> str:
    """Return the test that fails first, "no end", or an empty text for a survivor."""
    text = mutated(mutant)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        (source / "ribp" / mutant.file).write_text(text)
        for tests, uncompiled in stages(mutant):
            found = _first_failure(tests, source, uncompiled)
            if found:
                return found
    return ""


def _first_failure(tests: list[str], source: Path, uncompiled: bool) -> str:
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--maxfail=1"]
    arguments += ["-m", "not jit"] if uncompiled else []
    environment = {**os.environ, "PYTHONPATH": str(source), "RIBP_TEST_TIER": "quick"}
    if uncompiled:
        environment["NUMBA_DISABLE_JIT"] = "1"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, *tests],
            cwd=ROOT, capture_output=True, text=True, check=False, env=environment,
            timeout=60 * MINUTES,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode in (0, 5):  # passed, or nothing of it can do without the compiler
        return ""
    failed = [
        line.split()[1] for line in done.stdout.splitlines() if line[:5] in ("FAILE", "ERROR")
    ]
    return failed[0] if failed else f"exit code {done.returncode}"


def table(results: dict[str, str]) -> list[str]:
    """Return the table of what was made and caught, by room, as Markdown."""
    lines = ["| room | made | caught | equivalent | survived |", "| --- | --- | --- | --- | --- |"]
    totals = [0, 0, 0, 0]
    for room in ROOMS:
        names = [name for name in results if name.split("/")[0] == room]
        caught = sum(bool(results[name]) for name in names)
        equal = sum(name in EQUIVALENT for name in names if not results[name])
        row = [len(names), caught, equal, len(names) - caught - equal]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        if names:
            lines.append(f"| {room} | {' | '.join(map(str, row))} |")
    return [*lines, f"| all | {' | '.join(map(str, totals))} |"]


def survivors(results: dict[str, str]) -> list[str]:
    """Return the names of mutants that no test has noticed and that are not equivalent."""
    return [name for name, by in results.items() if not by and name not in EQUIVALENT]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--room", choices=ROOMS, action="append", help="only these rooms")
    parser.add_argument("--number", type=int, default=32, help="mutants in each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print what is stored")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for room in options.room or ROOMS:
        for mutant in [] if options.table else chosen(room, options.number, options.seed):
            if mutant.name not in results:
                results[mutant.name] = caught_by(mutant)
                print(f"{results[mutant.name] or 'SURVIVED'}  {mutant.name}", flush=True)
                RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    print("\n".join([*table(results), *survivors(results)]))


if __name__ == "__main__":
    main()
