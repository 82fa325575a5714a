"""Run the study: `python -m experiments.variational.run`, seconds.

Rows x = z A + noise with known A of I = 6 features in D = 4 columns, exactly k ones, weights
theta ~ N(0, 1). For each row p(z | x) is enumerated; q is brought to rest by 50 passes from the
prior, in both families. Compared are the mean over rows of the largest error of a marginal,
|q(z_i = 1) - p(z_i = 1 | x)|, and how often both decode to the same row.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from ribp import counts
from ribp.checks import FloatArray
from ribp.counts.tables import mean_log_probs
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.base import Data, RowLaws, complete
from ribp.posterior.predict import decode
from ribp.posterior.row_posterior import row_posterior
from ribp.symmetric import log_esp
from ribp.variational import mean_field, structured_rows
from ribp.variational.features import FeatureFactor

FEATURES, DIMS, PASSES = 6, 4, 50
NOISES = (0.3, 1.0, 3.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    parser = argparse.ArgumentParser(prog="python -m experiments.variational.run")
    default = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=default, help="folder for what is found")
    parser.add_argument("--quick", action="store_true", help="few rows")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    n_sets, n_rows = (2, 20) if options.quick else (40, 50)
    table = Table("k", "noise", "structured", "mean field", "same row", "same row, mean field")
    found = []
    for k in (1, 2, 3):
        for noise in NOISES:
            errors = [compared(seed, k, noise, n_rows) for seed in range(n_sets)]
            one = np.mean(errors, axis=0).tolist()
            found.append({"k": k, "noise": noise, **dict(zip(NAMES, one, strict=True))})
            table.add_row(str(k), f"{noise:g}", *(f"{value:.3f}" for value in one))
    Console().print(table)
    path = options.out / "results.json"
    path.with_suffix(".tmp").write_text(json.dumps(found, indent=1) + "\n")
    path.with_suffix(".tmp").replace(path)


NAMES = ("structured", "mean field", "structured, same row", "mean field, same row")


def compared(seed: int, k: int, noise: float, n_rows: int) -> list[float]:
    """Return mean largest errors of marginals, and how often the decoded row is the right one."""
    rng = np.random.default_rng([seed, k])
    theta, A = rng.normal(0, 1, FEATURES), rng.normal(0, 1, (FEATURES, DIMS))
    given = GaussianParameters(A, np.zeros(DIMS), np.full(DIMS, noise), 1.0)
    rows = np.array([rng.permutation(np.arange(FEATURES) < k) for _ in range(n_rows)], np.int8)
    data = complete(LinearGaussian().draw_data(rng, rows, given))
    log_f = mean_log_probs(counts.as_row_counts(counts.exactly(k), n_rows), FEATURES)
    which = np.zeros(n_rows, np.int64)
    laws = RowLaws(theta, log_f - log_esp(theta), which, np.zeros(1, np.bool_))
    exact = row_posterior(data, LinearGaussian(), given, laws).probs
    best = decode(exact, log_f, which)
    factor = FeatureFactor(A, np.zeros((1, FEATURES, FEATURES)))
    both = [
        structured(data, theta, log_f, factor, given, which),
        independent(data, theta, log_f, factor, given, which),
    ]
    errors = [float(np.abs(q - exact).max(axis=1).mean()) for q in both]
    same = [float((decode(q, log_f, which) == best).all(axis=1).mean()) for q in both]
    return [*errors, *same]


def structured(
    data: Data, theta: FloatArray, log_f: FloatArray, factor: FeatureFactor,
    given: GaussianParameters, which: np.ndarray,
) -> FloatArray:  # fmt: skip
    """Return E[z] under the structured q."""
    laws = log_f - log_esp(theta)
    known = structured_rows.Given(LinearGaussian(), factor, given.noise_scale, theta, laws)
    width = int(np.flatnonzero(np.isfinite(log_f[0])).max()) + 1
    lam, g = np.tile(theta, (len(which), 1)), laws[which, :width]
    for _ in range(PASSES):
        swept = structured_rows.sweep_rows(known, data, which, lam, g)
        lam, g = swept.row_log_odds, swept.count_terms
    return swept.means


def independent(
    data: Data, theta: FloatArray, log_f: FloatArray, factor: FeatureFactor,
    given: GaussianParameters, which: np.ndarray,
) -> FloatArray:  # fmt: skip
    """Return nu of the paper's mean field."""
    prior = mean_field.row_prior(theta, log_f)
    nu = np.full((len(which), FEATURES), 0.5)
    gamma = np.exp(log_f)[which]
    for _ in range(PASSES):
        nu, gamma, _, _ = mean_field.sweep_rows(
            LinearGaussian(), data, prior, which, factor, given, nu, gamma
        )
    return nu


if __name__ == "__main__":
    main()
