"""Run the study: `python -m experiments.variational.run`, seconds.

Rows x = z A + noise with known A of I = 6 features in D = 4 columns, exactly k ones, weights
theta ~ N(0, 1). For each row p(z | x) is enumerated; q is brought to rest by 50 passes from the
prior, in both families. Compared are the mean over rows of the largest error of a marginal,
|q(z_i = 1) - p(z_i = 1 | x)|, and how often both decode to the same row.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from experiments.shared import parse, table, write_results, write_text
from ribp import counts
from ribp.checks import FloatArray
from ribp.counts.tables import mean_log_probs
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Data, complete
from ribp.likelihoods.row_sweeps import RowPrior
from ribp.posterior.predict import decode
from ribp.posterior.row_posterior import row_posterior
from ribp.symmetric import log_esp
from ribp.threads import one_blas_thread
from ribp.variational import mean_field, structured_rows
from ribp.variational.features import FeatureFactor

FEATURES, DIMS, PASSES = 6, 4, 50
NOISES = (0.3, 1.0, 3.0)
DIGITS = 9  # beyond them is rounding: with k = 1 the structured q is the posterior


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = parse("variational", arguments)
    n_sets, n_rows = (2, 20) if options.quick else (40, 50)
    began, found, console = time.perf_counter(), [], Console()
    for k in (1, 2, 3):
        for noise in NOISES:
            with one_blas_thread():
                errors = [compared(seed, k, noise, n_rows) for seed in range(n_sets)]
            one = np.mean(errors, axis=0).round(DIGITS).tolist()
            found.append({"k": k, "noise": noise, **dict(zip(NAMES, one, strict=True))})
            console.print(f"k {k}, noise {noise:g}: error {one[0]:.3f} and {one[1]:.3f}")
    stored = write_results(
        options,
        seeds=list(range(n_sets)),
        setting={"n_rows": n_rows, "features": FEATURES, "dims": DIMS, "passes": PASSES},
        numbers=found,
        timing={"minutes": (time.perf_counter() - began) / 60},
    )
    for file, lines in tables(stored).items():
        write_text(options.out / file, lines)


NAMES = ("structured", "mean field", "structured, same row", "mean field, same row")


def tables(numbers: list[dict[str, float]]) -> dict[str, list[str]]:
    """Return table.md."""
    columns = ("k", "noise", "error, structured", "error, mean field", *NAMES[2:])
    rows = [
        [str(one["k"]), f"{one['noise']:g}"]
        + [f"{one[name]:.3f}" for name in NAMES[:2]]
        + [f"{one[name]:.2%}" for name in NAMES[2:]]
        for one in numbers
    ]
    return {"table.md": table(columns, rows)}


def compared(seed: int, k: int, noise: float, n_rows: int) -> list[float]:
    """Return mean largest errors of marginals, and how often the decoded row is the right one."""
    rng = np.random.default_rng([seed, k])
    theta, A = rng.normal(0, 1, FEATURES), rng.normal(0, 1, (FEATURES, DIMS))
    given = GaussianParameters(A, np.zeros(DIMS), np.full(DIMS, noise), 1.0)
    rows = np.array([rng.permutation(np.arange(FEATURES) < k) for _ in range(n_rows)], np.int8)
    data = complete(LinearGaussian().draw_data(rng, rows, given))
    log_f = mean_log_probs(counts.as_row_counts(counts.exactly(k), n_rows), FEATURES)
    which = np.zeros(n_rows, np.int64)
    prior = RowPrior(theta, log_f - log_esp(theta), np.zeros(1, np.bool_), np.array([n_rows]))
    exact = row_posterior(data, LinearGaussian(), given, prior, which).probs
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
    known = structured_rows.GlobalFactors(LinearGaussian(), factor, given.noise_scale, theta, laws)
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
    prior = mean_field.count_prior(theta, log_f)
    nu = np.full((len(which), FEATURES), 0.5)
    gamma = np.exp(log_f)[which]
    for _ in range(PASSES):
        nu, gamma, _, _ = mean_field.sweep_rows(
            LinearGaussian(), data, prior, which, factor, given, nu, gamma
        )
    return nu


if __name__ == "__main__":
    main()
