"""The public names of ribp: what `docs/stability.md` promises, one a line in `public-names.txt`.

The names are those of `docs/api.md`, with their parameters and documented members, the attributes
of estimators, and the commands and options of `ribp`.

    python -m tests.public_names      # writes the list anew
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import typer

import ribp

ROOT = Path(__file__).resolve().parents[1]
STORED = Path(__file__).with_name("public-names.txt")
COMMAND = "python -m tests.public_names"
_DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   .*\n)*)", re.MULTILINE)
_ATTRIBUTES = re.compile(r"Attributes\n-{3,}\n(.*?)(?:\n\w+\n-{3,}|\Z)", re.DOTALL)


class Entry(NamedTuple):
    """One directive of the API page."""

    name: str
    is_module: bool
    members: list[str] | None
    """None for all that have a docstring; [] for none."""
    inherited: bool


def entries() -> list[Entry]:
    """Return what the API page documents."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    return [_entry(*found) for found in _DIRECTIVE.findall(page)]


def _entry(kind: str, name: str, options: str) -> Entry:
    said = re.search(r":members:([^:]*)", options)
    members = re.findall(r"\w+", said[1]) if said else []
    inherited = ":inherited-members:" in options
    return Entry(name, kind == "module", None if said and not members else members, inherited)


def documented() -> dict[str, Any]:
    """Return the functions, classes and other things of the API page, by their names there."""
    found = {}
    for entry in entries():
        thing = at(entry.name)
        if not entry.is_module:
            found[entry.name] = thing
            continue
        members = of_module(thing) if entry.members is None else entry.members
        found |= {f"{entry.name}.{one}": getattr(thing, one) for one in members}
    return found


def at(name: str) -> Any:
    """Return what a name with dots stands for."""
    first, *parts = name.split(".")
    thing = importlib.import_module(first)
    for part in parts:  # a name of a package goes before a module that is called the same
        try:
            thing = getattr(thing, part)
        except AttributeError:
            thing = importlib.import_module(f"{thing.__name__}.{part}")
    return thing


def of_module(module: Any) -> list[str]:
    """Return the names that a module offers: its `__all__`, or what it defines itself."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
        and (inspect.isfunction(thing) or inspect.isclass(thing))
    ]  # fmt: skip


def of_class(kind: type, *, inherited: bool = True) -> list[str]:
    """Return the public methods and properties of a class, those of ribp only."""
    classes = kind.__mro__ if inherited else (kind,)
    found = {
        name: thing
        for one in classes
        if one.__module__.startswith("ribp.")
        for name, thing in vars(one).items()
        if not name.startswith("_") and _is_member(thing)
    }
    return list(found)


def _is_member(thing: Any) -> bool:
    kinds = (property, cached_property, classmethod, staticmethod)
    return inspect.isfunction(thing) or isinstance(thing, kinds)


def attributes(kind: type) -> list[str]:
    """Return the attributes that the docstring of a class lists."""
    found = _ATTRIBUTES.search(inspect.getdoc(kind) or "")
    lines = re.findall(r"^(\w[\w, ]*)$", found[1], re.MULTILINE) if found else []
    return [name for line in lines for name in line.split(", ")]


def parameters(name: str, thing: Any) -> Iterator[str]:
    """Yield ``name(parameter)`` for what a function, a method or a class takes."""
    try:
        known = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return
    yield from (f"{name}({one})" for one in known if one != "self" and not one.startswith("_"))


def of_python() -> Iterator[str]:
    """Yield the names of modules, functions, classes, members and parameters."""
    yield from (f"ribp.{name}" for name in ribp.__all__)
    chosen = {entry.name: entry for entry in entries()}
    for name, thing in documented().items():
        yield name
        yield from parameters(name, thing)
        if not inspect.isclass(thing):
            continue
        entry = chosen.get(name, Entry(name, False, None, False))
        members = entry.members
        if members is None:
            members = of_class(thing, inherited=entry.inherited)
        for member in [*members, *attributes(thing)]:
            yield f"{name}.{member}"
            yield from parameters(f"{name}.{member}", getattr(thing, member, None))
    of_both = {*attributes(ribp.RestrictedIBP)} - {"counts_", "exposures_", "kinds_"}
    yield from (f"ribp.IndianBuffet.{member}" for member in of_both)


def of_shell() -> Iterator[str]:
    """Yield the commands and their options."""
    from ribp.cli.main import app

    for command, what in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        yield f"ribp {command}"
        for one in what.params:
            names = one.opts if one.param_type_name == "option" else [str(one.name).upper()]
            yield from (f"ribp {command} {name}" for name in names)


def names() -> list[str]:
    """Return all public names in order."""
    return sorted({*of_python(), *of_shell()})


if __name__ == "__main__":
    STORED.write_text("\n".join(names()) + "\n", encoding="utf-8")
    print(f"{STORED.name}: {len(names())} names")
