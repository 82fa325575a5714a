"""A result at a glance: its features, how well chains mixed, and what to be wary of.

Features are those of the main mode (`modes`), in the order of `align`. For each: the share of rows
that have it, its weight (the mean of the probability sigmoid(theta)), the length of its mean
component in units of the spreads of the columns, and its stability, the share of draws in which it
is itself. Means of weights and components are over the draws in which some row has the feature.

How many features two rows share needs no names: `coactivation` is the mean of Z Z' over draws.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError, Notice
from ribp.posterior.align import Alignment, align
from ribp.posterior.diagnostics import Diagnostic, converged, diagnose
from ribp.posterior.feature_spread import rare_places, shown_places
from ribp.posterior.judgement import stored_judgement
from ribp.posterior.modes import Mode, modes
from ribp.posterior.stored_draws import (
    StoredDraws,
    array,
    settings,
    stored_draws,
    stored_notices,
)
from ribp.posterior.verdict import Verdict, misfits, verdict
from ribp.search.background import BackgroundChoice
from ribp.search.pool import Reached

if TYPE_CHECKING:
    import pandas as pd

_EMPTY_COLUMNS = ("constant-column", "missing-column")  # do no harm
_SHOWN = 40  # features in the text
_NAME = 30  # characters
_UNUSED = 0.1
_MOST_ROWS = 20_000


class FeatureSummary(NamedTuple):
    """One feature of the main mode."""

    name: str
    """Its own, or feature0."""
    rows: float
    """Share of rows that have it."""
    weight: float
    """Mean of its probability."""
    size: float
    """Length of its mean component, every column in units of its spread."""
    stability: float
    """Share of draws in which it is itself."""
    chains: int
    """Number of chains in which it is itself in at least half of the draws."""


@dataclass(frozen=True)
class Summary:
    """A result at a glance; `print` it."""

    features: list[FeatureSummary]
    active_features: dict[int, float]
    """How many features are in use: number and share of draws of the main mode."""
    diagnostics: dict[str, Diagnostic]
    modes: tuple[Mode, ...]
    warnings: list[Notice]
    """What should keep one from trusting it."""
    notes: list[Notice]
    """What is rough, or small."""
    verdict: Verdict
    """Whether the fit can be relied on."""
    background: BackgroundChoice
    """Whether there is a background, and why."""
    search: Reached
    """How many starts reached the best log joint."""

    def to_frame(self) -> pd.DataFrame:
        """Return the features as a table, a line each, under their names."""
        import pandas as pd

        frame = pd.DataFrame(self.features, columns=list(FeatureSummary._fields))
        return frame.set_index("name").rename_axis("feature")

    def _repr_html_(self) -> str:
        """Return the summary as notebooks show it."""
        formats = {"rows": "{:.0%}", "weight": "{:.3g}", "size": "{:.3g}", "stability": "{:.0%}"}
        shown = self.to_frame().head(_SHOWN)
        table = shown.to_html(formatters={name: one.format for name, one in formats.items()})
        likely = escape(self._features()[0])
        rest = "\n".join(self._warnings()).strip()
        said = f"<pre>{escape(rest)}</pre>" if rest else ""
        return f"<p>{likely}</p>{table}{said}<pre>{escape(str(self.verdict))}</pre>"

    def __str__(self) -> str:
        parts = [*self._features(), "", *self._quantities(), *self._warnings()]
        return "\n".join([*parts, "", str(self.verdict)])

    def _features(self) -> list[str]:
        width = min(max((len(one.name) for one in self.features), default=0), _NAME)
        width = max(width, len("feature"))
        likely = sorted(self.active_features.items(), key=lambda item: -item[1])[:3]
        lines = [
            "Features in use: " + ", ".join(f"{k} in {share:.0%} of draws" for k, share in likely),
            f"Background {self.background}",
            f"Search: {self.search}",
            "",
            f"{'feature':{width}}   rows  weight      size  stability  chains",
        ]
        for name, rows, weight, size, stability, chains in self.features[:_SHOWN]:
            cut = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
            lines.append(
                f"{cut:{width}}  {rows:5.0%}  {weight:6.3g}  {size:8.3g}  {stability:9.0%}"
                f"  {chains:6d}"
            )
        if len(self.features) > _SHOWN:
            lines.append(f"    ...  and {len(self.features) - _SHOWN} more, less popular")
        return lines

    def _quantities(self) -> list[str]:
        lines = ["quantity                  mean        sd      mcse  R-hat    bulk    tail"]
        for name, (mean, sd, mcse, rhat, bulk, tail, _) in self.diagnostics.items():
            lines.append(
                f"{name:19} {mean:10.5g} {sd:9.3g} {mcse:9.2g} {rhat:6.3f} {bulk:7.0f} {tail:7.0f}"
            )
        return lines

    def _warnings(self) -> list[str]:
        said = [_wrapped(notice.text) for notice in self.warnings]
        said += [_wrapped(notice.text, "-") for notice in self.notes]
        return ["", *said] if said else []


def summary(
    tree: xr.DataTree,
    all_modes: tuple[Mode, ...] | None = None,
    alignment: Alignment | None = None,
    diagnostics: dict[str, Diagnostic] | None = None,
    shown: IntArray | None = None,
    names: Sequence[str] = (),
) -> Summary:
    """Return a summary of a result; what is None is computed.

    Parameters
    ----------
    tree
        A result.
    all_modes, alignment, diagnostics
        Its modes, the features of the main one in order, and the diagnostics of `diagnose`.
    shown, names
        Places of the features that come first, and their names; others are feature7 and so on.
    """
    all_modes, draws = all_modes or modes(tree), stored_draws(tree)
    alignment = alignment or align(draws, all_modes[0].chains)
    diagnostics = diagnose(tree) if diagnostics is None else diagnostics
    active = array(tree, "posterior", "active_features")[list(all_modes[0].chains)]
    numbers, times = np.unique(active, return_counts=True)
    judgement = stored_judgement(tree)
    large, small = ([], []) if judgement is None else misfits(judgement, _column_names(tree))
    stored, known = stored_notices(tree), settings(tree)
    search = Reached(known["n_starts"], known["n_best"])
    warnings = [
        *(one for one in stored if one.code not in _EMPTY_COLUMNS),
        *_interrupted(tree),
        *_other_modes(all_modes),
        *_room(tree),
        *converged(diagnostics, mild=False),
        *large,
    ]
    notes = [
        *(one for one in stored if one.code in _EMPTY_COLUMNS),
        *_lonely(search),
        *(one for one in [*converged(diagnostics), *small] if one not in warnings),
    ]
    return Summary(
        _summaries(draws, alignment, shown, names),
        {int(k): float(n / active.size) for k, n in zip(numbers, times, strict=True)},
        diagnostics,
        all_modes,
        warnings,
        notes,
        verdict(array(tree, "posterior", "log_joint").shape[0], warnings, notes, judgement),
        BackgroundChoice(**known["background_choice"]),
        search,
    )


def _lonely(search: Reached) -> list[Notice]:
    """Return a note if only one start reached the best log joint: there may be a better one."""
    if search.n_best != 1 or search.n_starts == 1:
        return []
    text = (
        f"Only 1 of {search.n_starts} starts reached the best log joint: there may be a better one."
    )
    return [Notice("one-best-start", text)]


def _column_names(tree: xr.DataTree) -> Callable[[int], str]:
    """Return what gives the name of a column."""
    names = tree.children["features"].dataset.get("dim")
    return lambda at: f"column {at if names is None else names.to_numpy()[at]}"


def coactivation(
    tree: xr.DataTree, rows: ArrayLike | None = None, chains: Sequence[int] | None = None
) -> FloatArray:
    """Return the mean number of features that two rows share, over draws of some chains.

    Parameters
    ----------
    tree
        A result.
    rows
        Indices of some rows; all if None.
    chains
        Those of the main mode if None.

    Returns
    -------
    Shape (rows, rows); the diagonal is the mean count of each row.
    """
    stored = stored_draws(tree)
    at = np.arange(stored.shape[2]) if rows is None else checks.integers("rows", rows)
    if at.size > _MOST_ROWS:
        raise InputError(
            "rows", f"must be at most {_MOST_ROWS}", at.size, "Pass the indices of some rows."
        )
    chains = modes(tree)[0].chains if chains is None else chains
    total = np.zeros((at.size, at.size))
    for chain in chains:
        for draw in range(stored.shape[1]):
            z = stored.unpacked(chain, draw)[at].astype(np.float64)
            total += z @ z.T
    return total / (len(chains) * stored.shape[1])


def _summaries(
    stored: StoredDraws, alignment: Alignment, shown: IntArray | None, names: Sequence[str]
) -> list[FeatureSummary]:
    """Return the features that are shown, then others that some draw uses."""
    shown = shown_places(alignment, stored.n_known) if shown is None else shown
    places = np.append(shown, rare_places(alignment, shown))
    chains = list(alignment.chains)
    n_draws = alignment.order.shape[1]
    weight = np.zeros(alignment.order.shape[2])
    component = np.zeros((weight.size, stored.components.shape[3]))
    for at, chain in enumerate(chains):
        for draw in range(n_draws):
            order = alignment.order[at, draw]
            used = stored.active[chain, draw, order]
            weight[used] += stored.entry_law.probabilities(
                stored.log_odds[chain, draw, order[used]]
            )
            component[used] += stored.components[chain, draw, order[used]]
    uses = np.maximum(np.rint(alignment.in_use.sum(axis=0) * n_draws), 1.0)
    popularity = alignment.activity.mean(axis=(0, 1))
    stability = alignment.stability
    return [
        FeatureSummary(
            names[at] if at < len(names) else f"feature{at}",
            float(popularity[i]),
            float(weight[i] / uses[i]),
            float(np.linalg.norm(component[i] / uses[i] / stored.units)),
            float(stability[:, i].mean()),
            int((stability[:, i] >= 0.5).sum()),
        )
        for at, i in enumerate(places.tolist())
    ]


def _interrupted(tree: xr.DataTree) -> list[Notice]:
    if not tree.attrs.get("interrupted", 0):
        return []
    size = array(tree, "posterior", "log_joint").shape[1]
    asked: Any = settings(tree).get("n_draws", "all")
    text = f"The run was interrupted: {size} of {asked} draws a chain were made."
    return [Notice("interrupted", text)]


def _other_modes(all_modes: tuple[Mode, ...]) -> list[Notice]:
    if len(all_modes) == 1:
        return []
    total = sum(len(mode.chains) for mode in all_modes)
    below = all_modes[0].log_joint - all_modes[1].log_joint
    text = (
        f"Chains found {len(all_modes)} different sets of features; the one shown is that of"
        f" {len(all_modes[0].chains)} of {total} chains. The next has a mean log joint"
        f" {abs(below):.1f} {'lower' if below >= 0.0 else 'higher'} and"
        f" {all_modes[1].agreement:.0%} agreement."
    )
    return [Notice("other-features", text)]


def _room(tree: xr.DataTree) -> list[Notice]:
    features = settings(tree).get("n_features")
    if features is None:
        return []
    most = int(array(tree, "posterior", "active_features").max())
    if features - most >= _UNUSED * features:
        return []
    text = (
        f"Up to {most} of {features} features were in use: raise max_features, since fewer than"
        f" {_UNUSED:.0%} left unused may hold back features that the data ask for."
    )
    return [Notice("few-unused-features", text)]


def _wrapped(text: str, mark: str = "!") -> str:
    """Return a warning as lines of a list."""
    return textwrap.fill(
        text, 78, initial_indent=f"{mark} ", subsequent_indent="  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
