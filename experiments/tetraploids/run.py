"""Run it: `python -m experiments.tetraploids.run`; `--quick` for a look.

A tetraploid carries four haplotypes, some of them twice or more. With H the haplotypes, a 0 or a 1
at each site, and z_n how many copies row n has of each, sum z_n = 4, what is measured is the number
of ones at each site with noise, X = Z H + .3 e. Haplotypes are all alike common, or not.

- multiplicities: `RestrictedIBP` with Poisson entries whose sum is exactly 4, 16 features allowed;
- each row alone: every number rounded to 0 .. 4, all that can be said of a row by itself. It has no
  haplotypes;
- NMF, told that there are 12.

Exact haplotypes: those that some feature, rounded, equals at every site. Right numbers: the share
of (Z H)_nd that is right, from Z as it is decoded and features that are rounded. Right rows: the
share whose copies are all right.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import NMF

from experiments.shared import table, write_text
from experiments.study import Study, median, parse, parser
from ribp import RestrictedIBP

COPIES, NOISE = 4, 0.3
EVEN, UNEVEN = "alike", "Dirichlet(2)"


class Scale(NamedTuple):
    """How much is run."""

    seeds: tuple[int, ...] = tuple(range(100, 110))
    haplotypes: int = 12
    n_rows: int = 300
    sites: int = 60
    allowed: int = 16
    sweeps: int = 100


QUICK = Scale((100,), 3, 40, 12, 6, 10)


class Tetraploids(NamedTuple):
    """A table that was made."""

    values: Any
    rows: Any
    haplotypes: Any


def tetraploids(seed: int, frequencies: str, scale: Scale) -> Tetraploids:
    """Return a table whose haplotypes are alike common, or not."""
    rng = np.random.default_rng(seed)
    number = scale.haplotypes
    haplotypes = (rng.random((number, scale.sites)) < 0.5).astype(float)
    shares = np.full(number, 1 / number)
    if frequencies == UNEVEN:
        shares = rng.dirichlet(np.full(number, 2.0))
    rows = rng.multinomial(COPIES, shares, size=scale.n_rows)
    values = rows @ haplotypes + NOISE * rng.normal(size=(scale.n_rows, scale.sites))
    return Tetraploids(values, rows, haplotypes)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    given = parse(parser("tetraploids", data=False), arguments)
    scale = QUICK if given.quick else Scale()
    study = Study(given, scale._asdict())
    for seed in scale.seeds:
        for frequencies in (EVEN, UNEVEN):
            made = tetraploids(seed, frequencies, scale)
            for name, method in METHODS.items():
                if study.wants(frequencies, name, seed):
                    began = time.perf_counter()
                    numbers = method(made, seed, scale)
                    seconds = time.perf_counter() - began
                    study.add(frequencies, name, seed, numbers=numbers, seconds=seconds)
    _write(given.out / "table.md", study, scale)


def _multiplicities(made: Tetraploids, seed: int, scale: Scale) -> dict[str, float]:
    model = RestrictedIBP(
        "gibbs-rows", entries="poisson", restrict="sum", counts=f"exactly({COPIES})",
        max_features=scale.allowed, background=False, n_chains=2, n_warmup=scale.sweeps,
        n_draws=scale.sweeps, random_state=seed, progress=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(made.values)
    found = np.rint(model.components_)
    decoded = model.result_.decode(made.values, features=model._kept, max_draws=10)
    return {
        "features": float(len(found)),
        "exact haplotypes": _exact(found, made.haplotypes),
        "right numbers": float((decoded @ found == made.rows @ made.haplotypes).mean()),
        "right rows": _right_rows(found, decoded, made),
    }


def _alone(made: Tetraploids, seed: int, scale: Scale) -> dict[str, float]:
    called = np.clip(np.rint(made.values), 0, COPIES)
    return {"right numbers": float((called == made.rows @ made.haplotypes).mean())}


def _nmf(made: Tetraploids, seed: int, scale: Scale) -> dict[str, float]:
    """Return what NMF finds; its features have no scale: each is divided by its largest entry."""
    model = NMF(scale.haplotypes, init="nndsvda", max_iter=2000, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.maximum(made.values, 0.0))
    found = model.components_ / np.maximum(model.components_.max(axis=1, keepdims=True), 1e-9)
    exact = _exact(np.rint(found), made.haplotypes)
    return {"features": float(scale.haplotypes), "exact haplotypes": exact}


def _exact(found: Any, haplotypes: Any) -> float:
    """Return the share of haplotypes that some feature equals."""
    equal = (haplotypes[:, None] == found).all(axis=2)
    return float(equal.any(axis=1).mean())


def _right_rows(found: Any, decoded: Any, made: Tetraploids) -> float:
    """Return the share of rows whose copies of all haplotypes are right."""
    equal = (made.haplotypes[:, None] == found).all(axis=2)
    copies = decoded @ equal.T
    return float((copies == made.rows).all(axis=1).mean())


METHODS = {"multiplicities": _multiplicities, "each row alone": _alone, "NMF told": _nmf}


def _write(path: Any, study: Study, scale: Scale) -> None:
    lines = []
    for frequencies in (EVEN, UNEVEN):
        rows = []
        for name in METHODS:
            exact = study.values(frequencies, name, of="exact haplotypes")
            whole = f"{int((exact == 1.0).sum())} of {exact.size}" if (exact >= 0).any() else ""
            of = ("exact haplotypes", "right numbers", "right rows", "seconds")
            cells = [median(study.values(frequencies, name, of=one)) for one in of]
            rows.append([name, whole, *cells])
        columns = [
            f"frequencies: {frequencies}", "all haplotypes exact", "exact haplotypes",
            "right numbers", "right rows", "seconds",
        ]  # fmt: skip
        lines += table(columns, rows)
    write_text(path, lines)


if __name__ == "__main__":
    main()
