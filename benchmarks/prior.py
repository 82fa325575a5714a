"""Prior simulation: the default against NumPy's uniforms, and the samplers side by side."""

from __future__ import annotations

import time

import numpy as np

import ribp
import ribp.errors
import ribp.prior.draw
from benchmarks.measure import PEAK_MEMORY, Measure, Measures, best_times, process_output, ratio

MEASURE = ribp.BetaProcess(mass=5)
MEMORY = f"""
{PEAK_MEMORY}
import ribp
measure = ribp.BetaProcess(mass=5)
ribp.simulate(0, n_rows=10, counts="exactly(5)", measure=measure)
with PeakMemory() as peak:
    draw = ribp.simulate(0, n_rows=10**6, counts="exactly(5)", measure=measure)
size = draw.rows.data.nbytes + draw.rows.indices.nbytes + draw.rows.indptr.nbytes
print(peak.bytes / size)
"""


def default(n_rows: int, ones: int) -> ribp.prior.draw.Draw:
    """Draw with the default sampler."""
    law = ribp.counts.exactly(ones)
    return ribp.simulate(1, n_rows=n_rows, counts=law, measure=MEASURE)


def measures() -> Measures:
    """Yield the measures of prior simulation; print what each method needs for a row."""
    rng = np.random.default_rng(0)
    value = ratio(lambda: default(10**6, 5), lambda: rng.random((10**6, 40)), 3)
    yield Measure("10^6 rows mass 5 J=5 / uniforms x 40", value, 5.0)
    times = best_times(*(lambda ones=ones: default(10**5, ones) for ones in (2, 5, 8)), repeat=5)
    yield Measure("time a row, J = 2, 5, 8: most / least", max(times) / min(times), 3.0)
    yield Measure("memory for 10^6 rows / CSR result", float(process_output(MEMORY)), 3.0)
    _print_methods()


def _print_methods() -> None:
    print("  method      J   median microseconds and proposals a row, over 15 draws of 100 rows")
    for method in ("inclusion", "esscher", "rejection", "collapsed", "lazy"):
        for ones in (2, 5, 8):
            seconds, proposals = [], []
            for seed in range(16):
                start = time.perf_counter()
                try:
                    draw = ribp.simulate(
                        seed, n_rows=100, counts=ribp.counts.exactly(ones), measure=MEASURE,
                        method=method, max_proposals=10**6,
                    )  # fmt: skip
                    proposals.append(draw.n_proposed / 100)
                except ribp.errors.ProposalLimitError:
                    proposals.append(np.inf)
                seconds.append(time.perf_counter() - start)
            print(
                f"  {method:10s} {ones:2d} {np.median(seconds[1:]) * 1e4:10.1f} us "
                f"{np.median(proposals[1:]):10.1f}"
            )
