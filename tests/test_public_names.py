"""Public names change on purpose only, and the API page names all of them."""

import inspect
import re

import numpy as np
import pytest

import ribp
from ribp.cli import run_folder
from ribp.results import Result, schema
from ribp.running import checkpoint
from tests import public_names
from tests.helpers import ROOT

pytestmark = pytest.mark.jit

COMPLETE = ["", ".counts", ".kinds", ".datasets", ".plots", ".report"]  # modules
CLASSES = [ribp.RestrictedIBP, ribp.IndianBuffet, Result]


def changes(stored, found):
    """Return what a reader of a failed test must know, or nothing."""
    lines = [f"removed: {name}" for name in sorted(set(stored) - set(found))]
    lines += [f"added:   {name}" for name in sorted(set(found) - set(stored))]
    if not lines:
        return ""
    return "\n".join([
        "Public names have changed:", *lines,
        f"If that is meant, say it in CHANGELOG.md and run: {public_names.COMMAND}",
    ])  # fmt: skip


def test_names_are_those_of_the_stored_list():
    problem = changes(public_names.STORED.read_text().splitlines(), public_names.names())
    assert not problem, problem


def test_a_change_is_told_by_name():
    said = changes(["ribp.a", "ribp.b"], ["ribp.b", "ribp.c"])
    assert "removed: ribp.a\nadded:   ribp.c" in said
    assert "python -m tests.public_names" in said


@pytest.mark.parametrize("module", COMPLETE)
def test_the_api_page_names_everything(module):
    home = public_names.at("ribp" + module)
    known = {id(thing) for thing in public_names.documented().values()}
    missing = [
        name
        for name in public_names.of_module(home)
        if name != "__version__"
        and not inspect.ismodule(getattr(home, name))
        and id(getattr(home, name)) not in known
    ]
    assert missing == []


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_api_page_names_every_method(kind):
    listed = set(public_names.STORED.read_text().splitlines())
    home = "ribp.results" if kind is Result else "ribp"
    of_class = {f"{home}.{kind.__name__}.{name}" for name in public_names.of_class(kind)}
    assert of_class - listed == set()


@pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
def test_attributes_of_a_fit_are_listed_and_the_list_is_true():
    X = np.random.default_rng(0).normal(size=(12, 3))
    settings = {"max_features": 2, "n_chains": 1, "n_warmup": 2, "n_draws": 2, "random_state": 0}
    for kind in (ribp.RestrictedIBP, ribp.IndianBuffet):
        model = kind(**settings).fit(X)
        listed = {*public_names.attributes(ribp.RestrictedIBP)}
        own = {name for name in vars(model) if name.endswith("_") and name[0] != "_"}
        assert own <= listed
        conditional = {"exposures_", "kinds_", "feature_names_in_"}
        conditional |= {"counts_"} if kind is ribp.IndianBuffet else set()
        assert all(hasattr(model, name) for name in listed - conditional)


def test_the_page_about_stability_has_the_schemas():
    page = (ROOT / "docs" / "stability.md").read_text()
    schemas = [int(found) for found in re.findall(r"^\| `.* \| (\d+) \|", page, re.MULTILINE)]
    assert schemas == [schema.SCHEMA_VERSION, checkpoint.SCHEMA, run_folder.SCHEMA]
