"""Every Python block of README and docs runs, in order, and prints what the page says.

So does every `$ ribp` command of a console block, in the same folder and between the same blocks;
what stands below a command is what it prints.
"""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest

from ribp.cli.main import main
from tests.helpers import ROOT
from tests.helpers.plug_ins import nothing_left

PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
PAGES = [page for page in PAGES if "_build" not in page.parts]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

pytestmark = pytest.mark.jit


def with_code(page: Path) -> bool:
    return bool(BLOCK.search(page.read_text()))


def run_python(block: str, names: dict, page: Path) -> None:
    if ">>>" not in block:
        exec(compile(block, page.name, "exec"), names)
        return
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, "".join(report)


def run_console(block: str, monkeypatch) -> None:
    """Run the commands of a block; one that has nothing below it may print anything."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.replace("\\\n", " ").partition("\n")
        words = shlex.split(command, comments=True)
        assert words[0] == "ribp", "only ribp is run; write other commands in a block of sh"
        monkeypatch.setattr("sys.argv", words)
        printed, said = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(said),
            pytest.raises(SystemExit) as end,
        ):
            main()
        assert not end.value.code, f"{command}\n{said.getvalue()}"
        found = printed.getvalue()
        if expected.strip():
            assert doctest.OutputChecker().check_output(expected, found, FLAGS), found


def test_there_are_pages_to_check():
    assert sum(with_code(page) for page in PAGES) >= 3


@pytest.mark.parametrize("page", list(filter(with_code, PAGES)), ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    with nothing_left():
        for language, block in BLOCK.findall(page.read_text()):
            if language == "python":
                run_python(block, names, page)
            else:
                run_console(block, monkeypatch)


@pytest.mark.parametrize(
    "wrong",
    [
        "$ ribp summary nowhere\n",
        "$ rm -r run\n",
        "$ ribp simulate --rows 3 --counts 'exactly(1)' --out z.csv --seed 0\n4 rows, ...\n",
    ],
)
def test_a_command_that_fails_or_prints_something_else_is_caught(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run_console(wrong, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), target
