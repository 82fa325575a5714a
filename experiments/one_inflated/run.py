"""Run it: `python -m experiments.one_inflated.run`, some minutes; `--quick` for a look.

Rows have one feature with probability 0.8 and otherwise Poisson(lambda) of them, lambda = 3, 6, 9,
12. One per cent of the entries is hidden. Five data sets for each lambda, the same for all models:

- IBP: the unrestricted buffet, which knows no counts;
- R-IBP: f = 0.8 exactly(1) + 0.2 poisson(lambda) for every row;
- R-IBP by groups (partially exchangeable): the model knows which of the two a row came from.

All by Gibbs sampling with features integrated out, 500 sweeps of which the second half is kept,
one noise scale, mass fixed at the mean count, as in the paper. The score is the mean negative log
density of a hidden entry, averaged over draws inside the logarithm.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

import ribp
from experiments.shared import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    parse,
    save,
    table,
    write_results,
    write_text,
)
from ribp.checks import FloatArray
from ribp.datasets import OneInflatedToy, toy_one_inflated
from ribp.errors import FitWarning
from ribp.likelihoods.data import BoolArray
from ribp.testing.recovery import f1

MODELS = {"IBP": ORANGE, "R-IBP": BLUE, "R-IBP by groups": GREEN}
HIDDEN = 0.01


class Scale(NamedTuple):
    """How much is run."""

    rates: tuple[float, ...] = (3.0, 6.0, 9.0, 12.0)
    n_runs: int = 5
    n_rows: int = 500
    n_sweeps: int = 500


QUICK = Scale((3.0, 9.0), 2, 120, 40)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = parse("one_inflated", arguments)
    scale = QUICK if options.quick else Scale()
    began, console = time.perf_counter(), Console()
    numbers: dict[str, dict[str, Any]] = {}
    seconds: dict[str, dict[str, list[float]]] = {}
    for rate in scale.rates:
        found = numbers[f"{rate:g}"] = {name: [] for name in (*MODELS, "truth")}
        times = seconds[f"{rate:g}"] = {name: [] for name in MODELS}
        for seed in range(scale.n_runs):
            toy = toy_one_inflated(np.random.default_rng([seed, int(rate)]), rate, scale.n_rows)
            hidden = _hidden(seed, toy.data.shape)
            true = {"score": _true_score(toy, hidden), "features": toy.rows.shape[1]}
            found["truth"].append(true)
            for name in MODELS:
                start = time.perf_counter()
                found[name].append(_run(name, toy, hidden, seed, scale.n_sweeps))
                times[name].append(time.perf_counter() - start)
            line = ", ".join(f"{name} {found[name][-1]['score']:.3f}" for name in found)
            console.print(f"lambda {rate:g}, run {seed}: {line}")
    stored = write_results(
        options,
        seeds=list(range(scale.n_runs)),
        setting={**scale._asdict(), "hidden": HIDDEN},
        numbers={"runs": numbers, "summary": summary(numbers)},
        timing={"minutes": (time.perf_counter() - began) / 60, "seconds": seconds},
    )
    _draw(numbers, options.out / "scores.png")
    for file, lines in tables(stored).items():
        write_text(options.out / file, lines)


def _hidden(seed: int, shape: tuple[int, ...]) -> BoolArray:
    """Return which entries are hidden: one per cent, at random."""
    size = int(np.prod(shape))
    hidden = np.zeros(size, bool)
    rng = np.random.default_rng([seed, 99])
    hidden[rng.choice(size, round(HIDDEN * size), replace=False)] = True
    return hidden.reshape(shape)


def _run(
    name: str, toy: OneInflatedToy, hidden: BoolArray, seed: int, n_sweeps: int
) -> dict[str, float]:
    """Return the score of one chain on the hidden entries, and what it found."""
    options: dict[str, Any] = {
        "noise": "shared", "mass": toy.mass, "n_chains": 1, "n_warmup": n_sweeps // 2,
        "n_draws": n_sweeps - n_sweeps // 2, "progress": False, "random_state": seed,
    }  # fmt: skip
    data = np.where(hidden, np.nan, toy.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # one chain: nothing to compare it with
        if name == "IBP":
            model: Any = ribp.IndianBuffet("gibbs", **options).fit(data)
        else:
            counts = toy.counts if name == "R-IBP" else toy.group_counts
            model = ribp.RestrictedIBP("gibbs", **options).fit(data, counts=counts)
    return {
        "score": -float(model.result_.held_out_log_density(toy.data, hidden).mean()),
        "f1": f1(model.row_probs_ > 0.5, toy.rows),
        "features": len(model.components_),
    }


def _true_score(toy: OneInflatedToy, hidden: BoolArray) -> float:
    """Return the score of somebody who knows rows, features and noise."""
    error = (toy.data - toy.rows @ toy.components)[hidden] / toy.noise_scale
    return float(0.5 * (error**2).mean() + np.log(toy.noise_scale * np.sqrt(2 * np.pi)))


def summary(numbers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return means over runs with standard errors, and differences to the IBP of the same run."""
    found: dict[str, Any] = {}
    for rate, models in numbers.items():
        scores = {name: np.array([run["score"] for run in models[name]]) for name in models}
        found[rate] = {
            name: {
                "score": _mean(scores[name]),
                "less the IBP": _mean(scores[name] - scores["IBP"]),
                **{
                    key: _mean([run[key] for run in models[name]])
                    for key in ("f1", "features")
                    if key in models[name][0]
                },
            }
            for name in models
        }
    return found


def _mean(values: Sequence[float] | FloatArray) -> dict[str, float]:
    v = np.asarray(values, dtype=np.float64)
    return {"mean": float(v.mean()), "standard_error": float(v.std(ddof=1) / np.sqrt(v.size))}


def tables(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """Return table.md: means over runs, and how often one model is better than another."""
    rows = [
        [rate, name, *_cells(name, one)]
        for rate, models in numbers["summary"].items()
        for name, one in models.items()
    ]
    lines = table((r"$\lambda$", "model", *_COLUMNS), rows)
    pairs = (("R-IBP", "IBP"), ("R-IBP by groups", "IBP"), ("R-IBP by groups", "R-IBP"))
    wins = [
        [f"{a} against {b}", *(_wins(one[a], one[b]) for one in numbers["runs"].values())]
        for a, b in pairs
    ]
    rates = [rf"$\lambda$ = {rate}" for rate in numbers["runs"]]
    lines += ["Runs in which the first has the better score:", "", *table(("", *rates), wins)]
    return {"table.md": lines}


_COLUMNS = ("score", "less the IBP, same data", "F1 of rows", "features")


def _cells(name: str, one: dict[str, Any]) -> list[str]:
    known = [f"{one[key]['mean']:.{digits}f}" if key in one else "" for key, digits in _FOUND]
    less = "" if name == "IBP" else _text(one["less the IBP"])
    return [_text(one["score"]), less, *known]


_FOUND = (("f1", 2), ("features", 0))


def _text(one: dict[str, float]) -> str:
    return f"{one['mean']:.3f} ± {one['standard_error']:.3f}"


def _wins(first: list[dict[str, float]], second: list[dict[str, float]]) -> str:
    better = sum(a["score"] < b["score"] for a, b in zip(first, second, strict=True))
    return f"{better} of {len(first)}"


def _draw(numbers: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw scores by lambda, and beside them what each run gained over the IBP."""
    figure = Figure(figsize=(9.5, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    found = summary(numbers)
    rates = np.array([float(rate) for rate in found])
    for at, (name, colour) in enumerate({**MODELS, "truth": GREY}.items()):
        x = rates + 0.12 * (at - 1.5)
        for ax, key in ((left, "score"), (right, "less the IBP")):
            if ax is right and name in ("IBP", "truth"):
                continue
            mean = [found[rate][name][key]["mean"] for rate in found]
            error = [found[rate][name][key]["standard_error"] for rate in found]
            style = "--" if name == "truth" else "-"
            ax.errorbar(x, mean, error, fmt=f"o{style}", color=colour, ms=5, capsize=3, label=name)
        if name in ("R-IBP", "R-IBP by groups"):
            runs = [
                [a["score"] - b["score"] for a, b in zip(one[name], one["IBP"], strict=True)]
                for one in numbers.values()
            ]
            right.plot(np.repeat(x, len(runs[0])), np.ravel(runs), ".", color=colour, alpha=0.45)
    right.axhline(0, color="0.6", lw=1)
    left.set(title="hidden entries, lower is better", ylabel="mean negative log density")
    right.set(title="less the IBP on the same data (dots: single runs)")
    for ax in (left, right):
        ax.set(xlabel=r"$\lambda$, mean of the Poisson part", xticks=rates)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9)
    save(figure, path)


if __name__ == "__main__":
    main()
