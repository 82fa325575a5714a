"""What a stored fit says of itself: what was asked, its length, its warnings, its file."""

from __future__ import annotations

import json
import os
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from ribp.errors import InputError, Notice
from ribp.posterior.convergence import r_hat
from ribp.posterior.judgement import Judgement, stored_judgement
from ribp.posterior.stored_draws import stored_notices
from ribp.results import exchange, result_file, settings
from ribp.results.schema import problem
from ribp.results.settings import AnyModel
from ribp.search.background import BackgroundChoice
from ribp.search.pool import Reached

_COLUMNS = 80
_WARNINGS_SHOWN = 3


class StoredFit:
    """The tree of a fit, and what stands in it.

    Parameters
    ----------
    tree
        As `ribp.results.build` returns it. It is validated, and not copied.
    """

    def __init__(self, tree: xr.DataTree) -> None:
        wrong = problem(tree)
        if wrong:
            raise InputError("tree", "must be that of a result", wrong, "Make it with `build`.")
        self._tree = tree

    @property
    def tree(self) -> xr.DataTree:
        """All draws: groups posterior, features, warmup and laws."""
        return self._tree

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The arguments of the fit."""
        return settings.from_json(self._tree.attrs["settings"])

    @cached_property
    def model(self) -> AnyModel:
        """The model that was fitted."""
        laws = self._tree["laws"].dataset.get("law_of_row")
        return settings.model(self.settings, None if laws is None else laws.to_numpy())

    @property
    def background_choice(self) -> BackgroundChoice:
        """Whether there is a background, and why."""
        return settings.background_choice(self.settings)

    @property
    def search(self) -> Reached:
        """How many of the starts of the search reached the best log joint."""
        return Reached(self.settings["n_starts"], self.settings["n_best"])

    @property
    def n_chains(self) -> int:
        """How many chains have draws."""
        return self._tree["posterior"].sizes["chain"]

    @property
    def n_draws(self) -> int:
        """How many draws each chain has."""
        return self._tree["posterior"].sizes["draw"]

    @property
    def interrupted(self) -> bool:
        """Whether the fit ended before its time."""
        return bool(self._tree.attrs["interrupted"])

    @property
    def warnings(self) -> list[Notice]:
        """Warnings of the fit."""
        return stored_notices(self._tree)

    @property
    def judgement(self) -> Judgement | None:
        """The judgement of the fit by its data, if one was made."""
        return stored_judgement(self._tree)

    def _with(self, name: str, text: str) -> Self:
        """Return a copy with another attribute; what was computed from the draws is reused."""
        changed = copy(self)
        changed._tree = self._tree.copy()
        changed._tree.attrs[name] = text
        changed.__dict__.pop("_summary", None)
        return changed

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write everything to one netCDF file; see `ribp.results.result_file`."""
        result_file.save(self._tree, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the result in a file that `save` has written."""
        loaded = cls.__new__(cls)
        loaded._tree = result_file.load(path)  # which has validated it
        return loaded

    def with_estimator(self, name: str, settings: dict[str, Any]) -> Self:
        """Return the same result, which remembers the estimator that made it."""
        return self._with("estimator", json.dumps({"name": name, **settings}))

    @property
    def estimator(self) -> dict[str, Any] | None:
        """Name and settings of the estimator that made it, if one did."""
        text = self._tree.attrs.get("estimator")
        return None if text is None else dict(json.loads(text))

    def to_arviz(self, log_likelihood: ArrayLike | None = None) -> Any:
        """Return the draws as ArviZ has them; see `ribp.results.exchange`.

        Parameters
        ----------
        log_likelihood
            Shape (chain, stored draw, row). With it, only stored draws are handed over.
        """
        return exchange.to_arviz(self._tree, log_likelihood)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredFit):
            return NotImplemented
        return _timeless(self._tree).identical(_timeless(other._tree))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "\n".join(_cut(line) for line in self._lines())

    def _lines(self) -> list[str]:
        asked, posterior = self.settings, self._tree["posterior"]
        used, log_joint = (posterior[name].to_numpy() for name in ("active_features", "log_joint"))
        most = asked["n_features"]
        limit = "" if most is None else f", at most {most}"
        ended = ", interrupted" if self.interrupted else ""
        stored = self._tree["features"].sizes["draw"]
        lines = [
            f"<ribp Result: {asked['method']}, {asked['likelihood']['name']}, "
            f"{asked['n_rows']} rows x {asked['n_dims']} dims>",
            f"  draws          {self.n_chains} chains x {self.n_draws}, "
            f"features of {stored} stored{ended}",
            f"  features used  {np.median(used):g} ({used.min()} to {used.max()}){limit}",
            f"  log joint      {log_joint.mean():.1f} (sd {log_joint.std():.1f})",
            f"  R-hat          {r_hat(log_joint):.3f} log joint, {r_hat(used):.3f} features used",
        ]
        return lines + _about(self.warnings)


def _timeless(tree: xr.DataTree) -> xr.DataTree:
    """Return a tree that does not say when it was made."""
    copy = tree.copy()
    copy.attrs.pop("created")
    return copy


def _about(warnings: list[Notice]) -> list[str]:
    """Return the lines of a short display that are about warnings."""
    shown = [f"  warning        {' '.join(one.text.split())}" for one in warnings[:_WARNINGS_SHOWN]]
    left = len(warnings) - len(shown)
    return [*shown, f"  and {left} more in `warnings`"] if left else shown


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else line[: _COLUMNS - 3] + "..."
