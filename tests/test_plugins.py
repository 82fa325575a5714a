"""The registry: names, entry points, and what it says of what is missing."""

from importlib.metadata import EntryPoint

import pytest

from ribp.errors import InputError
from ribp.plugins import Registry


class Shape:
    """What plug-ins inherit from."""


class Round(Shape):
    """A plug-in."""


def registry():
    found = Registry("shape", "ribp.shapes", Shape, {"lazy": f"{__name__}:Round"})
    found.__dict__["_installed"] = {
        "other": EntryPoint("other", f"{__name__}:Shape", "ribp.shapes")
    }
    return found


def test_names_lead_to_plug_ins():
    shapes = registry()
    shapes.register("round", Round)
    assert set(shapes) == {"lazy", "other", "round"}
    assert shapes["round"] is shapes["lazy"] is Round
    assert shapes["other"] is shapes.stored("other") is Shape
    assert shapes.name_of(Shape) == "other"
    shapes.unregister("round")
    assert "round" not in shapes


def test_built_in_plug_ins_are_loaded_when_they_are_used():
    shapes = Registry("shape", "ribp.shapes", Shape, {"far": "no_such_module:Shape"})
    assert [*shapes] == ["far"]
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = shapes["far"]


def test_entry_points_of_packages_are_found():
    scripts = Registry("script", "console_scripts", None, {})
    assert "ribp" in scripts


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match=r"shape must be one of .*lazy.*Did you mean 'lazy'"):
        _ = registry()["lzy"]
    with pytest.raises(InputError, match=r"here, but got square\. Install .* ribp\.shapes\.regis"):
        registry().stored("square")
    with pytest.raises(InputError, match=r"must have a name.*Call ribp\.shapes\.register"):
        registry().name_of(int)


def test_plug_ins_inherit_and_names_are_given_once():
    shapes = registry()
    with pytest.raises(InputError, match="inherits from Shape"):
        shapes.register("number", int)
    with pytest.raises(InputError, match="must not be taken"):
        shapes.register("other", Round)
    shapes.register("lazy", Round)
    with pytest.raises(InputError, match="must be a function"):
        Registry("law", "ribp.laws", None, {}).register("three", 3)
