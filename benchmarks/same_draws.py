"""Small fits of every kind, by their public face: whether another source draws the same bits.

``python -m benchmarks.same_draws OTHER/src`` runs them all on this source and on the other one, in
processes of their own, and compares digests of all draws. A redesign must leave them equal, or say
which differ and why.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parents[1]
SHORT = {"n_chains": 2, "n_warmup": 4, "n_draws": 8, "random_state": 3, "progress": False}


def made(n_rows: int = 90, dims: int = 8, features: int = 4, counts: bool = False) -> Any:
    """Return data of a few clear features, one to three in each row."""
    rng = np.random.default_rng(5)
    rows = rng.permuted(np.arange(features) < rng.integers(1, 4, (n_rows, 1)), axis=1)
    mean = rows @ rng.gamma(2.0, 1.5, (features, dims))
    return rng.poisson(mean).astype(float) if counts else mean + rng.normal(0, 0.5, mean.shape)


def holes(X: Any) -> Any:
    """Return data with a tenth missing."""
    return np.where(np.random.default_rng(6).random(X.shape) < 0.1, np.nan, X)


def mapped(X: Any, folder: Path) -> Any:
    """Return data as a memory map."""
    np.save(folder / "data.npy", X)
    return np.load(folder / "data.npy", mmap_mode="r")


def restricted(
    method: str, X: Any = None, *, law: Any = "uniform(1, 3)", on: str = "memory", **options: Any
) -> Callable[[Path], Any]:
    """Return a fit of `RestrictedIBP`."""

    def fit(folder: Path) -> Any:
        import ribp

        data = made() if X is None else X
        chosen = {"max_features": 6, "background": False, **SHORT, **options}
        model = ribp.RestrictedIBP(method, counts=law, **chosen)
        return model.fit(mapped(data, folder) if on == "file" else data).result_

    return fit


def buffet(method: str, X: Any = None, **options: Any) -> Callable[[Path], Any]:
    """Return a fit of `IndianBuffet`."""

    def fit(folder: Path) -> Any:
        import ribp

        model = ribp.IndianBuffet(method, **{"background": False, **SHORT, **options})
        return model.fit(made() if X is None else X).result_

    return fit


def by_group() -> Any:
    """Return laws of two groups of rows, one of them learned."""
    import ribp

    laws = {"a": ribp.counts.learned([1.0] * 4), "b": ribp.counts.table([0, 0.4, 0.2, 0.4])}
    return ribp.counts.by_group(laws, list("ab") * 45)


def resumed(method: str) -> Callable[[Path], Any]:
    """Return a run of the command line that is made longer."""

    def fit(folder: Path) -> Any:
        import ribp

        run, data = folder / "run", folder / "data.csv"
        np.savetxt(data, made(), delimiter=",", header=",".join("abcdefgh"), comments="")
        first = ["fit", data, "--counts", "uniform(1,3)", "--method", method, "--max-features", 6,
                 "--chains", 2, "--warmup", 4, "--draws", 5, "--seed", 3, "--out", run]  # fmt: skip
        for command in (first, ["resume", run, "--draws", 9]):
            subprocess.run(
                [sys.executable, "-m", "ribp", *map(str, command)], check=True, capture_output=True
            )
        loaded: Any = ribp.load(run / "result.nc")
        return loaded.result_

    return fit


COUNTS = made(counts=True)
KNOWN = np.random.default_rng(5).gamma(2.0, 1.5, (2, 8))
FITS: dict[str, Callable[[Path], Any]] = {
    "gibbs": restricted("gibbs"),
    "gibbs, shared noise": restricted("gibbs", noise="shared"),
    "gibbs, background": restricted("gibbs", background=True),
    "gibbs, missing": restricted("gibbs", holes(made()), background=True),
    "gibbs, a law with a gap": restricted("gibbs", law="table(0, .5, 0, .5)"),
    "gibbs, learned law, auto": restricted("gibbs", law=None, max_features="auto"),
    "gibbs, auto background": restricted("gibbs", made() + 20.0, background="auto"),
    "gibbs-rows, known features": restricted("gibbs-rows", fixed_components=KNOWN),
    "gibbs, fixed scales": restricted("gibbs", noise_scale=0.5, feature_scale=2.0, mass=1.5),
    "gibbs-rows": restricted("gibbs-rows"),
    "gibbs-rows, missing": restricted("gibbs-rows", holes(made()), background=True),
    "gibbs-rows, laws by group": lambda folder: restricted("gibbs-rows", law=by_group())(folder),
    "gibbs-rows, counts": restricted("gibbs-rows", COUNTS, likelihood="poisson"),
    "gibbs-rows, counts, missing": restricted(
        "gibbs-rows", holes(COUNTS), likelihood="poisson", background=True
    ),
    "gibbs-rows, file": restricted("gibbs-rows", holes(made()), on="file"),
    "gibbs-rows, many rows": restricted("gibbs-rows", made(5000), max_features="auto"),
    "gibbs-rows, many rows, file": restricted("gibbs-rows", made(5000), on="file"),
    "augmented": restricted("augmented", made(12), mass=2.0, concentration=2.0),
    "structured": restricted("structured"),
    "structured, missing, file": restricted("structured", holes(made()), on="file"),
    "structured, many rows": restricted("structured", made(5000)),
    "stochastic": restricted("stochastic", made(5000)),
    "stochastic, missing, file": restricted("stochastic", holes(made(5000)), on="file"),
    "hybrid": restricted("hybrid"),
    "hybrid, missing": restricted("hybrid", holes(made()), background=True),
    "buffet": buffet("gibbs"),
    "buffet, variational": buffet("variational"),
    "buffet, hybrid": buffet("hybrid", holes(made())),
    "gibbs, resumed": resumed("gibbs"),
    "gibbs-rows, resumed": resumed("gibbs-rows"),
    "structured, resumed": resumed("structured"),
}


def digest(result: Any) -> str:
    """Return a digest of all that was drawn."""
    found = hashlib.sha256()
    for group in ("warmup", "posterior", "features"):
        data = result.tree.children[group].dataset
        for name in sorted(data):
            found.update(name.encode() + np.ascontiguousarray(data[name].to_numpy()).tobytes())
    return found.hexdigest()[:16]


def digests_of(source: Path, names: list[str]) -> dict[str, str]:
    """Return digests of fits that are made with a source, in another process."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.same_draws", "--run", *names]
    places = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{HERE}"}
    done = subprocess.run(
        command,
        cwd=HERE,
        env=places,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def run(names: list[str]) -> None:
    """Make fits here and print their digests."""
    found = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[name] = digest(FITS[name](Path(folder)))
            except Exception as error:  # a fit that one of the two refuses is a difference
                found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


def main() -> None:
    """Compare two sources."""
    if sys.argv[1] == "--run":
        run(sys.argv[2:])
        return
    other, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(FITS)
    mine, theirs = digests_of(HERE / "src", names), digests_of(other, names)
    for name in names:
        same = mine[name] == theirs[name]
        print(f"{'same   ' if same else 'DIFFERS'} {name}: {mine[name]} {theirs[name]}")
    sys.exit(mine != theirs)


if __name__ == "__main__":
    main()
