"""Laws and data for tests of searches."""

import numpy as np

from ribp import counts

LAWS = {
    "groups": counts.by_group({"a": counts.exactly(2), "b": counts.uniform(0, 2)}, list("ab") * 20),
    "one group": counts.as_row_counts(counts.exactly(2), 40),
    "gap": counts.as_row_counts(counts.table([0, 0.5, 0, 0.5]), 40),
    "wide": counts.as_row_counts(counts.learned([1, 1, 0, 1, 1, 1]), 40),
    "wide groups": counts.by_group(
        {"a": counts.uniform(0, 3), "b": counts.uniform(2, 6)}, list("ab") * 20
    ),
    "none": counts.as_row_counts(counts.exactly(0), 40),
}

ODD = {
    "one row": np.array([[1.0, 2.0, 3.0]]),
    "one column": np.arange(6.0)[:, None],
    "constant": np.full((5, 3), 2.0),
    "constant column": np.column_stack([np.ones(6), np.arange(6.0)]),
    "nothing observed": np.full((4, 3), np.nan),
    "large": 1e8 * np.random.default_rng(0).normal(size=(6, 3)),
    "small": 1e-8 * np.random.default_rng(0).normal(size=(6, 3)),
}


def obey(rows, model):
    """Return whether rows obey the laws of a model."""
    log_probs = model.counts.log_probs(model.n_features)
    return bool(np.isfinite(log_probs[model.counts.law_of_row, rows.sum(axis=1)]).all())


def some_of(rng, n_rows, n_features, least, most):
    """Return 0/1 rows with so many of the features."""
    sizes = rng.integers(least, most + 1, n_rows)
    return np.array([rng.permutation(np.arange(n_features) < k) for k in sizes], np.int8)
