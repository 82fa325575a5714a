"""The row law: against a bare recursion pass, NumPy's uniforms, and a bare import of numba."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import (
    PEAK_MEMORY,
    Measure,
    Measures,
    best_times,
    process_output,
    process_seconds,
    ratio,
)
from ribp.kernels import elementary_symmetric, quadrature
from ribp.kernels.jit import jit

INCLUSION = "import ribp; ribp.inclusion_probs([0.0, 1.0, 2.0], 1)"
NUMBA = "import numba, scipy.linalg.cython_blas"  # which it loads at the first call of a kernel
MEMORY = f"""
{PEAK_MEMORY}
import numpy as np, ribp
theta = np.random.default_rng(0).normal(size=100_000)
ribp.inclusion_probs(theta[:10], 3)
with PeakMemory() as peak:
    ribp.inclusion_probs(theta, 1000)
print(peak.bytes / 2**20)
"""


@jit
def bare_pass(p: Any, q: Any, k: int) -> Any:
    """Make I x k multiply-adds, in the form that compiles to the fastest code known to us."""
    row = np.zeros(k + 1)
    row[0] = 1.0
    for i in range(p.shape[0]):
        on, off = p[i], q[i]
        below = 0.0
        for j in range(k + 1):
            old = row[j]
            row[j] = on * below + off * old
            below = old
    return row


def measures() -> Measures:
    """Yield the measures of the row law."""
    rng = np.random.default_rng(0)
    theta = rng.normal(0, 2, 1000)
    p = 1 / (1 + np.exp(2.5 - theta))
    q = 1 - p
    value = ratio(lambda: quadrature.inclusion_at(theta, 100), lambda: bare_pass(p, q, 100), 200)
    yield Measure("inclusion I=1000 k=100 / bare pass", value, 3.0)

    wide = rng.normal(0, 2, 20_000)
    small, more_features, more_ones = best_times(
        lambda: quadrature.inclusion_at(wide[:10_000], 100),
        lambda: quadrature.inclusion_at(wide, 100),
        lambda: quadrature.inclusion_at(wide[:10_000], 200),
        repeat=60,
    )
    yield Measure("inclusion 2x features / 2x time", more_features / small / 2, 1.3)
    yield Measure("inclusion 2x ones / 2x time", more_ones / small / 2, 1.3)

    falling = np.sort(wide)[::-1].copy()
    half = falling[:10_000].copy()
    small, more_features, more_ones = best_times(
        lambda: elementary_symmetric.log_esp(half, 100),
        lambda: elementary_symmetric.log_esp(falling, 100),
        lambda: elementary_symmetric.log_esp(half, 200),
    )
    yield Measure("log_esp 2x features / 2x time", more_features / small / 2, 1.3)
    yield Measure("log_esp 2x counts / 2x time", more_ones / small / 2, 1.3)

    law = ribp.RestrictedBernoulli(theta[:100], ribp.counts.exactly(5))
    value = ratio(lambda: law.sample(rng, 100_000), lambda: rng.random((100_000, 100)))
    yield Measure("10^5 draws I=100 k=5 / uniforms", value, 1.0)

    yield Measure("memory I=10^5 k=1000 / 300 MB", float(process_output(MEMORY)) / 300, 1.0)

    process_seconds(INCLUSION)
    warm = min(process_seconds(INCLUSION) for _ in range(7))
    bare = min(process_seconds(NUMBA) for _ in range(7))
    yield Measure("warm start / import numba and its BLAS", warm / bare, 2.0)
    with tempfile.TemporaryDirectory() as folder:
        yield Measure(
            "cold start / 5 s", process_seconds(INCLUSION, NUMBA_CACHE_DIR=folder) / 5, 1.0
        )
