"""The version is the same wherever a release says it."""

import re
import tomllib

import yaml
from trove_classifiers import classifiers

import ribp
from tests.helpers import ROOT


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_version_and_day_are_those_of_the_newest_section_of_the_changelog():
    unreleased, *sections = re.findall(r"^## (.*)$", read("CHANGELOG.md"), re.MULTILINE)
    cited = yaml.safe_load(read("CITATION.cff"))
    assert unreleased == "Unreleased"
    assert sections[0] == f"{cited['version']} ({cited['date-released']})"
    assert cited["version"] == ribp.__version__


def test_the_release_holds_every_folder_and_file_of_the_source():
    settings = tomllib.loads(read("pyproject.toml"))
    included = set(settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert all((ROOT / name.removeprefix("/")).exists() for name in included)
    ours = {f"/{path.parent.name}" for path in ROOT.glob("*/*.py")} | {"/src", "/docs", "/.ci"}
    assert ours <= included


def test_classifiers_are_known():
    settings = tomllib.loads(read("pyproject.toml"))
    assert set(settings["project"]["classifiers"]) <= set(classifiers)
