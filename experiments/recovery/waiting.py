"""How long to the answer: processor seconds until the log joint is near the best that is known.

The best is the mean along a whole chain, from the search or from the truth, whichever is higher. A
sweep has the answer if its log joint is within 10 of it. Seconds are those of the search and of the
sweeps after it; a chain without a search begins at a draw of the prior, with as many features as
the search allowed, and has many more sweeps.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from experiments.recovery.cases import Case
from experiments.recovery.chains import Sweeps, search
from ribp.mcmc import gibbs
from ribp.rng import kernel_seed
from ribp.search import pool
from ribp.threads import one_blas_thread

SEARCHED, FROM_PRIOR = "to the answer", "to the answer, no search"
WITHIN = 10.0
_TIMES = 20
"""How many more sweeps a chain without a search has."""
_KEY = 78


def run(
    kind: str, case: Case, seed: int, sweeps: Sweeps, best: float
) -> tuple[dict[str, Any], float]:
    """Return after how many sweeps the answer was there, None if it was not, and seconds."""
    model, data, starts, searched = search(case, seed)
    rng = np.random.default_rng([seed, _KEY])
    most = sweeps.warmup + sweeps.draws
    rows = starts.starts[0].rows
    if kind == FROM_PRIOR:
        most, searched = _TIMES * most, 0.0
        rows = model.draw_prior(rng, data.shape[1]).rows
    began = time.process_time()
    with one_blas_thread():
        state, key = pool.from_rows(rng, model, data, rows), kernel_seed(rng)
        reached, highest = None, -np.inf
        for at in range(1, most + 1):
            state, info = gibbs.update(rng, key, state, model, data)
            highest = max(highest, info.log_joint)
            if info.log_joint >= best - WITHIN:
                reached = at
                break
    numbers = {"sweeps": reached, "of": most, "short of the best by": best - highest}
    return numbers, searched + time.process_time() - began
