"""What storing, checkpoints and progress cost a fit, and how much memory kept rows take."""

from __future__ import annotations

import contextlib
import json
import tempfile

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, best_times, process_output, process_seconds
from benchmarks.sweeps import ALONE
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete
from ribp.mcmc import gibbs
from ribp.model import Model
from ribp.rows.local import in_memory
from ribp.running import run
from ribp.running.chain import Chain, Plan
from ribp.running.checkpoint import Checkpoint
from ribp.running.estimate import thinning
from ribp.running.progress import Bars
from ribp.running.samplers import sampler
from ribp.search.following import best_start
from ribp.search.pool import Pool
from ribp.threads import one_blas_thread

RATIOS = ALONE.replace("sweeps", "running") + "import json; print(json.dumps(running.found()))"
_HELP = """
import contextlib, io, sys
from ribp.cli.main import app
with contextlib.redirect_stdout(io.StringIO()):
    app(["--help"], standalone_mode=False)
"""
PLAN = Plan(n_chains=1, n_warmup=300, n_draws=300)


def found() -> dict[str, float]:
    """Return all figures: for a process of its own, on one thread."""
    chords = ribp.datasets.load_chords()
    data = complete(ribp.datasets.scaled(chords.spectra))
    model = Model(ribp.counts.as_row_counts(chords.counts, 232), 24, LinearGaussian())
    seed, state = np.uint64(1), best_start(np.random.default_rng(0), model, data, 1)

    def bare() -> None:
        rng, here = np.random.default_rng(0), state
        with one_blas_thread():
            for _ in range(PLAN.n_sweeps):
                here, _ = gibbs.update(rng, seed, here, model, data)

    def whole() -> None:
        chain = Chain(0, np.random.default_rng(0), seed, state)
        with tempfile.TemporaryDirectory() as folder, Bars(1) as bars:
            run.run_chains(
                sampler("gibbs", model), in_memory(data), PLAN, [chain], Pool(), n_jobs=1,
                progress=bars, checkpoint=Checkpoint(folder),
            )  # fmt: skip

    with contextlib.redirect_stdout(None):
        alone, all_of_it = best_times(bare, whole, repeat=5)
    return {"overhead": all_of_it / alone - 1.0}


def measures() -> Measures:
    """Yield the measures of a run."""
    figures = json.loads(process_output(RATIOS))
    floor = min(process_seconds("import typer, rich.console") for _ in range(5))
    shown = min(process_seconds(_HELP) for _ in range(5))
    yield Measure("ribp --help / import typer and rich", shown / floor, 3.0)
    yield Measure("storing, checkpoints, progress / 5% of a fit", figures["overhead"] / 0.05, 1.0)
    model = Model(ribp.counts.as_row_counts(ribp.counts.exactly(3), 16242), 50, LinearGaussian())
    store = in_memory(complete(np.zeros((16242, 100))))
    kept = -(-500 // thinning(Plan(), model, store))
    yield Measure("kept rows 16242 x 50, 4 x 500 / 200 MB", 4 * kept * 16242 * 7 / 2e8, 1.0)
