"""Tests stand where what they test stands, and what they share stands in tests/helpers."""

import ast

import pytest

from tests.helpers import ROOT

OTHER_FOLDERS = {"helpers", "docs", "experiments", "browser", "slow-results"}
OF_THE_WHOLE = {"layout", "imports", "public_names"}
NOT_HELPERS = {"conftest", "__init__"}
COMMANDS = {"faults.py", "mutants.py", "public_names.py"}  # python -m tests.faults


def folders(place):
    return {path.name for path in place.iterdir() if path.is_dir() and path.name != "__pycache__"}


def problems(tests, source):
    """Return what is wrong with a folder of tests, given the folder of the package."""
    mine, theirs = folders(tests) - OTHER_FOLDERS, folders(source)
    found = [f"{name}: no such folder in the package" for name in mine - theirs]
    found += [f"{name}: the package has it, tests have not" for name in theirs - mine]
    found += [f"{name}: no tests in it" for name in mine if not any((tests / name).glob("test_*"))]
    for path in tests.glob("test_*.py"):
        name = path.stem.removeprefix("test_")
        if name not in OF_THE_WHOLE and not (source / f"{name}.py").exists():
            found.append(f"{path.name}: no {name}.py in the package")
    files = sorted(tests.rglob("*.py"))
    bare = {path.stem for path in files} | {"helpers"}
    for path in files:
        name = path.relative_to(tests).as_posix()
        is_test = path.stem.startswith("test_")
        is_helper = not is_test and path.stem not in NOT_HELPERS and name not in COMMANDS
        if is_helper and path.parent != tests / "helpers":
            found.append(f"{name}: a helper outside of helpers")
        if is_test and path.parent == tests / "helpers":
            found.append(f"{name}: a test among the helpers")
        for node in ast.walk(ast.parse(path.read_text())):
            if changes_path(node):
                found.append(f"{name}: uses sys.path")
            if of_a_test(node):
                found.append(f"{name}: imports from a test")
            found += [f"{name}: imports {one} by a bare name" for one in roots(node) if one in bare]
    return found


def changes_path(node):
    """Tell whether a piece of code is sys.path, by any way to it."""
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="path"):
            return True
        case ast.Attribute(attr="syspath_prepend"):
            return True
        case ast.ImportFrom(module="sys", names=names):
            return any(one.name == "path" for one in names)
    return False


def of_a_test(node):
    """Tell whether a piece of code imports from a module of tests: what is shared is a helper."""
    match node:
        case ast.ImportFrom(level=0, module=module):
            return module.startswith("tests.") and ".test_" in module
    return False


def roots(node):
    """Return the packages that a piece of code imports from; "helpers" for relative imports."""
    match node:
        case ast.Import(names=names):
            return [one.name.partition(".")[0] for one in names]
        case ast.ImportFrom(level=0, module=module):
            return [module.partition(".")[0]]
        case ast.ImportFrom():
            return ["helpers"]
    return []


def test_tests_mirror_the_package():
    assert problems(ROOT / "tests", ROOT / "src" / "ribp") == []


GOOD = {
    "src/errors.py": "",
    "src/plots/style.py": "",
    "tests/conftest.py": "",
    "tests/faults.py": "",
    "tests/test_errors.py": "import sys\nfrom tests.helpers.cases import ONE\nsys.argv",
    "tests/test_imports.py": "",
    "tests/plots/__init__.py": "",
    "tests/plots/test_style.py": "from ribp.errors import path",
    "tests/helpers/cases.py": "ONE = 1",
    "tests/docs/test_pages.py": "",
}


def made(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return problems(folder / "tests", folder / "src")


def test_a_good_tree_has_no_problems(tmp_path):
    assert made(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("tests/more/test_more.py", "", "more: no such folder in the package"),
        ("src/cli/main.py", "", "cli: the package has it, tests have not"),
        ("tests/test_other.py", "", "test_other.py: no other.py in the package"),
        ("tests/plots/cases.py", "", "plots/cases.py: a helper outside of helpers"),
        ("tests/plots/faults.py", "", "plots/faults.py: a helper outside of helpers"),
        ("tests/tools.py", "", "tools.py: a helper outside of helpers"),
        ("tests/docs/tools.py", "", "docs/tools.py: a helper outside of helpers"),
        ("tests/helpers/test_cases.py", "", "helpers/test_cases.py: a test among the helpers"),
        ("tests/conftest.py", "import sys\nsys.path.insert(0, 'x')", "conftest.py: uses sys.path"),
        ("tests/conftest.py", "from sys import path", "conftest.py: uses sys.path"),
        ("tests/conftest.py", "a.syspath_prepend('x')", "conftest.py: uses sys.path"),
        (
            "tests/conftest.py",
            "from tests.test_errors import A",
            "conftest.py: imports from a test",
        ),
        ("tests/conftest.py", "from cases import ONE", "conftest.py: imports cases by a bare name"),
        ("tests/conftest.py", "import cases", "conftest.py: imports cases by a bare name"),
        ("tests/conftest.py", "import helpers.a", "conftest.py: imports helpers by a bare name"),
        ("tests/conftest.py", "from . import a", "conftest.py: imports helpers by a bare name"),
    ],
)
def test_every_problem_is_found(file, text, problem, tmp_path):
    assert made(tmp_path, GOOD | {file: text}) == [problem]


def test_a_folder_without_tests_is_a_problem(tmp_path):
    without = {name: text for name, text in GOOD.items() if name != "tests/plots/test_style.py"}
    assert made(tmp_path, without) == ["plots: no tests in it"]
