"""The staged start: rows that obey their laws, the same for the same seed, near the truth."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linear_sum_assignment

from ribp import counts
from ribp.datasets import load_chords, scaled
from ribp.kernels import rows_collapsed as kernel
from ribp.mcmc import gaussian, gibbs
from ribp.mcmc.staged_start import staged_rows


def model_for(row_counts, features):
    return gibbs.GibbsModel(row_counts, features, 1.0, gaussian.GaussianPriors(1.0, 1.0, False))


def f1_score(found, truth):
    """Return F1 of the entries, columns matched one to one by their own F1."""
    both = found.T.astype(float) @ truth
    sizes = found.sum(axis=0)[:, None] + truth.sum(axis=0)
    match = linear_sum_assignment(-both / np.maximum(sizes, 1))
    return 2 * both[match].sum() / (found.sum() + truth.sum())


def test_marginal_likelihood_is_the_dense_one():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (6, 3)).astype(float)
    data = rng.normal(size=(6, 2))
    law = stats.multivariate_normal(np.zeros(6), np.eye(6) + 1.7**2 * rows @ rows.T)
    assert gaussian.log_marginal(data, rows, 1.7) == pytest.approx(law.logpdf(data.T).sum())


def test_filling_reaches_the_counts_and_keeps_the_summary():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(7, 4))
    rows = np.zeros((7, 5), np.int8)
    rows[0, 2] = rows[1, 4] = 1
    wanted = np.array([1, 3, 0, 2, 5, 1, 2])
    summary = gaussian.summarise(data, rows.astype(float), 1.3)
    kernel.fill(np.uint64(3), 0, data, rows, wanted, *summary, np.zeros(5))
    np.testing.assert_array_equal(rows.sum(axis=1), wanted)
    assert rows[0, 2] == rows[1, 4] == 1  # ones that were there stay
    for kept, truth in zip(summary, gaussian.summarise(data, rows.astype(float), 1.3), strict=True):
        np.testing.assert_allclose(kept, truth, atol=1e-10)


@pytest.mark.jit
def test_rows_obey_their_laws_and_repeat():
    rng = np.random.default_rng(2)
    data = rng.normal(size=(40, 6))
    laws = counts.by_group({"a": counts.exactly(2), "b": counts.uniform(1, 3)}, list("ab") * 20)
    rows = staged_rows(data, model_for(laws, 8), np.uint64(5))
    ones = rows.sum(axis=1)
    assert (ones[::2] == 2).all()
    assert set(ones[1::2].tolist()) <= {1, 2, 3}
    np.testing.assert_array_equal(rows, staged_rows(data, model_for(laws, 8), np.uint64(5)))
    assert (rows != staged_rows(data, model_for(laws, 8), np.uint64(6))).any()


@pytest.mark.jit
def test_chords_are_found_from_their_counts():
    chords = load_chords()
    data = scaled(chords.spectra)
    right = counts.as_row_counts(chords.counts, len(data))
    found = [
        f1_score(staged_rows(data, model_for(right, 24), np.uint64(seed)), chords.notes)
        for seed in range(3)
    ]
    assert min(found) > 0.9
    # Told that every row has two notes, it finds far less: the counts are what helps.
    wrong = counts.as_row_counts(np.full(len(data), 2), len(data))
    two = staged_rows(data, model_for(wrong, 24), np.uint64(0))
    assert f1_score(two, chords.notes) < min(found) - 0.1
