"""Which stored numbers stand in which cell.

A cell is a study, the key of its runs but for the seed, and the name of a number; what has not been
run is empty. Runs of a row are compared seed by seed. Columns that say "told" know how many
features there are; all but the last know how many each row has.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from experiments.study import BETWEEN

ROOT = Path(__file__).parents[1]
PEERS = "peers"
"""In the place of a study: chains of other people's samplers, `benchmarks.peers`."""

DEFAULT, SHARED, OWN, UNTOLD, BUFFET = (
    "R-IBP", "R-IBP, one noise", "R-IBP, own model", "R-IBP, no counts", "IBP"
)  # fmt: skip
NMF, NMF_MORE = "NMF, told", "NMF, more"
KSVD, KSVD_MORE = "K-SVD, told", "K-SVD, more"
DICTIONARY, FACTORS, MOFA, PCA = (
    "dictionary, told", "factors, told", "MOFA+", "logistic PCA"
)  # fmt: skip
CHANCE = "chance"
CHOSEN, ALONE = "NMF", "each column alone"


class Cell(NamedTuple):
    """Where a number is stored."""

    study: str
    parts: tuple[str, ...]
    number: str
    """Its name, or "seconds"."""

    def values(self) -> dict[int, float]:
        """Return it by seed."""
        begins = BETWEEN.join(self.parts) + BETWEEN
        found = {}
        for key, numbers in stored(self.study).items():
            seed = key.removeprefix(begins)
            if key.startswith(begins) and seed.isdigit() and numbers.get(self.number) is not None:
                found[int(seed)] = float(numbers[self.number])
        return found


class Row(NamedTuple):
    """A set of data, and who was tried on it."""

    name: str
    page: str
    """Where it is said more of."""
    cells: dict[str, Cell]


@cache
def stored(study: str) -> dict[str, dict[str, float]]:
    """Return the numbers of a study, and the seconds of each run."""
    if study == PEERS:
        return _chains_of_peers()
    path = ROOT / study / "results" / "results.json"
    whole = json.loads(path.read_text())
    numbers: dict[str, dict[str, float]] = whole["numbers"]
    return {key: {"seconds": whole["timing"]["seconds"][key]} | numbers[key] for key in numbers}


def _chains_of_peers() -> dict[str, dict[str, float]]:
    """Return the chains of `benchmarks.peers` in the form of a study: data, sampler, seed."""
    whole = json.loads((ROOT.parent / "benchmarks" / "peers.json").read_text())
    return {
        BETWEEN.join([one["data"], one["name"], str(one["seed"])]): one
        for one in whole["chains"]["numbers"]["runs"]
    }


def _real(case: str, own: str = "", untold: Cell | None = None) -> dict[str, Cell]:
    """Return the cells of a set of `experiments.real_features`."""

    def cell(method: str, name: str) -> Cell:
        return Cell("real_features", (case, method), name)

    found = {
        DEFAULT: cell("restricted", "R-IBP, Gibbs"),
        SHARED: cell("shared", "R-IBP, one noise"),
        BUFFET: cell("buffet", "IBP, Gibbs"),
        NMF: cell("nmf", "NMF"),
        NMF_MORE: cell("nmf twice", "NMF, twice the features"),
        KSVD: cell("ksvd", "K-SVD"),
        KSVD_MORE: cell("ksvd twice", "K-SVD, twice the features"),
        DICTIONARY: cell("dictionary", "dictionary learning"),
        FACTORS: cell("factors", "factor analysis"),
        MOFA: cell("mofa", "MOFA+"),
        PCA: cell("logistic", "logistic PCA"),
        CHANCE: cell("chance", "chance"),
    }
    if own:
        found[OWN] = cell("poisson", own)
    return found | ({UNTOLD: untold} if untold else {})


def _vague(case: str) -> dict[str, Cell]:
    """Return the cells of a set of `experiments.vague_counts`."""
    names = {
        DEFAULT: "exact",
        UNTOLD: "learned",
        NMF: "NMF told",
        NMF_MORE: "NMF given more",
        KSVD: "K-SVD told",
        KSVD_MORE: "K-SVD given more",
    }
    return {column: Cell("vague_counts", (case, name), "f1") for column, name in names.items()}


def _loud(which: str) -> dict[str, Cell]:
    """Return the cells of chords whose notes are louder or softer."""
    names = {
        DEFAULT: "binary",
        OWN: "strengths",
        NMF: "NMF told 12",
        NMF_MORE: "NMF given 24",
        KSVD: "K-SVD told 12",
        KSVD_MORE: "K-SVD given 24",
    }
    return {column: Cell("strengths", (which, "0.4", name), "F1") for column, name in names.items()}


def _kinds(name: str) -> dict[str, Cell]:
    """Return the cells of a table of yes and no."""
    names = {DEFAULT: "as numbers", OWN: "default settings"}
    return {column: Cell("kinds", (name, fit), "f1") for column, fit in names.items()}


def _held_out(name: str) -> dict[str, Cell]:
    """Return the cells of hidden entries of a real table."""
    names = {
        DEFAULT: "as numbers",
        OWN: "counts by the number of ones",
        UNTOLD: "counts learned",
        CHOSEN: "NMF",
        MOFA: "MOFA+",
        PCA: "logistic PCA",
        ALONE: "columns alone",
    }
    return {column: Cell("kinds", (name, model), "held out") for column, model in names.items()}


_TETRAPLOIDS = {
    OWN: Cell("tetraploids", ("Dirichlet(2)", "multiplicities"), "exact haplotypes"),
    NMF: Cell("tetraploids", ("Dirichlet(2)", "NMF told"), "exact haplotypes"),
}

FOUND = (
    Row(
        "chords, square roots", "real_features",
        _real("chords", untold=Cell("vague_counts", ("chords", "learned"), "f1")),
    ),
    Row("chords, power", "real_features", _real("power")),
    Row("chords, loud and soft (recorded)", "strengths", _loud("recorded, one or three notes")),
    Row("chords, loud and soft (piano)", "strengths", _loud("piano, one or three notes")),
    Row("first toy set", "vague_counts", _vague("toy")),
    Row("bars", "vague_counts", _vague("bars")),
    Row("signed features, gaps", "vague_counts", _vague("signed")),
    Row(
        "finite buffet, gaps", "vague_counts",
        _vague("ibp-20") | {BUFFET: Cell(PEERS, ("ibp-20", "buffet"), "f1")},
    ),
    Row("tetraploids (exact haplotypes)", "tetraploids", _TETRAPLOIDS),
    Row("yes/no, simulated", "kinds", _kinds("binary, balanced")),
    Row("yes/no with 12% ones, simulated", "kinds", _kinds("binary, 12% ones")),
    Row(
        "Reuters, mix", "real_features",
        _real("mix", "R-IBP, Poisson", Cell("vague_counts", ("mix", "learned"), "f1")),
    ),
    Row("Reuters, digest", "real_features", _real("digest", "R-IBP, Poisson")),
    Row("medical reports", "real_features", _real("medical", "R-IBP, Poisson")),
    Row("emotions", "real_features", _real("emotions")),
)  # fmt: skip
"""F1 of rows; 1 is all."""

HELD_OUT = tuple(
    Row(name, "kinds", _held_out(name)) for name in ("newsgroups", "VerbAgg", "bfi", "prostate")
)
"""Mean log density of a hidden entry."""
