"""Ten thousand images with four features whose rows nobody knows: default estimators, short chains.

Nothing can be scored, so this says how many features have more than fifty rows, and the log joint.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import ribp
from experiments.data import load_cambridge
from ribp import fitting
from ribp.errors import FitWarning
from ribp.search.pool import settle

FILE = "cambridge_10k.npz"
MANY = 50
"""Rows that a feature must have to count."""
N_SWEEPS = 20
"""Of warm-up, and draws."""
MODELS: dict[str, Callable[..., Any]] = {
    "R-IBP": lambda **options: ribp.RestrictedIBP("gibbs-rows", **options),
    "IBP": ribp.IndianBuffet,
}


def run(name: str, seed: int, folder: Path) -> tuple[dict[str, Any], float]:
    """Return what a model found, and the processor seconds of its search."""
    images, seconds = load_cambridge(folder / FILE).data, 0.0

    def timed(*given: Any) -> Any:
        nonlocal seconds
        began = time.process_time()
        found = settle(*given)
        seconds += time.process_time() - began
        return found

    with warnings.catch_warnings(), mock.patch.object(fitting, "settle", timed):
        warnings.simplefilter("ignore", FitWarning)  # chains are short
        model = MODELS[name](
            n_warmup=N_SWEEPS, n_draws=N_SWEEPS, n_jobs=1, progress=False,
            random_state=seed,
        ).fit(images)  # fmt: skip
    posterior = model.result_.tree["posterior"]
    sizes = (model.row_probs_ > 0.5).sum(axis=0)
    return {
        "features": int((sizes > MANY).sum()),
        "all_features": int(sizes.size),
        "background": bool(model.background_choice_.on),
        "log_joint": float(posterior["log_joint"].mean(dim="draw").max()),
        "n_best": int(model.result_.settings["n_best"]),
        "n_made": int(model.result_.settings["n_starts"]),
        "row_share": [round(float(one), 4) for one in np.sort(sizes / len(images))[::-1][:8]],
    }, seconds
