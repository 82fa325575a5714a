"""Plug-ins by name: what users type, what files hold, and what other packages add.

Each kind of plug-in is a folder of `ribp` with one base class and one `Registry`. A plug-in of
another package is registered by one line, ``ribp.likelihoods.register("yes-no", YesNo)``, or, so
that stored runs find it in another process, by an entry point of that package:

    [project.entry-points."ribp.likelihoods"]
    yes-no = "my_package:YesNo"

The others are `ribp.weights`, `ribp.measures`, `ribp.counts`, `ribp.entries`, `ribp.rows.homes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from ribp import checks
from ribp.errors import InputError

P = TypeVar("P")


class Registry(Generic[P]):
    """Plug-ins of one kind by name: those of `ribp`, of installed packages, and registered ones.

    Parameters
    ----------
    argument
        What messages call a plug-in: the argument by which users choose one.
    module
        Where `register` is; also the group of entry points.
    base
        The class that plug-ins inherit from; None if any function will do.
    built_in
        The plug-ins of `ribp`, or where they are, "module:attribute": loaded when first used.
    """

    def __init__(
        self, argument: str, module: str, base: type | None, built_in: Mapping[str, P | str]
    ) -> None:
        self.argument, self.module, self.base = argument, module, base
        self._plugins: dict[str, Any] = {
            name: EntryPoint(name, one, module) if isinstance(one, str) else one
            for name, one in built_in.items()
        }

    def register(self, name: str, plugin: P) -> None:
        """Give a plug-in a name, by which users and files know it."""
        base, rule = self.base, "must be a function or a class"
        fits = callable(plugin)
        if base is not None:
            fits = isinstance(plugin, type) and issubclass(plugin, base)
            rule = f"must be a class that inherits from {base.__name__}"
        if not fits:
            raise InputError(self.argument, rule, plugin, "Pass the class itself.")
        if name in self and self[name] is not plugin:
            raise InputError("name", "must not be taken", name, "Choose another name.")
        self._plugins[name] = plugin

    def unregister(self, name: str) -> None:
        """Forget a plug-in that was registered."""
        del self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._installed | self._plugins)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._plugins or name in self._installed)

    def __getitem__(self, name: str) -> P:
        """Return the plug-in that users ask for, or raise an `InputError` that says which exist."""
        checks.one_of(self.argument, name, self)
        plugin = self._plugins.get(name) or self._installed[name].load()
        found: P = plugin.load() if isinstance(plugin, EntryPoint) else plugin
        return found

    def stored(self, name: Any) -> P:
        """Return the plug-in of a stored run, or raise an `InputError` that says it is missing."""
        if name in self:
            return self[name]
        raise InputError(
            self.argument,
            "must be one that is installed here",
            name,
            f"Install the package that has it, or call {self.module}.register.",
        )

    def name_of(self, plugin: P) -> str:
        """Return the name of a plug-in."""
        for name in self:
            if self[name] is plugin:
                return name
        raise InputError(
            self.argument,
            "must have a name, by which files know it",
            getattr(plugin, "__name__", plugin),
            f"Call {self.module}.register(name, plug_in) first.",
        )

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        """Where plug-ins of other packages are."""
        return {point.name: point for point in entry_points(group=self.module)}
