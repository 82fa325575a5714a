"""Counts whose entries have a strength: a topic is much of one text, little of another.

    x_nd ~ Poisson(r_n (b_d + sum_i z_ni s_ni A_id)),    s_ni ~ Gamma(a, rate a),    tau = a^{-1/2},

all else as in `ribp.likelihoods.poisson`. Strengths are positive and one on average, with the
standard deviation tau: where it is small features are on or off. Its prior is that of Gaussian
strengths, tau^2 ~ InvGamma(2, w/2), w = 1/4, with a > 1.01.

What a row has is y = z s, zero where z is. Given y counts are split, and features drawn, as with
binary rows. Two more updates:

- a given the strengths, by a slice. Strengths that all are one come from a search for binary rows,
  and say nothing of a;
- the common scale of a feature's strengths, (s_.i, A_i) -> (c s_.i, A_i/c), which leaves the rates
  as they are. It is made before rows are swept, which multiply what they have by c (`factors`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaincc, gammaln

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.kernels import strength_moves as kernel
from ribp.kernels.anneal_poisson_strengths import poisson_strengths
from ribp.likelihoods import exposures
from ribp.likelihoods.data import Data, Rows, exact_sums, in_use, shown
from ribp.likelihoods.gaussian_strengths import LEAST_SQUARES
from ribp.likelihoods.likelihood import Asked, RowKernels
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.poisson import PoissonCounts, PoissonParameters, SplitCounts
from ribp.likelihoods.poisson_sweeps import (
    StrengthSplits,
    log_strength_sums,
    poisson_strength_work,
    split_poisson,
)
from ribp.likelihoods.row_sweeps import RowPrior, Work
from ribp.rng import kernel_seed

_USUAL_SCALE = 0.25
_SPREAD = 1e-12  # of strengths, for each of them, below which they are taken as equal
_PARTICLES, _STEPS = 2, 4  # a sweep costs more than others: so many times fewer are taken


class PoissonStrengthParameters(NamedTuple):
    """Features and scales, and what is known of the strengths of rows."""

    features: FloatArray
    """A, shape (features, dims)."""
    background: FloatArray
    """b, shape (dims,); zero without a background."""
    feature_scale: float
    """m, the prior mean of an entry of A."""
    strength_scale: float
    """tau."""
    strengths: FloatArray
    """Of each feature how many rows have it, sum s and sum log s, shape (3, features)."""
    factors: FloatArray
    """By which strengths in the rows are to be multiplied, shape (features,)."""


@dataclass(frozen=True)
class PoissonStrengths(PoissonCounts):
    """The Poisson likelihood of entries with a gamma strength; see `PoissonCounts`."""

    parameters_type: ClassVar[type] = PoissonStrengthParameters
    entries: ClassVar[str] = "strengths"

    @classmethod
    def make(cls, asked: Asked, seen: Moments) -> Self:
        """Return the likelihood that users ask for."""
        if asked.strength_law != "around-one":
            raise InputError(
                "strength_law",
                'must be left alone with likelihood="poisson": strengths are gamma variates with '
                "mean one",
                asked.strength_law,
                "Leave it out.",
            )
        return super().make(asked, seen)

    @property
    def description(self) -> str:  # type: ignore[override]
        """What users are told of the data."""
        return f"{super().description}, entries with a strength (gamma)"

    # Parameters

    def first_guess(self, data: Data, n_features: int) -> Any:
        """Return parameters of the size of the data."""
        return _with_scale(super().first_guess(data, n_features), _USUAL_SCALE)

    def stored_scales(self) -> Mapping[str, tuple[str, ...]]:
        """Return which scales a result stores, and their dimensions."""
        return {**super().stored_scales(), "strength_scale": ()}

    def read(self, features: FloatArray, background: FloatArray, scales: dict[str, Any]) -> Any:
        """Return the parameters of a draw that was stored."""
        plain = PoissonParameters(features, background, float(scales["feature_scale"]))
        return _with_scale(plain, float(scales["strength_scale"]))

    # Simulation

    def draw_prior(self, rng: np.random.Generator, n_features: int, dims: int) -> Any:
        """Draw scales, then features; no strengths yet."""
        shape = 0.0
        while shape <= kernel.LEAST_SHAPE:
            shape = rng.gamma(2.0, 2.0 / LEAST_SQUARES)
        return _with_scale(super().draw_prior(rng, n_features, dims), shape**-0.5)

    def draw_sizes(self, rng: np.random.Generator, rows: Rows, parameters: Any) -> Any:
        """Return rows with strengths, drawn from their law."""
        shape, sizes, on = parameters.strength_scale**-2, np.zeros(rows.shape), rows != 0
        sizes[on] = np.maximum(rng.gamma(shape, 1.0 / shape, int(on.sum())), 1e-300)
        return sizes

    def of_rows(self, rows: Rows, parameters: Any) -> Any:
        """Return parameters that know the strengths of rows."""
        return parameters._replace(strengths=log_strength_sums(rows))

    # Rows and parameters given data

    def rescaled(self, rng: np.random.Generator, parameters: Any) -> Any:
        """Return parameters after a step of each feature's scale, which rows will follow."""
        features, rate = parameters.features, self.shape / parameters.feature_scale
        factors = kernel.draw_gamma_factors(
            kernel_seed(rng), parameters.strength_scale**-2, parameters.strengths,
            rate * features.sum(axis=1), self.shape, features.shape[1], len(self.known),
        )  # fmt: skip
        return parameters._replace(features=features / factors[:, None], factors=factors)

    def row_work(self, seed: np.uint64, number: int, parameters: Any, prior: RowPrior) -> Work[Any]:
        """Return what a sweep does to a block of rows."""
        return poisson_strength_work(seed, number, parameters, prior, learn=self.learns_exposure)

    def sums(self, rng: np.random.Generator, data: Data, rows: Rows, parameters: Any) -> Any:
        """Draw how counts split, and add up strengths."""
        split = split_poisson(
            kernel_seed(rng), data, rows, parameters.features, parameters.background,
            learn=self.learns_exposure,
        )  # fmt: skip
        return SplitCounts(StrengthSplits(*split, log_strength_sums(rows)), in_use(rows))

    def draw(self, rng: np.random.Generator, parameters: Any, sums: Any) -> Any:
        """Draw features and their mean given how counts split, then the shape of strengths."""
        fresh = _with_scale(super().draw(rng, parameters, sums), parameters.strength_scale)
        strengths = sums.splits.strengths
        number, total, logs = strengths.sum(axis=1)
        if number == 0.0 or total - logs - number > _SPREAD * number:
            shape = kernel.draw_shape(
                kernel_seed(rng), parameters.strength_scale**-2, number, total, logs, LEAST_SQUARES
            )
            fresh = fresh._replace(strength_scale=shape**-0.5)
        return fresh._replace(strengths=strengths)

    # Weighing

    def log_joint(self, data: Data, rows: Rows, parameters: Any) -> float:
        """Return log p(X, A, m, s, log a | Z), features that no row has integrated out."""
        value = super().log_joint(data, rows, parameters)
        return value + _strengths_log_density(parameters, log_strength_sums(rows))

    def log_weight(self, parameters: Any, sums: Any) -> float:
        """Return log p(A, m, s, log a | Z): the rest is `log_terms`."""
        value = super().log_weight(parameters, sums)
        return value + _strengths_log_density(parameters, sums.splits.strengths)

    # Rows

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for annealing, which integrates strengths and exposures out."""
        seen, own = shown(data), data.each_exposure
        terms = -gammaln(data.values + 1.0)
        if not self.learns_exposure:
            terms += data.values * np.log(own)[:, None] - np.outer(own, parameters.background)
        loadings = np.ascontiguousarray(parameters.features.T)
        laws = parameters.strength_scale**-2, exposures.SHAPE if self.learns_exposure else 0.0
        return RowKernels(
            data.values, seen, exact_sums(terms, seen), (loadings, parameters.background, *laws),
            None, _anneal, sized=True, own=(own,),
        )  # fmt: skip


def _with_scale(given: Any, tau: float) -> PoissonStrengthParameters:
    """Return parameters with a scale of strengths, of rows that are not known."""
    size = len(given.features)
    nothing, ones = np.zeros((3, size)), np.ones(size)
    return PoissonStrengthParameters(
        given.features, given.background, given.feature_scale, tau, nothing, ones
    )


def _strengths_log_density(parameters: Any, strengths: FloatArray) -> float:
    """Return log p(s, log a | z)."""
    a, rate = parameters.strength_scale**-2, 0.5 * LEAST_SQUARES
    number, total, logs = strengths.sum(axis=1)
    value = number * (a * math.log(a) - math.lgamma(a)) + (a - 1.0) * logs - a * total
    above = float(gammaincc(2.0, rate * kernel.LEAST_SHAPE))
    return float(value + 2.0 * math.log(rate * a) - rate * a - math.log(above))


def _anneal(seeds: Any, n_particles: int, n_steps: int, *given: Any) -> None:
    """Sum z out and integrate strengths by annealing, with fewer particles and steps."""
    poisson_strengths(seeds, max(n_particles // _PARTICLES, 2), max(n_steps // _STEPS, 1), *given)
