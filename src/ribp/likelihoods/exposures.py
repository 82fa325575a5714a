"""Exposures of rows: by what the rates of a row are multiplied, known or learned.

    x_nd ~ Poisson(r_n rate_nd),      r_n ~ Gamma(a, rate a), a = 2, if it is learned.

Long texts have more words, long visits more events: r_n is their length, or what stands for it, in
units of its mean (`PoissonCounts.exposure_unit`).
Given everything else it is a gamma variate,

    r_n ~ Gamma(a + sum_d x_nd, rate a + sum_d rate_nd),        sums over observed columns.

It belongs to no state: every sweep begins with a draw of it (and of its scale against that of the
strengths of the row, if there are any: `ribp.kernels.exposure_moves`). Integrated out, a row has
the density

    a^a Gamma(a + n)/(Gamma(a) (a + L)^{a + n}) prod_d rate_d^{x_d}/x_d!,

n = sum_d x_d and L = sum_d rate_d.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.kernels import exposure_moves as kernel
from ribp.likelihoods.data import ALL_ALIKE, BoolArray, Data, Rows, shown

MODES = ("one", "given", "learn")
"""What a fit knows of exposures: that there are none, their numbers, or nothing."""
SHAPE = 2.0
"""The number a."""
_APART = np.uint64(0x9E3779B97F4A7C15)  # keys of exposures, apart from those of rows
_RESCALED = np.uint64(0xC2B2AE3D27D4EB4F)  # keys of their scales
_LEAST, _MOST = 1e-100, 1e100


Exposure = ArrayLike | Literal["learn"] | None
"""As users say it: a positive number a row, to learn them, or nothing."""


def mode_of(given: Any) -> str:
    """Return what is known of exposures, as a likelihood has it."""
    if given is None:
        return "one"
    return "learn" if isinstance(given, str) and given == "learn" else "given"


def checked(given: Any, n_rows: int) -> FloatArray:
    """Return exposures as an array, or raise an `InputError`."""
    try:
        exposures = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        exposures = np.zeros(0)
    rule = f'must be a positive number for each of the {n_rows} rows, or "learn" in a fit'
    if exposures.shape != (n_rows,):
        told = repr(given) if isinstance(given, str) else f"shape {exposures.shape}"
        raise InputError("exposure", rule, told, "Pass one number a row, such as its length.")
    wrong = np.flatnonzero(~((exposures >= _LEAST) & (exposures <= _MOST)))
    if wrong.size:
        raise InputError(
            "exposure",
            rule,
            f"{exposures[wrong[0]]} in row {wrong[0]}",
            "Correct it, or leave out the row.",
        )
    return exposures


def in_unit_of(likelihood: Any, given: FloatArray) -> Any:
    """Return a likelihood that knows the mean of exposures."""
    return replace(likelihood, exposure_unit=float(given.mean()))


def check_store(mode: str, given: FloatArray) -> None:
    """Raise an `InputError` unless data have exposures if and only if the likelihood knows it."""
    if (mode == "given") != bool(given.size):
        raise InputError(
            "exposure",
            'must be "given" in the likelihood if and only if data have exposures',
            f'"{mode}" with {given.size} exposures',
            "Pass exposure= to `fit` of an estimator.",
        )


def of_new_rows(likelihood: Any, given: Any, n_rows: int) -> FloatArray:
    """Return exposures of rows that were not fitted, in units of the fit; (0,) without any."""
    mode = likelihood.exposure
    if mode == "given":
        if given is None:
            raise InputError(
                "exposure",
                "must be given for these rows, as it was in the fit",
                None,
                "Pass one positive number a row; on the command line --exposure column:NAME.",
            )
        return checked(given, n_rows) / float(likelihood.exposure_unit)
    if given is not None:
        why = "learned" if mode == "learn" else "left out"
        raise InputError(
            "exposure",
            f"must be left out where it was {why} in the fit",
            f"{type(given).__name__}",
            "Leave it out, or fit with exposure=, one positive number a row.",
        )
    return ALL_ALIKE


def drawn(
    seed: np.uint64,
    number: int,
    first: int,
    data: Data,
    rows: Rows,
    loadings: FloatArray,
    offset: FloatArray,
) -> FloatArray:
    """Draw the exposures of a block of rows; `loadings` are A', shape (dims, features)."""
    out = np.empty(len(rows))
    kernel.draw_exposures(
        seed ^ _APART, number, first, data.values, data.observed, rows, loadings, offset,
        SHAPE, SHAPE, out,
    )  # fmt: skip
    return out


def drawn_with_strengths(
    seed: np.uint64,
    number: int,
    first: int,
    data: Data,
    rows: Any,
    loadings: FloatArray,
    offset: FloatArray,
    shape: float,
) -> FloatArray:
    """Draw the same where entries have strengths, and change these along their common scale."""
    out = drawn(seed, number, first, data, rows, loadings, offset)
    kernel.rescale(
        seed ^ _RESCALED, number, first, data.values, data.observed, rows, loadings, offset,
        shape, SHAPE, out,
    )  # fmt: skip
    return out


def log_integrated(values: FloatArray, observed: BoolArray, rates: FloatArray) -> FloatArray:
    """Return log p(x_n) of rows with these rates, exposures integrated out, shape (rows,)."""
    each = np.where(observed, xlogy(values, rates) - gammaln(values + 1.0), 0.0).sum(axis=1)
    counts = SHAPE + np.where(observed, values, 0.0).sum(axis=1)
    total = SHAPE + np.where(observed, rates, 0.0).sum(axis=1)
    constant = SHAPE * math.log(SHAPE) - math.lgamma(SHAPE)
    return np.asarray(each + constant + gammaln(counts) - counts * np.log(total))


def typical(data: Data, rates: FloatArray) -> FloatArray:
    """Return the means of learned exposures given rates, shape (rows,)."""
    counts, total = (np.where(shown(data), one, 0.0).sum(axis=1) for one in (data.values, rates))
    return np.asarray((SHAPE + counts) / (SHAPE + total))


def about(data: Data, *, learn: bool) -> FloatArray:
    """Return exposures of about the right size: those given, or row totals over their mean."""
    if not learn:
        return data.each_exposure
    number = shown(data).mean(axis=1)
    totals = np.where(number > 0.0, data.values.sum(axis=1) / np.where(number > 0.0, number, 1), 0)
    mean = float(totals.mean()) if totals.size else 1.0
    return np.maximum(totals / (mean or 1.0), 0.1)
