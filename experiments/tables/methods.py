"""The six methods: where each begins, one iteration, and the two scores.

The paper does not say where its methods began. Here all R-IBP methods of a run begin at the same
rows, found by the library's search (the better of two starts, which use the counts). On chords the
IBP methods begin where the same search ends if nothing is known of the counts: the better of two
starts for the variational methods, the best of three for Gibbs sampling. On texts such searches
have many features; there the variational IBP begins at an annealed mean field and Gibbs sampling of
the IBP with no features at all. Each start is made once and its seconds are counted in each method
that begins there.

Gibbs sampling of the IBP has no limit on features. Above 200 it is stopped and not scored.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from experiments.chains import MOST_FEATURES, no_features
from experiments.tables.cases import Case
from ribp.baselines import ibp_gibbs, ibp_variational
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.checks import FloatArray
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import BoolArray, Data
from ribp.likelihoods.validation import as_data
from ribp.model import Model, State
from ribp.recording import unpack_rows
from ribp.rng import kernel_seed
from ribp.rows.local import in_memory
from ribp.running.samplers import sampler
from ribp.search.following import best_start
from ribp.threads import one_blas_thread
from ribp.variational import hybrid, structured

METHODS = {
    "hybrid R-IBP": "hybrid",
    "hybrid IBP": "buffet-hybrid",
    "variational IBP": "buffet-variational",
    "Gibbs R-IBP": "gibbs",
    "Gibbs IBP": "buffet",
    "structured R-IBP": "structured",
}
NO_FEATURES = "no features"
NOISES = ("learned", "fixed", "by column")
FIXED_NOISE, FIXED_FEATURES = 0.5, 1.0
FAR = -10.0
_STARTS = 2
_BUFFET_STARTS = 3
_HOT, _COOL, _STEPS = 1.0, 0.1, 200  # noise of the annealed mean field, in units of the spread
_SHARE = 0.3  # of entries that are one where it begins
_DRAWN_WEIGHTS: Final = "sample"


class Task(NamedTuple):
    """Data with hidden entries, and the likelihood."""

    case: Case
    data: Data
    hidden: BoolArray
    likelihood: LinearGaussian
    seed: int


class Start(NamedTuple):
    """Where methods of a family begin, and what it took."""

    state: Any
    seconds: float


class Begun(NamedTuple):
    """A method where it begins: its state, what it took, and what makes sweeps of what rows."""

    state: Any
    seconds: float
    sampler: Any
    rows: Any


class Scores(NamedTuple):
    """What one run gave; log densities are means over entries."""

    training: float
    """NaN if it was stopped, and so are the next three."""
    held_out: float
    median: float
    """Of hidden entries: the mean rests on the worst of them."""
    far: float
    """Share of hidden entries below `FAR`."""
    features: float
    seconds: float


def task(case: Case, noise: str, seed: int) -> Task:
    """Hide entries of a set; noise is "learned", "fixed" or "by column"."""
    hidden = case.hidden(seed)
    data = as_data(np.where(hidden, np.nan, case.values))
    variance = float(case.values[~hidden].var())
    fixed, shared = noise == "fixed", noise != "by column"
    likelihood = LinearGaussian(
        shared=shared,
        background=case.background,
        noise_scale=FIXED_NOISE if fixed else None,
        feature_scale=FIXED_FEATURES if fixed else None,
        noise_variance=variance,
        feature_variance=variance if shared else 1.0,
    )
    return Task(case, data, hidden, likelihood, seed)


def columns_only(given: Task) -> float:
    """Return the held-out score of who knows only the mean and the spread of each column."""
    density = given.likelihood.column_log_density(given.data, given.case.values)
    return float(density[given.hidden].mean())


class Starts:
    """Starts of a task, each made when it is first needed."""

    def __init__(self, given: Task) -> None:
        self.task = given
        self._made: dict[str, Start] = {}

    def model(self, method: str) -> Any:
        """Return the model that a method is for."""
        case, likelihood = self.task.case, self.task.likelihood
        rows = len(case.k)
        if method == "Gibbs IBP":
            return BuffetModel(rows, likelihood, None, 1.0)
        if method in ("hybrid IBP", "variational IBP"):
            return FiniteBuffetModel(rows, case.max_features, likelihood, None, 1.0)
        return Model(case.counts, case.max_features, likelihood, None, 1.0)

    def _shared(self, method: str) -> Start:
        family = "R-IBP" if "R-IBP" in method else method.replace("hybrid", "variational")
        if family not in self._made:
            rng = np.random.default_rng([self.task.seed, 1])
            began, model = time.process_time(), self.model(method)
            if family == "R-IBP":
                found: Any = best_start(rng, model, self.task.data, _STARTS)
            elif family == "Gibbs IBP" and self.task.case.background:
                found = no_features(rng, model, self.task.data)
            elif family == "Gibbs IBP":
                found = ibp_gibbs.best_start(rng, model, self.task.data, _BUFFET_STARTS)
            elif self.task.case.background:
                found = _annealed(rng, model, self.task.data)
            else:
                state = best_start(rng, model, self.task.data, _STARTS)
                found = ibp_variational.from_rows(model, self.task.data, state.rows, state)
            self._made[family] = Start(found, time.process_time() - began)
        return self._made[family]

    def begin(self, rng: np.random.Generator, method: str) -> Begun:
        """Return the first state of a method's own kind."""
        (found, seconds), model, data = self._shared(method), self.model(method), self.task.data
        used: Any = sampler(METHODS[method], model)
        rows = used.rows(in_memory(data))
        if method.startswith("Gibbs"):
            return Begun(found, seconds, used, rows)
        if method == "hybrid R-IBP":
            q: Any = hybrid.from_rows(model, rows, found.rows, found)
            return Begun(used.drawn(rng, q, rows), seconds, used, rows)
        if method == "structured R-IBP":
            q = structured.from_rows(model, rows, found.rows, found)
            return Begun(used.drawn(rng, q, rows), seconds, used, rows)
        if method == "hybrid IBP":
            sizes = found.nu.sum(axis=0)
            q = ibp_variational.begin(
                model, data, found.nu, sizes, found.features, found.parameters, found.mass,
                _DRAWN_WEIGHTS,
            )  # fmt: skip
        else:
            q = found
        return Begun(used.drawn(rng, q, used.model), seconds, used, rows)


def _annealed(rng: np.random.Generator, model: FiniteBuffetModel, data: Data) -> Any:
    """Return a mean field from random rows, the noise lowered from the spread of the data."""
    likelihood, (n_rows, dims) = model.likelihood, data.values.shape
    spread, size = likelihood.spread(data), model.n_features
    held = replace(model, likelihood=replace(likelihood, noise_scale=1.0, feature_scale=1.0))
    rows = (rng.random((n_rows, size)) < _SHARE).astype(np.int8)
    given = likelihood.at_scales(size, dims, _HOT * spread, spread)
    laws = np.zeros((0, size + 1))
    first = State(rows, np.zeros(size), _SHARE * size, model.concentration, laws, given)
    q = ibp_variational.from_rows(held, data, rows, first)
    for share in np.geomspace(_HOT, _COOL, _STEPS):
        given = likelihood.at_scales(size, dims, share * spread, spread)
        q = ibp_variational.improve(q._replace(parameters=given), held, data, 1)
    noise, scale = likelihood.noise_scale, likelihood.feature_scale
    if noise is not None and scale is not None:
        given = likelihood.at_scales(size, dims, noise, scale)
    sizes = q.nu.sum(axis=0)
    return ibp_variational.begin(model, data, q.nu, sizes, q.features, given, q.mass, "beta")


def run(starts: Starts, method: str, n_iterations: int) -> Scores:
    """Run a method and score the second half of its draws."""
    rng = np.random.default_rng([starts.task.seed, 2])
    seed = kernel_seed(rng)
    case, hidden = starts.task.case, starts.task.hidden
    with one_blas_thread():
        state, seconds, used, rows = starts.begin(rng, method)
        held_out = np.full(int(hidden.sum()), -np.inf)
        training, features, n_kept = 0.0, 0.0, n_iterations - n_iterations // 2
        for at in range(n_iterations):
            began = time.process_time()
            state, (_, tally) = used.update(rng, seed, state, used.model, rows)
            seconds += time.process_time() - began
            if at >= n_iterations // 2:
                z = unpack_rows(used.packed(state, rows), tally.sizes.size)
                shown: Any = used.shown(state)
                log_density = entry_log_density(shown._replace(rows=z), case.values)
                np.logaddexp(held_out, log_density[hidden], out=held_out)
                training += float(log_density[~hidden].mean()) / n_kept
                features += np.count_nonzero(tally.sizes) / n_kept
            elif tally.sizes.size > MOST_FEATURES:
                nan = math.nan
                return Scores(nan, nan, nan, nan, tally.sizes.size, seconds)
    held_out -= math.log(n_kept)
    middle, far = float(np.median(held_out)), float((held_out < FAR).mean())
    return Scores(training, float(held_out.mean()), middle, far, features, seconds)


def entry_log_density(state: State, values: FloatArray) -> FloatArray:
    """Return log p(x | Z, A, noise) of each entry, shape (rows, dims)."""
    given = state.parameters
    error = values - state.rows.astype(np.float64) @ given.features - given.background
    scale = np.broadcast_to(given.noise_scale, values.shape[1:])
    return np.asarray(-0.5 * (error / scale) ** 2 - np.log(scale * math.sqrt(2.0 * math.pi)))
