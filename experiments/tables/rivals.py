"""Other models of chords with hidden entries, each with noise by column.

- NMF by least squares; its number of features is chosen on a tenth of what is shown;
- MOFA+ (Gaussian), with as many factors as ours may have: it switches off those that it does not
  need. It needs an interpreter that has it.

Densities are those at one estimate, the noise of a column that of its residuals: there are no draws
to average over. Seconds are those of the clock.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments.rivals import masked, mofa
from experiments.tables.methods import FAR, Scores, Task
from ribp.threads import one_blas_thread

NMF, MOFA = "NMF", "MOFA+"
NAMES = (NMF, MOFA)
_NUMBERS = (4, 8, 12, 16, 24)


def names(noise: str, others: Path | None) -> list[str]:
    """Return who takes part."""
    if noise != "by column":
        return []
    return [name for name in NAMES if name != MOFA or others is not None]


def run(name: str, given: Task, others: Path | None) -> Scores:
    """Fit one of them and score what was shown and what was hidden."""
    values, hidden = given.case.values, given.hidden
    shown, began = np.where(hidden, 0.0, values), time.perf_counter()
    with one_blas_thread():
        if name == NMF:
            predict: masked.Predict = masked.gaussian_nmf
            number = masked.best_setting(predict, _NUMBERS, shown, hidden, given.seed)
        else:
            assert others is not None
            predict, number = mofa.gaussian(others, given.seed), given.case.max_features
        density = predict(shown, ~hidden, number).log_density(values)
    seconds, held_out = time.perf_counter() - began, density[hidden]
    return Scores(
        float(density[~hidden].mean()), float(held_out.mean()), float(np.median(held_out)),
        float((held_out < FAR).mean()), float(number), seconds,
    )  # fmt: skip
