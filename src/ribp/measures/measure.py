"""What every directing measure offers: weights for the features, as log-odds.

A measure is a law of infinitely many weights. A row's law needs finitely many, and there are three
ways to get them, one method each:

- `Measure.weak_limit`: I exchangeable weights whose law tends to the measure as I grows;
- `Measure.size_ordered`: the first I weights of the measure itself, in its own order;
- `Measure.atom_stream`: as many weights as a certificate asks for. The stream hands out more
  on request, and bounds the total odds T of all it has not handed out.

**Weights travel as logarithms**: log(pi/(1-pi)) for atoms of a beta process, log lambda for a gamma
process, log weight for Dirichlet and Pitman-Yor weights. Their exponentials are the w_i in

    R-BeP(z; w, f) = f(|z|) prod_i w_i^{z_i} / e_{|z|}(w).

Rows with other entries than 0 and 1 use other odds of the same atom (see `ribp.entries`):
that function goes in the argument `odds`, and the bound on T follows it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import InputError

Odds = Callable[[FloatArray], FloatArray]
"""From the logarithm that an atom carries to the logarithm of the odds that a row uses."""


class AtomStream(ABC):
    """The atoms of one draw of a measure, handed out a few at a time."""

    @abstractmethod
    def extend(self, n_atoms: int) -> FloatArray:
        """Return the log-odds of the next `n_atoms` atoms."""

    @abstractmethod
    def log_expected_tail_odds(self, odds: Odds | None = None) -> float:
        """Return log E[T | atoms so far], or a bound above it.

        Parameters
        ----------
        odds : callable, optional
            The odds of a row, as a function of what the atoms carry; left out, they are the
            exponentials of what the atoms carry. As a function of the atom's size they must be
            convex and vanish at zero, as all those in `ribp.entries` are.

        Returns
        -------
        float
            +inf when there is no finite bound, as before the first atom when c <= 1.
        """

    def log_upper_tail_odds(self, odds: Odds | None = None) -> float:
        """Return the log of a number that T exceeds with probability 1e-9 at most.

        As it stands for streams that know T; others write it anew.
        """
        return self.log_expected_tail_odds(odds)


class Measure(ABC):
    """A directing measure: the law of the weights of infinitely many features."""

    atoms: ClassVar[str] = "sizes"
    """What atoms are: "sizes", which carry their logarithms, or "probabilities", their log-odds."""

    @abstractmethod
    def weak_limit(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the log-odds of `n_features` exchangeable features, in no order."""

    @abstractmethod
    def size_ordered(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the log-odds of the first `n_features` features in the measure's own order.

        The order is descending for completely random measures, and the (size-biased) order of
        stick-breaking for Dirichlet and Pitman-Yor weights.
        """

    @abstractmethod
    def atom_stream(self, rng: np.random.Generator) -> AtomStream:
        """Start a draw of the measure whose atoms are handed out on request."""


def checked_discount(discount: float, name: str, value: float, remedy: str) -> tuple[float, float]:
    """Return a discount in [0, 1), and a parameter that must be above minus the discount."""
    discount = checks.number("discount", discount)
    if not 0.0 <= discount < 1.0:
        raise InputError("discount", "must be at least 0 and below 1", discount, "Try 0.5.")
    value = checks.number(name, value)
    if not -discount < value < math.inf:
        rule = f"must be finite and above -discount = {-discount or 0.0:g}"
        raise InputError(name, rule, value, remedy)
    return discount, value


def no_weak_limit(discount: float) -> InputError:
    """Return the error for a weak limit that does not exist."""
    return InputError(
        "truncation",
        "must not be a WeakLimit: there is no weak limit for discount > 0",
        f"discount={discount:g}",
        "Use SizeOrdered or Certified.",
    )
