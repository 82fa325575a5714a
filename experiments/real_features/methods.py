"""Who looks for features: R-IBP with counts known, IBP, other models, and chance.

Everybody but the IBP, which has no limit, has as many features as there are true ones; "twice the
features" has twice as many. A row gets the k_n features that are most active in it: for the R-IBP
those that are on in most draws. Factors have a sign that means nothing: each is turned so that its
loadings add up to more than zero. The IBP gets its features as it gives them, on in more than half
of the draws, and in a second line the k_n most active ones: counts that are used only afterwards.
It begins at the best of three short chains; where there is a background, with no features at all,
and it is stopped and not scored above 200.

NMF and dictionary learning are those of scikit-learn, as is factor analysis; the others are in
`experiments.rivals`. "Then pursuit": a row has the k_n directions of the NMF that orthogonal
matching pursuit takes, codes not negative. K-SVD learns its directions by such pursuits, from the
data as they are: with columns less their mean, or codes that may be negative, it found less.
MOFA+ (Gaussian, of the data as they are, since it centres columns itself) needs an interpreter that
has it. Logistic PCA has intercepts, gets zeros and ones only, and its penalty is the one of two
that predicts a tenth of the entries best. Factors of both are rotated (varimax), as those of factor
analysis are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF, FactorAnalysis, MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning

from experiments.chains import MOST_FEATURES, Found, chain, largest, no_features
from experiments.real_features.cases import Case
from experiments.rivals import masked, mofa
from experiments.rivals.pursuit import ksvd, pursuit
from experiments.rivals.turned import turned
from ribp.baselines import ibp_gibbs
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.checks import FloatArray
from ribp.counts import as_row_counts
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import Rows
from ribp.likelihoods.validation import as_data
from ribp.model import Model
from ribp.recording import unpack_rows
from ribp.rng import kernel_seed
from ribp.rows.local import in_memory
from ribp.threads import one_blas_thread
from ribp.variational import structured
from ribp.variational.structured_rows import layout

_BUFFET_STARTS = 3
_STRUCTURED = 0.3  # iterations of the variational method, for each sweep of a chain


class Answer(NamedTuple):
    """Rows that were found, by the name of who found them, and seconds of the processor."""

    rows: dict[str, Rows]
    seconds: float
    stopped: int | None = None
    """The number of features at which it was stopped."""


Method = Callable[[Case, int, int], Answer]


def _model(case: Case, n_features: int, *, poisson: bool = False) -> Model:
    counts = as_row_counts(case.k, len(case.rows))
    if poisson:
        assert case.word_counts is not None
        mean = float(case.word_counts.mean())
        return Model(counts, n_features, PoissonCounts(background=True, prior_mean=mean))
    return Model(counts, n_features, _gaussian(case))


def _gaussian(case: Case, *, shared: bool = False) -> LinearGaussian:
    """Return noise of its own for every column, the library's default, or one for all."""
    variance = float(case.data.var())
    return LinearGaussian(
        shared=shared,
        background=case.background,
        noise_variance=variance,
        feature_variance=variance if shared else 1.0,
    )


def _run(case: Case, seed: int, n_sweeps: int, times: int) -> tuple[Model, Found]:
    model = _model(case, times * case.rows.shape[1])
    return model, chain(seed, model, as_data(case.data), n_sweeps)


def restricted(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Gibbs sampling, and the structured variational method from the same start."""
    model, found = _run(case, seed, n_sweeps, 1)
    began, rng, data = time.process_time(), np.random.default_rng(seed), as_data(case.data)
    with one_blas_thread():
        here = in_memory(data).rows(layout(model), model.counts.law_of_row)
        q = structured.from_rows(model, here, found.start.rows, found.start)
        for _ in range(max(2, int(_STRUCTURED * n_sweeps))):
            q, _ = structured.update(kernel_seed(rng), q, model, here)
        drawn = []
        for _ in range(50):
            structured.drawn_rows(kernel_seed(rng), q, model, here)
            drawn.append(unpack_rows(here.packed(), model.n_features))
    rows = {
        "R-IBP, Gibbs": largest(found.row_probs, case.k),
        "R-IBP, structured": largest(np.mean(drawn, axis=0), case.k),
    }
    return Answer(rows, found.seconds + time.process_time() - began)


def twice(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Gibbs sampling with twice as many features as there are."""
    _, found = _run(case, seed, n_sweeps, 2)
    return Answer({"R-IBP, twice the features": largest(found.row_probs, case.k)}, found.seconds)


def shared(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Gibbs sampling with one noise scale for all columns, as in the paper."""
    counts = as_row_counts(case.k, len(case.rows))
    model = Model(counts, case.rows.shape[1], _gaussian(case, shared=True))
    found = chain(seed, model, as_data(case.data), n_sweeps)
    return Answer({"R-IBP, one noise": largest(found.row_probs, case.k)}, found.seconds)


def poisson(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Sample with the Poisson likelihood, features kept (`gibbs-rows`)."""
    if case.word_counts is None:
        return Answer({}, 0.0)
    model = _model(case, case.rows.shape[1], poisson=True)
    found = chain(seed, model, as_data(case.word_counts), n_sweeps)
    return Answer({"R-IBP, Poisson": largest(found.row_probs, case.k)}, found.seconds)


def buffet(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Gibbs sampling of the unrestricted buffet."""
    began, rng, data = time.process_time(), np.random.default_rng(seed), as_data(case.data)
    model = BuffetModel(len(case.rows), _gaussian(case), None, 1.0)
    with one_blas_thread():
        if case.background:
            state = no_features(rng, model, data)
        else:
            state = ibp_gibbs.best_start(rng, model, data, _BUFFET_STARTS)
        key, kept = kernel_seed(rng), []
        for at in range(n_sweeps):
            state = ibp_gibbs.update(rng, key, state, model, data)
            if state.rows.shape[1] > MOST_FEATURES:
                return Answer({}, time.process_time() - began, state.rows.shape[1])
            if at >= n_sweeps // 2:
                kept.append(state.rows)
    probs = _aligned_mean(kept)
    rows = {
        "IBP, Gibbs": (probs > 0.5).astype(np.int8),
        "IBP, Gibbs, k largest": largest(probs, case.k),
    }
    return Answer(rows, time.process_time() - began)


def _aligned_mean(draws: list[Rows]) -> FloatArray:
    """Return the mean over draws of features that come and go, matched to those of the last."""
    last = draws[-1].astype(np.float64)
    total = np.zeros(last.shape)
    for rows in draws:
        z = rows.astype(np.float64)
        to, at = linear_sum_assignment(-(last.T @ z))
        total[:, to] += z[:, at]
    return total / len(draws)


def nmf(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Non-negative matrix factorisation; features of unit length."""
    return sklearn_rows("NMF", _nmf(case, seed, 1), case.positive, case)


def _nmf(case: Case, seed: int, times: int) -> NMF:
    n_features = min(times * case.rows.shape[1], *case.data.shape)  # as its start needs
    return NMF(n_features, init="nndsvdar", random_state=seed, max_iter=500)


def pursued(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Take rows of the directions of NMF by pursuit."""
    model = _nmf(case, seed, 1)
    return _then_pursuit("NMF", model, sklearn_rows("NMF", model, case.positive, case), case)


def nmf_twice(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Give NMF twice as many features as there are, with and without pursuit."""
    name, model = "NMF, twice the features", _nmf(case, seed, 2)
    found = sklearn_rows(name, model, case.positive, case)
    after = _then_pursuit(name, model, found, case)
    return Answer(found.rows | after.rows, after.seconds)


def _then_pursuit(name: str, model: NMF, found: Answer, case: Case) -> Answer:
    began, sizes = time.process_time(), np.linalg.norm(model.components_, axis=1)
    directions = model.components_[sizes > 0.0] / sizes[sizes > 0.0, None]
    codes = pursuit(case.positive, directions, case.k)
    seconds = found.seconds + time.process_time() - began
    return Answer({f"{name}, then pursuit": largest(codes, case.k)}, seconds)


def learned(name: str, times: int, case: Case, seed: int, n_sweeps: int) -> Answer:
    """K-SVD, which uses the counts all the way."""
    began, number = time.process_time(), times * case.rows.shape[1]
    with one_blas_thread():
        codes, _ = ksvd(case.data, number, case.k, seed)
    return Answer({name: largest(codes, case.k)}, time.process_time() - began)


def logistic(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Logistic PCA of zeros and ones, rotated."""
    if case.word_counts is None or not case.binary:
        return Answer({}, 0.0)
    began, words, shown = time.process_time(), case.word_counts, np.ones(case.data.shape, bool)
    settings = [(case.rows.shape[1], penalty) for penalty in masked.PENALTIES]
    with one_blas_thread():
        best = masked.best_setting(masked.logistic_pca, settings, words, ~shown, seed)
        scores, weights = masked.logistic_factors(words, shown, best)
    rows = _of_factors(scores[:, 1:], weights[:, 1:], case)
    return Answer({"logistic PCA": rows}, time.process_time() - began)


def other_factors(python: Path, case: Case, seed: int, n_sweeps: int) -> Answer:
    """MOFA+, rotated; seconds are those of the clock."""
    began = time.perf_counter()
    found = mofa.factors(python, case.data, "gaussian", case.rows.shape[1], seed)
    rows = _of_factors(found.scores, found.weights, case)
    return Answer({"MOFA+": rows}, time.perf_counter() - began)


def _of_factors(scores: FloatArray, weights: FloatArray, case: Case) -> Rows:
    scores, weights = turned(scores, weights)
    return largest(scores * np.linalg.norm(weights, axis=0), case.k)


def dictionary(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Learn a dictionary with codes that are not negative."""
    x = case.positive if case.data.min() >= 0 else case.data
    model = MiniBatchDictionaryLearning(
        case.rows.shape[1], alpha=0.5, max_iter=100, batch_size=64, fit_algorithm="cd",
        transform_algorithm="lasso_cd", transform_alpha=0.1, positive_code=True,
        random_state=seed,
    )  # fmt: skip
    centred = x - x.mean(axis=0) if case.background else x
    return sklearn_rows("dictionary learning", model, centred, case)


def factors(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Factor analysis, rotated (varimax)."""
    model = FactorAnalysis(case.rows.shape[1], rotation="varimax", random_state=seed)
    return sklearn_rows("factor analysis", model, case.data, case)


def sklearn_rows(name: str, model: Any, x: FloatArray, case: Case) -> Answer:
    """Return the k features of each row that are most active, of unit length."""
    began = time.process_time()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        codes = model.fit_transform(x)
        codes = codes * np.linalg.norm(model.components_, axis=1)
    if name == "factor analysis":
        codes = codes * np.where(model.components_.sum(axis=1) < 0, -1.0, 1.0)
    return Answer({name: largest(codes, case.k)}, time.process_time() - began)


def chance(case: Case, seed: int, n_sweeps: int) -> Answer:
    """Rows at random that have the right counts."""
    scores = np.random.default_rng(seed).random(case.rows.shape)
    return Answer({"chance": largest(scores, case.k)}, 0.0)


METHODS: dict[str, Method] = {
    "chance": chance,
    "nmf": nmf,
    "nmf pursued": pursued,
    "nmf twice": nmf_twice,
    "ksvd": partial(learned, "K-SVD", 1),
    "ksvd twice": partial(learned, "K-SVD, twice the features", 2),
    "logistic": logistic,
    "dictionary": dictionary,
    "factors": factors,
    "restricted": restricted,
    "shared": shared,
    "poisson": poisson,
    "buffet": buffet,
    "twice": twice,
}
MOFA = "mofa"


def methods(others: Path | None) -> dict[str, Method]:
    """Return all, and MOFA+ if there is an interpreter that has it."""
    return METHODS if others is None else METHODS | {MOFA: partial(other_factors, others)}
