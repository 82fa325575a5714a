"""What was asked of `simulate`, checked once and passed to the sampler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ribp.checks import IntArray
from ribp.counts import CountLaw, Learned, RowCounts, truncated
from ribp.entries import EntryKind
from ribp.errors import InputError, ProposalLimitError
from ribp.measures import (
    Certified,
    Measure,
    Truncation,
)


@dataclass(frozen=True, eq=False)
class Request:
    """Rows wanted from a measure, and how; see `ribp.simulate` for each field."""

    rng: np.random.Generator
    counts: RowCounts
    measure: Measure
    truncation: Truncation
    kind: str
    entries: EntryKind
    restrict: str
    max_proposals: int

    @property
    def n_rows(self) -> int:
        """Number of rows wanted."""
        return len(self.counts)

    @property
    def n_features(self) -> int | None:
        """The number of features that a truncation fixes beforehand; None if it does not."""
        return None if isinstance(self.truncation, Certified) else self.truncation.n_features

    def draw_totals(self, most: int | None) -> IntArray:
        """Draw J_n ~ f_n, given J_n <= most, for the mixture law."""
        if most is None:
            return self.counts.sample(self.rng)
        laws = tuple(cut(law, most) for law in self.counts.laws)
        return RowCounts(laws, self.counts.law_of_row).sample(self.rng)

    def out_of_proposals(self, n_accepted: int) -> ProposalLimitError:
        """Return the error of a rejection sampler that met its limit."""
        rate = n_accepted / self.max_proposals
        return ProposalLimitError(
            f"{self.max_proposals} proposals gave only {n_accepted} of {self.n_rows} rows "
            f"(acceptance rate {rate:.1e}); stopping here would bias the draw, so nothing is "
            "returned. Use method='inclusion', which rejects nothing, or raise max_proposals.",
            self.max_proposals,
            n_accepted,
        )


def cut(law: CountLaw, most: int) -> CountLaw:
    """Return the law given that the count is at most the number of features."""
    if law.smallest > most:
        raise InputError(
            "counts",
            f"must have mass on 0..{most}, the number of features of the truncation",
            str(law),
            "Keep more features, use Certified, or change the law.",
        )
    return truncated(law, 0, most)


def realised(rng: np.random.Generator, counts: RowCounts, most: int | None) -> RowCounts:
    """Return `counts` with each learned law replaced by a table drawn from its Dirichlet prior.

    With at most `most` features the table is drawn on the counts that are possible.
    """

    def table(law: CountLaw) -> CountLaw:
        if not isinstance(law, Learned):
            return law
        possible = law if most is None else cut(law, most)
        return possible.draw_table(rng) if isinstance(possible, Learned) else possible

    return RowCounts(tuple(table(law) for law in counts.laws), counts.law_of_row)
