"""The Markdown tables of `peers.json`: one for each part, and who took part in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.shared import table
from experiments.study import median

Given = dict[str, Any]
NAMES = {
    "glfm": "GLFM", "pyibp": "PyIBP", "pgfa": "pgfa, Gibbs", "pgfa-pg": "pgfa, particle Gibbs",
    "hybrid": "hybridBNP", "mofapy2": "mofapy2", "dppy": "DPPy", "jnotype": "Jnotype",
    "sampling": "R sampling", "buffet": "ribp, `IndianBuffet`", "gibbs": "ribp, `gibbs`",
    "gibbs-rows": "ribp, `gibbs-rows`", "ribp": "ribp", "truth": "the truth",
}  # fmt: skip


def markdown(parts: Given) -> list[str]:
    """Return the tables of all parts that are stored, and who took part."""
    lines = []
    for name, part in parts.items():
        lines += TABLES[name](part["numbers"])
        versions = [f"{NAMES[at].partition(',')[0]} {one}" for at, one in part["versions"].items()]
        lines += [f"Run on {part['date']}: {'; '.join(versions)}."]
        if part["left_out"]:
            absent = sorted({NAMES[at].partition(",")[0] for at in part["left_out"]})
            lines[-1] += f" Left out: {', '.join(absent)}."
        lines += [""]
    return lines


def _sweeps_table(numbers: Given) -> list[str]:
    heads = [f"{s['rows']} x {s['dims']}, {s['features']} features" for s in numbers.values()]
    names = next(iter(numbers.values()))["microseconds"]
    rows = [
        [NAMES[name], *(_time(s, name) for s in numbers.values())]
        for name in sorted(names, key=names.get)
    ]
    title = "## One sweep, microseconds per row and feature"
    return [title, "", *table(["sampler", *heads], rows)]


def _time(found: Given, name: str) -> str:
    """Return the time of a sweep, and the features it had where some were lost at once."""
    used = found["used"][name]
    more = "" if abs(used - found["features"]) < 1 else f" (at {used:.0f} features)"
    return f"{found['microseconds'][name]:.3g}{more}"


def _kernels_table(numbers: Given) -> list[str]:
    heads = {"log_esp": "log e_0 .. e_k", "probs": "inclusion probabilities", "sample": "a row",
             "inverse": "odds from probabilities"}  # fmt: skip
    lines = ["## Kernels, microseconds", ""]
    for size, found in numbers.items():
        rows = []
        for name, one in found.items():
            times = [one["microseconds"].get(at) for at in heads]
            apart = max(one["difference"].values())
            last = "" if name == "ribp" else f"{apart:.0e}"
            rows.append([NAMES[name], *("" if t is None else f"{t:.3g}" for t in times), last])
        lines += table([size, *heads.values(), "largest difference"], rows)
    return lines


def _held_out_table(numbers: Given) -> list[str]:
    budgets = numbers["budgets"]
    rows = []
    for (name,), runs in _grouped(numbers["runs"], "name").items():
        cells = []
        for at, budget in enumerate(budgets):  # a search may take longer than a budget
            errors = [one["rmse"][at % len(one["rmse"])] for one in runs if in_time(one, budget)]
            less = "" if len(errors) == len(runs) else f", {len(errors)} of {len(runs)}"
            cells.append(median(np.array(errors, dtype=float)) + less)
        rows.append([NAMES[name], str(len(runs)), *cells])
    heads = ["", "seeds", *(f"{budget:g} s" for budget in budgets)]
    return ["## Root mean square error of hidden entries", "", *table(heads, rows)]


def in_time(one: Given, budget: float) -> bool:
    """Return whether the first sweep of a run, with what came before it, was in the budget."""
    return bool(one.get("first", 0.0) <= budget)


def _chains_table(numbers: Given) -> list[str]:
    digits = {"log_joint": 0, "f1": 3, "features": 0, "sweeps": 0, "seconds": 0}
    rows = []
    for (where, name), runs in _grouped(numbers["runs"], "data", "name").items():
        cells = [_spread([one[at] for one in runs if at in one], n) for at, n in digits.items()]
        rows.append([where, NAMES[name], str(len(runs)), *cells])
    heads = ["data", "sampler", "seeds", "log joint", "F1", "features", "sweeps", "seconds"]
    title = "## What chains find, median (least, most) of the seeds"
    return [title, "", *table(heads, rows)]


def _spread(values: list[float], digits: int) -> str:
    """Return the median, the least and the most as text; one number where they are the same."""
    if not values:
        return ""
    low, middle, high = (f"{q:.{digits}f}" for q in np.quantile(values, (0.0, 0.5, 1.0)))
    return middle if low == high else f"{middle} ({low}, {high})"


TABLES = {
    "sweeps": _sweeps_table, "kernels": _kernels_table, "held_out": _held_out_table,
    "chains": _chains_table,
}  # fmt: skip


def _grouped(runs: list[Given], *names: str) -> dict[tuple[str, ...], list[Given]]:
    groups: dict[tuple[str, ...], list[Given]] = {}
    for one in runs:
        groups.setdefault(tuple(one[name] for name in names), []).append(one)
    return groups
