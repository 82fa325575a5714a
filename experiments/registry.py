"""All experiments: what each is about, how long it takes on one core, which data it needs.

A folder NAME has run.py with ``main(arguments)``, which knows --out, --quick and, where `needs` is
not empty, --data. Quick runs have their searches cut short as well (`experiments.quick`).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper, or a question it leaves open."""

    title: str
    minutes: float
    """On one core, in full."""
    needs: tuple[str, ...] = ()
    """Files of data that are not part of the project."""


EXPERIMENTS = {
    "simulation": Experiment("Samplers of the prior: rejections, time, truncation", 1.1),
    "calibration": Experiment("Is every sampler right? Joint tests and ranks", 90),
    "recovery": Experiment("Does a default fit find the features that made the data?", 40),
    "presentations": Experiment("The same table in other units, with offsets, standardised", 10),
    "variational": Experiment("How near is each q to the posterior of a row?", 0.5),
    "toy_features": Experiment("Features and counts of the first toy set, R-IBP and IBP", 7),
    "one_inflated": Experiment("Held-out scores where most rows have one feature", 20),
    "printed_gibbs": Experiment("The Gibbs conditional as printed, beside the right one", 3),
    "tables": Experiment(
        "Tables 1 to 3: likelihoods and times on real data",
        140,
        ("reuters_digest.npz", "20news_w100.npz"),
    ),
    "real_features": Experiment(
        "Known features of real data: R-IBP, IBP and other models",
        25,
        ("reuters_mix.npz", "emotions.npz", "reuters_digest.npz", "medical.npz"),
    ),
    "texts": Experiment(
        "Topics of news: strengths and exposures of counts, beside NMF",
        18,
        ("reuters_mix.npz", "reuters_digest.npz"),
    ),
    "kinds": Experiment(
        "Columns of any kind: features found, hidden entries predicted",
        80,
        ("20news_w100.npz", "prostate.npz"),
    ),
    "tetraploids": Experiment("Haplotypes of rows that carry four, some of them twice", 13),
    "strengths": Experiment("Chords whose notes are loud or soft, and what strengths cost", 16),
    "verdict": Experiment("Does the verdict of a fit say what it should?", 5),
    "vague_counts": Experiment(
        "Does the count help? Vague, wrong or unknown counts, and rivals", 55, ("reuters_mix.npz",)
    ),
}


def run(name: str, arguments: Sequence[str]) -> None:
    """Run one experiment."""
    from experiments.quick import short_searches

    study = importlib.import_module(f"experiments.{name}.run")
    with short_searches() if "--quick" in arguments else nullcontext():
        study.main(arguments)
