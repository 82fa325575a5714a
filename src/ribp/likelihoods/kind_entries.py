"""An entry of a table of kinds given its row: column by column, the law of its kind.

What features make of a row (`means`) is eta, one number for each latent column.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.kinds.levels import OfLevels
from ribp.kinds.of_rate import OfRate
from ribp.kinds.positive import Positive
from ribp.likelihoods.data import BoolArray, Data, shown
from ribp.likelihoods.kind_columns import Column, Places
from ribp.likelihoods.kind_events import event_names, event_probs
from ribp.likelihoods.likelihood import Likelihood

PerColumn = Callable[[int, slice, slice], Any]


class KindEntryLaw(Likelihood[Any]):
    """The law of an entry of a table of kinds."""

    columns: tuple[Column, ...]

    @property
    def description(self) -> str:  # type: ignore[override]
        """What users are told of the data."""
        numbers = Counter(column.kind.name for column in self.columns)
        return f"columns of kinds ({', '.join(f'{n} {name}' for name, n in numbers.items())})"

    @cached_property
    def places(self) -> Places:
        """Where columns have their latent columns."""
        return Places(self.columns)

    def stored_scales(self) -> Mapping[str, tuple[str, ...]]:
        """Return which scales a result stores: what columns have of their own, if they have any."""
        own = {"own": ("own_number",)} if self.places.start.size else {}
        return {"feature_scale": (), **own}

    def latent_names(self, names: Sequence[Any]) -> list[str]:
        """Return the names of what features act on."""
        return self.places.latent_names(names)

    def event_names(self, names: Sequence[Any]) -> list[str]:
        """Return the names of events whose probabilities features change."""
        return event_names(self.columns, names)

    def columns_of_events(self) -> IntArray:
        """Return the column of each event."""
        numbers = range(len(self.columns))
        events = [len(event_names(self.columns[d : d + 1], [d])) for d in numbers]
        return np.repeat(np.array(numbers, np.int64), events)

    def event_probs(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the probabilities of these events, shape (rows, events)."""
        return event_probs(self.columns, self.places, means, parameters.own)

    def own_names(self, names: Sequence[Any]) -> list[str]:
        """Return the names of what columns have of their own."""
        return self.places.own_names(names)

    def read(self, features: FloatArray, background: FloatArray, scales: dict[str, Any]) -> Any:
        """Return the parameters of a draw that was stored."""
        size, own = float(scales["feature_scale"]), np.asarray(scales.get("own", np.zeros(0)))
        return self.parameters_type(features, background, size, own)

    def on_columns(self, parameters: Any, columns: BoolArray) -> tuple[Likelihood[Any], Any]:
        """Return the law and the parameters of some of the columns."""
        some = np.flatnonzero(columns).tolist()
        law = replace(self, columns=tuple(self.columns[d] for d in some))  # type: ignore[type-var]
        latent = columns[self.places.column]
        own = np.repeat(columns, self.places.n_own)
        return law, parameters._replace(
            features=parameters.features[:, latent],
            background=parameters.background[latent],
            own=parameters.own[own],
        )

    def loadings(self, parameters: Any) -> FloatArray:
        """Return A, nothing where levels have no order: a residual there has no direction."""
        found = np.zeros((len(parameters.features), len(self.columns)))
        for d, column in enumerate(self.columns):
            if column.kind.width == 1:
                found[:, d] = parameters.features[:, self.places.at[d]]
        return found

    def exposed(self, means: FloatArray, own: FloatArray | None) -> FloatArray:
        """Return eta of rows with these exposures, whose logarithms count in columns of counts."""
        if own is None or not own.size:
            return means
        return np.where(self.places.exposed, means + np.log(own)[:, None], means)

    def _by_column(self, rows: int, work: PerColumn) -> FloatArray:
        """Return what `work` makes of each column, given its own and its latent columns."""
        found = np.zeros((rows, len(self.columns)))
        for d in range(len(self.columns)):
            found[:, d] = work(d, self.places.latent(d), self.places.own(d))
        return found

    def n_dims(self, parameters: Any) -> int:
        """Return how many columns data have."""
        return len(self.columns)

    def expectations(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return E[x | z] of all entries; of levels that of their number."""
        return self._by_column(
            len(means),
            lambda d, at, own: self.columns[d].kind.expected(means[:, at], parameters.own[own])[0],
        )

    def variances(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return Var[x | z]."""
        return self._by_column(
            len(means),
            lambda d, at, own: self.columns[d].kind.expected(means[:, at], parameters.own[own])[1],
        )

    def typical(self, means: FloatArray, own: FloatArray) -> FloatArray:
        """Return the value that stands for each entry, given its eta and what columns have."""
        return self._by_column(
            len(means), lambda d, at, mine: self.columns[d].kind.typical(means[:, at], own[mine])
        )

    def summarised(
        self, pairs: Iterable[tuple[FloatArray, Any]], shape: tuple[int, int]
    ) -> tuple[FloatArray, FloatArray]:
        """Return a centre and a spread of each entry over draws of eta.

        Of a level the most probable one, and the probability of all others; of positive numbers the
        median, about, of others the mean, with their standard deviations.
        """
        kept = list(pairs)
        centre, spread = super().summarised(kept, shape)
        for d, column in enumerate(self.columns):
            at, own = self.places.latent(d), self.places.own(d)
            if isinstance(column.kind, OfLevels):
                probs = np.mean([self.level_probs(d, *one) for one in kept], axis=0)
                centre[:, d] = probs.argmax(axis=1)
                spread[:, d] = 1.0 - probs.max(axis=1)
            elif isinstance(column.kind, Positive):
                logs = [math.exp(given.own[own][0]) * eta[:, at][:, 0] for eta, given in kept]
                centre[:, d] = np.exp(np.mean(logs, axis=0))
        return centre, spread

    def log_density(self, values: FloatArray, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the log density or log probability of each entry."""
        return self._by_column(
            len(means),
            lambda d, at, own: self.columns[d].kind.log_density(
                values[:, d], means[:, at], parameters.own[own]
            ),
        )

    def level_probs(self, d: int, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the probability of each level of column d, shape (rows, levels)."""
        kind, own = self.columns[d].kind, parameters.own[self.places.own(d)]
        assert isinstance(kind, OfLevels)
        return kind.level_probs(means[:, self.places.latent(d)], own)

    def tails(
        self, values: FloatArray, means: FloatArray, parameters: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(X < x) and P(X > x)."""
        below, above = (
            self._by_column(
                len(means),
                lambda d, at, own, side=side: self.columns[d].kind.tails(  # type: ignore[misc]
                    values[:, d], means[:, at], parameters.own[own]
                )[side],
            )
            for side in (0, 1)
        )
        return below, above

    def column_log_density(self, seen: Data, values: FloatArray) -> FloatArray:
        """Return what the law of each column by itself says; NaN where a value is not known."""
        observed, found = shown(seen), np.full(values.shape, np.nan)
        for d, column in enumerate(self.columns):
            known, at = ~np.isnan(values[:, d]), observed[:, d]
            if isinstance(column.kind, OfRate):
                own = seen.each_exposure
                look = column.kind.look(seen.values[at, d] / own[at])
                found[known, d] = column.kind.alone(look, values[known, d], own[known])
            else:
                look = column.kind.look(seen.values[at, d])
                found[known, d] = column.kind.alone(look, values[known, d])
        return found

    def left_out_log_density(self, data: Data) -> FloatArray:
        """Return the same of each entry given the others of its column."""
        values, observed = data.values, shown(data)
        found = np.full(values.shape, np.nan)
        for d, column in enumerate(self.columns):
            at = observed[:, d]
            if isinstance(column.kind, OfRate) and data.exposures.size:
                found[at, d] = column.kind.left_out_at(values[at, d], data.exposures[at])
            else:
                found[at, d] = column.kind.left_out(values[at, d])
        return found
