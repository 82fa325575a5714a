"""The map of the package shows the rooms that there are, in the order in which they may import."""

import re
import tomllib

from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "developer" / "architecture.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "developer" / "architecture.svg").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "ribp"


def rooms():
    """Return the folders of the package."""
    return {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def layers():
    """Return for each module of the package how high it stands."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {name: -at for at, row in enumerate(rows) for name in row.split(" : ")}


def table():
    """Return the rooms in the order of the page's table."""
    return re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)


def test_every_room_is_in_the_table_and_in_the_picture():
    assert sorted(table()) == sorted(rooms())
    assert set(re.findall(r">(\w+)</text>", PICTURE)) >= rooms()


def test_the_table_goes_from_the_top_layer_to_the_bottom():
    heights = [layers()[name] for name in table()]
    assert heights == sorted(heights, reverse=True)


def test_every_file_that_the_page_names_exists():
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 30
    for name in named:
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


def test_the_steps_of_the_page_are_functions_of_their_files():
    steps = re.findall(r"`([\w/]+\.py)` `(\w+)`", PAGE)
    assert len(steps) >= 9
    for file, name in steps:
        assert re.search(rf"def {name}\(", (SOURCE / file).read_text(encoding="utf-8")) or (
            name == "prepare" and file == "estimators/restricted.py"
        ), (file, name)
