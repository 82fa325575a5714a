"""Rows of a table of kinds given its features: sweeps, and the posterior of new rows.

Rows are weighed directly (`ribp.kernels.sweep_kinds`). Whole rows are proposed from Gaussian data
that are about alike. With h the bend of the log-likelihood where a row has a share of every
feature, and eta there, a column has the working value

    y = eta + l'(x; eta)/h,         about N(b + z A, 1/h).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ribp.checks import FloatArray
from ribp.kernels import posterior_kinds
from ribp.kernels import sweep_kinds as kernel
from ribp.kernels.kind_terms import SQUARE, new_terms
from ribp.likelihoods.data import Data, Rows, exact_sums, shown
from ribp.likelihoods.kind_entries import KindEntryLaw
from ribp.likelihoods.likelihood import RowKernels
from ribp.likelihoods.row_sweeps import Laws, Linear, RowPrior, Work

_EVERY, _ROOM = 64, 600.0  # factors before a logarithm, and what their logarithms may add up to
_LEAST_BEND = 1e-3
_SHARE = 0.1  # of every feature: where rows are about linear, if nothing is known of them


class RowsOfKinds(KindEntryLaw):
    """Rows given features."""

    def row_work(
        self,
        seed: np.uint64,
        number: int,
        parameters: Any,
        prior: RowPrior,
        *,
        relocations: bool = True,
    ) -> Work[int]:
        """Return what a sweep does to a block of rows."""
        places, laws = self.places, Laws.of(prior, relocations=relocations)
        features, background, _, own = parameters
        latent = self._latent(features, background)
        bend = np.ones(places.n_latent)
        if prior.whole.any():
            bend = self._bend(parameters, laws.moments[0])
        linear = Linear.of(features, 1.0 / bend, laws)
        columns, nothing = places.columns(own), np.empty((0, 0))

        def work(first: int, data: Data, law_of_row: Any, rows: Rows) -> int:
            (values, observed, _), products = data, nothing
            if prior.whole.any():
                pseudo = self._working(data, parameters, laws.moments[0], bend)
                products = linear.products(*pseudo[:2], background)
            kernel.sweep(
                seed, number, first, products, places.numbers(values), observed,
                data.log_exposures, rows, columns, new_terms(len(self.columns)), latent,
                *laws[:3], law_of_row, laws.moves, linear.loadings, linear.diagonal,
                linear.guide, *laws.moments,
            )  # fmt: skip
            return 0

        return work

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for the compiled kernels."""
        features, background, _, own = parameters
        seen, latent = shown(data), self._latent(features, background)
        bend = self._bend(parameters, _SHARE)
        working = self._working(data, parameters, _SHARE, bend).values
        seen_latent = seen[:, self.places.column]
        around = np.where(seen_latent, (working - background) * np.sqrt(bend), 0.0)
        values = np.hstack([self.places.numbers(data.values), around])
        scaled = np.ascontiguousarray((features * np.sqrt(bend)).T)
        gram = scaled.T @ scaled
        diagonal = np.diag(gram).copy()
        at_zero = np.broadcast_to(background, (len(values), background.size))
        at_zero = self.exposed(at_zero, data.exposures)
        constants = exact_sums(self.log_density(data.values, at_zero, parameters), seen)
        return RowKernels(
            values, seen, constants,
            (
                self.places.columns(own), new_terms(len(self.columns)), latent, scaled,
                gram - np.diag(diagonal), diagonal,
            ),
            posterior_kinds.enumerate_all, posterior_kinds.anneal, own=(data.log_exposures,),
        )  # fmt: skip

    def _latent(self, features: FloatArray, background: FloatArray) -> kernel.Latent:
        """Return features as kernels want them: unordered levels less the first of them."""
        kinds = self.places.kinds
        features, background = (self._from_first(one) for one in (features, background))
        numbers = np.array([kind.form == SQUARE for kind in kinds])[self.places.column]
        largest = float(np.abs(features[:, ~numbers]).max(initial=0.0))
        every = _EVERY if largest * _EVERY <= _ROOM else int(_ROOM / largest)
        every = every if every >= 2 else 0  # kernels take two at a time
        loadings = np.ascontiguousarray(features.T)
        steps = np.where(numbers[:, None] | (every == 0), 0.0, loadings)
        growth = np.exp(np.concatenate([steps, -steps[::-1]]))
        both = np.stack([features, growth[: len(steps)].T])
        return kernel.Latent(both, loadings, growth, kernel.with_odds(background), every)

    def _from_first(self, numbers: FloatArray) -> FloatArray:
        """Return latent numbers, those of unordered levels less the first: rows see no more."""
        numbers = numbers.copy()
        for d in self.places.levels.tolist():
            at = self.places.latent(d)
            numbers[..., at] -= numbers[..., at.start, None]
        return numbers

    def working(self, data: Data, parameters: Any) -> tuple[Data, FloatArray]:
        """Return data for which rows are about linear and Gaussian, and variances of columns."""
        bend = self._bend(parameters, 0.0)
        return self._working(data, parameters, 0.0, bend), 1.0 / bend

    def beside_features(self, data: Data) -> FloatArray:
        """Return eta as a Newton step from the background has it; the background where missing."""
        given = self.first_guess(data, len(self.known))
        found = self.working(data, given)[0]
        return np.where(shown(found), found.values, given.background)

    def _bend(self, parameters: Any, share: float) -> FloatArray:
        """Return the bend of the log-likelihood where rows have a share of every feature."""
        eta = (parameters.background + share * parameters.features.sum(axis=0))[None, :]
        found = np.empty(self.places.n_latent)
        for d, column in enumerate(self.columns):
            at, own = self.places.latent(d), parameters.own[self.places.own(d)]
            found[at] = column.kind.information(eta[:, at], own)[0]
        return np.maximum(found, _LEAST_BEND)

    def _working(self, data: Data, parameters: Any, share: float, bend: FloatArray) -> Data:
        """Return eta + l'/bend there: a Newton step of each entry, its exposure left out again."""
        eta = parameters.background + share * parameters.features.sum(axis=0)
        wide = self.exposed(np.broadcast_to(eta, (len(data.values), eta.size)), data.exposures)
        found = np.empty(wide.shape)
        for d, column in enumerate(self.columns):
            at, own = self.places.latent(d), parameters.own[self.places.own(d)]
            slope = column.kind.slopes(data.values[:, d], wide[:, at], own)[0]
            there = bend[at]
            if column.kind.has_rate and data.exposures.size:
                there = np.maximum(column.kind.information(wide[:, at], own), _LEAST_BEND)
            found[:, at] = eta[at] + slope / there
        return Data(found, self.places.observed(data))
