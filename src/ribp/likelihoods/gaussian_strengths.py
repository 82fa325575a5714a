"""Linear-Gaussian data whose entries have a strength: a note is loud in one row, soft in another.

    x_nd = b_d + sum_i z_ni s_ni A_id + s_d e_nd,

all else as in `ribp.likelihoods.linear_gaussian`. Strengths of entries that are on have one law:

- "around-one": s ~ N(1, tau^2), tau^2 ~ InvGamma(2, w/2), w = 1/4, tau > 0.001. Where tau is small
  features are on or off, so that tau tells whether that was right;
- "positive": the same given s > 0;
- "signed": s ~ N(0, 1). Its scale is that of the features. Rows cannot tell (s, A) from -(s, A).

What a row has is y = z s, zero where z is. Given y features and scales are drawn as with binary
rows. Two more updates:

- tau given the strengths, by a slice;
- the common scale of a feature's strengths, (s_.i, A_i) -> (c s_.i, A_i/c), which leaves the data
  as they are and would otherwise hardly move. It is made before rows are swept, which multiply what
  they have by c first (`factors`): sums over strengths are all that it needs to know of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import log_ndtr

from ribp import checks
from ribp.checks import FloatArray
from ribp.kernels import enumerate_strengths
from ribp.kernels import strength_moves as kernel
from ribp.kernels.enumerate_strengths import score_rows
from ribp.likelihoods.data import BoolArray, Data, Rows
from ribp.likelihoods.gaussian_settings import GaussianParameters
from ribp.likelihoods.likelihood import Ask, Asked, Likelihood, RowKernels
from ribp.likelihoods.linear_gaussian import LinearGaussian, Sums
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.row_sweeps import RowPrior, Work
from ribp.likelihoods.strength_sweeps import anneal_strengths, strength_sums, strength_work
from ribp.rng import kernel_seed

STRENGTH_LAWS = ("around-one", "signed", "positive")
LEAST_SQUARES = 0.25
"""w of the prior of tau."""


class StrengthParameters(NamedTuple):
    """Features and scales, and what is known of the strengths of rows."""

    features: FloatArray
    """A, shape (features, dims)."""
    background: FloatArray
    """b, shape (dims,); zero without a background."""
    noise_scale: FloatArray
    """s, shape (dims,)."""
    feature_scale: float
    """t with noise per dimension, a = t s with shared noise."""
    strength_scale: float
    """tau."""
    strengths: FloatArray
    """Of each feature how many rows have it, sum s and sum s^2, shape (3, features)."""
    factors: FloatArray
    """By which strengths in the rows are to be multiplied, shape (features,)."""


class SumsOfStrengths(NamedTuple):
    """`Sums` over rows whose entries have strengths."""

    pairs: FloatArray
    products: FloatArray
    squares: FloatArray
    number: FloatArray
    used: BoolArray
    strengths: FloatArray
    """Of each feature how many rows have it, sum s and sum s^2, shape (3, features)."""


@dataclass(frozen=True)
class GaussianStrengths(LinearGaussian):
    """The linear-Gaussian likelihood of entries with a strength; see `GaussianSettings`.

    Parameters
    ----------
    strength_law
        "around-one", "signed" or "positive".
    """

    strength_law: str = "around-one"

    parameters_type: ClassVar[type] = StrengthParameters
    integrates_features: ClassVar[bool] = False
    integrates_sizes: ClassVar[bool] = True
    entries: ClassVar[str] = "strengths"

    def __post_init__(self) -> None:
        checks.one_of("strength_law", self.strength_law, STRENGTH_LAWS)

    @classmethod
    def make(cls, asked: Asked, seen: Moments) -> Self:
        """Return the likelihood that users ask for, in the units of these columns."""
        made = super().make(asked, seen)
        return cls(**{**_settings(made), "strength_law": asked.strength_law})

    @property
    def description(self) -> str:  # type: ignore[override]
        """What users are told of the data."""
        return f"{super().description}, entries with a strength ({self.strength_law})"

    @property
    def mean_strength(self) -> float:
        """The number mu."""
        return 0.0 if self.strength_law == "signed" else 1.0

    @property
    def positive(self) -> bool:
        """Whether strengths must be positive."""
        return self.strength_law == "positive"

    @property
    def learns_scale(self) -> bool:
        """Whether tau is learned."""
        return self.strength_law != "signed"

    # Parameters

    def first_guess(self, data: Data, n_features: int) -> Any:
        """Return parameters of the size of the data."""
        return self._with_scale(super().first_guess(data, n_features), self._usual_scale)

    @property
    def _usual_scale(self) -> float:
        return math.sqrt(LEAST_SQUARES) / 2 if self.learns_scale else 1.0

    def _with_scale(self, given: GaussianParameters, tau: float) -> StrengthParameters:
        """Return parameters with a scale of strengths, of rows that are not known."""
        size = len(given.features)
        return StrengthParameters(*given, tau, np.zeros((3, size)), np.ones(size))

    def stored_scales(self) -> Mapping[str, tuple[str, ...]]:
        """Return which scales a result stores, and their dimensions."""
        own: dict[str, tuple[str, ...]] = {"strength_scale": ()} if self.learns_scale else {}
        return {**super().stored_scales(), **own}

    def recorded(self, parameters: Any) -> dict[str, Any]:
        """Return the scales of a draw."""
        own = {"strength_scale": float(parameters.strength_scale)} if self.learns_scale else {}
        return super().recorded(parameters) | own

    def read(self, features: FloatArray, background: FloatArray, scales: dict[str, Any]) -> Any:
        """Return the parameters of a draw that was stored."""
        noise = np.broadcast_to(scales["noise_scale"], background.shape)
        plain = GaussianParameters(features, background, noise, float(scales["feature_scale"]))
        return self._with_scale(plain, float(scales.get("strength_scale", 1.0)))

    def signs(self, parameters: Any) -> FloatArray:
        """Return the signs by which features that could as well be negative are reported.

        Those for which the sum of the cubes of A/s is positive.
        """
        if self.strength_law != "signed":
            return super().signs(parameters)
        cubes = ((parameters.features / parameters.noise_scale) ** 3).sum(axis=1)
        signs = np.where(cubes < 0.0, -1.0, 1.0)
        signs[: len(self.known)] = 1.0
        return signs

    def reported(self, parameters: Any) -> Any:
        """Return parameters in the units of the user, features with their sign."""
        signs = self.signs(parameters)
        return super().reported(parameters._replace(features=signs[:, None] * parameters.features))

    # Simulation

    def draw_prior(self, rng: np.random.Generator, n_features: int, dims: int) -> Any:
        """Draw scales, then features; no strengths yet."""
        tau = 1.0
        while self.learns_scale:
            tau = math.sqrt(0.5 * LEAST_SQUARES / rng.standard_gamma(2.0))
            if tau > kernel.LEAST_SCALE:
                break
        return self._with_scale(super().draw_prior(rng, n_features, dims), tau)

    def draw_sizes(self, rng: np.random.Generator, rows: Rows, parameters: Any) -> Any:
        """Return rows with strengths, drawn from their law."""
        sizes = np.zeros(rows.shape)
        on = rows != 0
        drawn = self._prior_strengths(rng, int(on.sum()), parameters.strength_scale)
        sizes[on] = drawn
        return sizes

    def _prior_strengths(self, rng: np.random.Generator, number: int, tau: float) -> FloatArray:
        drawn = rng.normal(self.mean_strength, tau, number)
        wrong = np.flatnonzero(drawn <= 0.0) if self.positive else np.zeros(0, np.int64)
        while wrong.size:
            drawn[wrong] = rng.normal(self.mean_strength, tau, wrong.size)
            wrong = wrong[drawn[wrong] <= 0.0]
        return drawn

    def of_rows(self, rows: Rows, parameters: Any) -> Any:
        """Return parameters that know the strengths of rows."""
        return parameters._replace(strengths=strength_sums(rows))

    # Rows and parameters given data

    def rescaled(self, rng: np.random.Generator, parameters: Any) -> Any:
        """Return parameters after a step of each feature's scale, which rows will follow."""
        spread = self.relative_scale(parameters) * parameters.noise_scale
        sizes = ((parameters.features / spread) ** 2).sum(axis=1)
        factors = kernel.draw_factors(
            kernel_seed(rng), self.mean_strength, parameters.strength_scale, parameters.strengths,
            sizes, spread.size, len(self.known),
        )  # fmt: skip
        return parameters._replace(features=parameters.features / factors[:, None], factors=factors)

    def row_work(self, seed: np.uint64, number: int, parameters: Any, prior: RowPrior) -> Work[Any]:
        """Return what a sweep does to a block of rows."""
        return strength_work(
            seed, number, parameters, prior, self.mean_strength,
            background=self.background, positive=self.positive,
        )  # fmt: skip

    def draw(self, rng: np.random.Generator, parameters: Any, sums: Any) -> Any:
        """Draw features and scales given the sums, then tau."""
        fresh: Any = super().draw(rng, parameters, sums)
        tau = parameters.strength_scale
        if self.learns_scale:
            number, total, squares = sums.strengths.sum(axis=1)
            around = max(squares - 2.0 * total + number, 0.0)
            tau = kernel.draw_scale(
                kernel_seed(rng), tau, number, around, LEAST_SQUARES, self.positive
            )
        ones = np.ones(len(fresh.features))
        return fresh._replace(strength_scale=tau, strengths=sums.strengths, factors=ones)

    def data_sums(self, data: Data, rows: Rows) -> Any:
        """Return sums over rows for the features in use, and the background as the last."""
        return SumsOfStrengths(*super().data_sums(data, rows), strength_sums(rows))

    def swept_sums(self, swept: Any, used: BoolArray, ask: Ask) -> Any:
        """Return the same from what a sweep has added up."""
        return SumsOfStrengths(*super().swept_sums(swept, used, ask), swept.strengths)

    # Weighing

    def log_weight(self, parameters: Any, sums: Any) -> float:
        """Return log p(X, scales, strengths | Z), the features integrated out."""
        plain = Sums(*sums[:5])
        return super().log_weight(parameters, plain) + self._strengths_log_density(
            parameters.strength_scale, sums.strengths
        )

    def _strengths_log_density(self, tau: float, strengths: FloatArray) -> float:
        """Return log p(s, log tau | z)."""
        value = self._log_law(tau, *strengths.sum(axis=1))
        if self.learns_scale:
            rate = 0.5 * LEAST_SQUARES
            value += math.log(2.0 * rate * rate) - 4.0 * math.log(tau) - rate / tau**2
        return value

    def _log_law(self, tau: float, number: float, total: float, squares: float) -> float:
        """Return log p(s | z, tau) of so many strengths with these sums."""
        mu = self.mean_strength
        around = squares - 2.0 * mu * total + mu * mu * number
        value = -0.5 * float(number * math.log(2.0 * math.pi * tau**2) + around / tau**2)
        return value - float(number * log_ndtr(mu / tau)) if self.positive else value

    def sizes_log_density(self, data: Data, rows: Rows, parameters: Any) -> float:
        """Return log p(s | x, z, parameters), from log p(x, s | z) and log p(x | z)."""
        kernels, z = self.row_kernels(data, parameters), (rows != 0).astype(np.int8)
        without, means = np.empty(len(rows)), np.empty(rows.shape)
        keys = np.arange(len(rows), dtype=np.uint64)
        score_rows(keys, kernels.values, kernels.observed, z, *kernels.features, without, means)
        made = np.where(kernels.observed, rows @ self.loadings(parameters), 0.0)
        given = float((made * (kernels.values - 0.5 * made)).sum())
        own = self._log_law(parameters.strength_scale, *strength_sums(rows).sum(axis=1))
        return given + own - float(without.sum())

    def linearised(self, data: Data) -> tuple[LinearGaussian, Data]:
        """Return the model whose entries are on or off, with data in units of the noise."""
        return LinearGaussian(**_settings(self)).linearised(data)

    # Rows

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for kernels that sum z and integrate strengths out."""
        plain = super().row_kernels(data, parameters)
        law = self.mean_strength, float(parameters.strength_scale), self.positive
        return plain._replace(
            features=(*plain.features, *law),
            enumerate=enumerate_strengths.strengths,
            anneal=anneal_strengths,
            sized=True,
        )

    redrawn = Likelihood.redrawn  # steps for rows that are on or off would not do


def _settings(given: LinearGaussian) -> dict[str, Any]:
    """Return the settings that models with and without strengths share."""
    return {field.name: getattr(given, field.name) for field in fields(LinearGaussian)}
