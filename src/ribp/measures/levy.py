"""Completely random measures: a Poisson process of atoms, taken from the largest down.

The number of atoms of size above x is Poisson with mean N(x) = nu((x, inf)), the Levy tail. Hence
the atoms, in descending order, are N^{-1}(Gamma_1), N^{-1}(Gamma_2), ..., where
Gamma_1 < Gamma_2 < ... are the arrivals of a unit-rate Poisson process.

Stop at an atom t. The atoms left are a Poisson process with intensity nu on (0, t), and their total
odds T have mean

    E[T | t] = integral_0^t w(x) nu(dx) <= (w(t)/t) integral_0^t x nu(dx),

the last step whenever w(x)/x does not decrease, so for every convex w with w(0) = 0; it is an
equality for w proportional to x. T itself is a sum of odds below b = w(t), so by Bernstein's
inequality, with E = E[T | t],

    T <= E + sqrt(2 x b E) + x b / 3    except with probability exp(-x) = 1e-9.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.measures.measure import AtomStream, Measure, Odds


class CompletelyRandomMeasure(Measure):
    """A measure that is known through its Levy tail."""

    @abstractmethod
    def log_levy_tail(self, log_odds: ArrayLike) -> FloatArray:
        """Return log N: N is the expected number of atoms above the given log-odds."""

    @abstractmethod
    def log_expected_tail_odds(
        self, log_threshold: ArrayLike, odds: Odds | None = None
    ) -> FloatArray:
        """Return log E[T], or a bound above it, for the atoms below a threshold.

        Parameters
        ----------
        log_threshold : array_like
            The threshold t, carried as an atom is; +inf means all atoms.
        odds : callable, optional
            As in `AtomStream.log_expected_tail_odds`.
        """

    @abstractmethod
    def _invert_tail(self, arrivals: FloatArray) -> FloatArray: ...

    def inverse_levy_tail(self, arrivals: ArrayLike) -> FloatArray:
        """Return the log-odds where N equals each arrival: positive, finite, in any order."""
        arrivals = np.asarray(arrivals, dtype=np.float64)
        wrong = arrivals[~((arrivals > 0) & (arrivals < np.inf))]
        if wrong.size:
            raise InputError(
                "arrivals",
                "must be positive and finite",
                wrong.flat[0],
                "Pass cumulative sums of exponential variates.",
            )
        return self._invert_tail(arrivals)

    def size_ordered(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the log-odds of the `n_features` largest atoms, in descending order."""
        n_features = checks.integer("n_features", n_features, least=1)
        return self.atom_stream(rng).extend(n_features)

    def atom_stream(self, rng: np.random.Generator) -> AtomStream:
        """Start a draw of the measure whose atoms are handed out from the largest down."""
        return _ArrivalStream(checks.generator("rng", rng), self)


def convex_tail_bound(
    log_tail_size: FloatArray, log_size: FloatArray, log_odds: FloatArray
) -> FloatArray:
    """Return the logarithm of (w(t)/t) times the expected total size below t.

    Parameters
    ----------
    log_tail_size : array
        The logarithm of the integral of x nu(dx) over (0, t).
    log_size, log_odds : array
        log t and log w(t).
    """
    with np.errstate(invalid="ignore"):
        bound = log_tail_size + log_odds - log_size
    return np.where(np.isposinf(log_odds), np.inf, bound)


def log_upper_total(log_mean: float, log_largest: float) -> float:
    """Return the log of E + sqrt(2 x b E) + x b / 3 from those of E and b."""
    between = 0.5 * (math.log(2.0 * _EXPONENT) + log_largest + log_mean)
    largest = math.log(_EXPONENT / 3.0) + log_largest
    return float(np.logaddexp(np.logaddexp(log_mean, between), largest))


_EXPONENT = 9.0 * math.log(10.0)
_BATCH = 128  # inverting a few arrivals takes as long as inverting many


class _ArrivalStream(AtomStream):
    """Atoms by descending size; the same atoms, bit for bit, however they are asked for.

    They are made in batches and handed out as wanted: `_ahead` holds those that are made but not
    yet handed out.
    """

    def __init__(self, rng: np.random.Generator, measure: CompletelyRandomMeasure) -> None:
        self._rng = rng
        self._measure = measure
        self._arrival = 0.0
        self._ahead = np.empty(0)
        self._log_threshold = np.inf

    def extend(self, n_atoms: int) -> FloatArray:
        n_atoms = checks.integer("n_atoms", n_atoms, least=1)
        missing = n_atoms - self._ahead.size
        if missing > 0:
            gaps = self._rng.standard_exponential(-(-missing // _BATCH) * _BATCH)
            arrivals = np.cumsum(np.concatenate([[self._arrival], gaps]))[1:]
            self._arrival = float(arrivals[-1])
            new = self._measure.inverse_levy_tail(arrivals)
            self._ahead = np.concatenate([self._ahead, new])
        atoms, self._ahead = np.split(self._ahead, [n_atoms])
        atoms = np.minimum.accumulate(np.minimum(atoms, self._log_threshold))
        self._log_threshold = float(atoms[-1])
        return atoms

    def log_expected_tail_odds(self, odds: Odds | None = None) -> float:
        return float(self._measure.log_expected_tail_odds(self._log_threshold, odds))

    def log_upper_tail_odds(self, odds: Odds | None = None) -> float:
        least = np.array([self._log_threshold])
        largest = least if odds is None else odds(least)
        return log_upper_total(self.log_expected_tail_odds(odds), float(largest[0]))
