"""Batches against all rows: `python -m experiments.variational.stochastic`, about twenty minutes.

With `--fit` something else: the search and one pass in batches over the data of `benchmarks.scale`
(two to six of 50 features, noise 0.5), and what that recovers.

A million simulated rows of I = 50 features, one or two in each, in D = 100 columns. Both methods
begin at the features that 2000 rows gave. The structured method keeps and updates q of every row;
the stochastic one uses batches of 1024 rows, each row twice;
its gain is followed through the first pass, its features are those after the second.

A *pass of row work* is one update of q(z_n) for every row. A row of a batch is given four, so a
pass over the data is four passes of row work. Both methods also need four to find q of
all rows from the prior, the structured one at its start, the stochastic one at its end: these are
not counted.

The gain is that of the bound over the start, as a part of what the structured method gains in all
its passes. Its own bounds are exact. Features of both are also compared on 20000 rows, the same for
all, whose q is found afresh from the prior: "gain, sample", again as a part of that of the
structured method's last features.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import linear_sum_assignment

import ribp
from benchmarks import scale
from ribp.checks import FloatArray, IntArray
from ribp.files import write_atomically
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data, Rows, complete
from ribp.model import Model
from ribp.rows.local import LocalRows, in_memory
from ribp.search.pool import best
from ribp.threads import one_blas_thread
from ribp.variational import stochastic, structured, structured_rows
from ribp.variational.state import StochasticState, VariationalState
from ribp.variational.stochastic import DEFAULT

LAW, NOISE = "uniform(1, 2)", 2.0
PARTS = (
    0.03125,
    0.0625,
    0.125,
    0.1875,
    0.25,
    0.375,
    0.5,
    0.75,
    1.0,
)  # passes, after which to measure
SAMPLE = 20_000
POWERS = DEFAULT.powers
WITHIN = 0.99
say = Console(highlight=False).print


class Case(NamedTuple):
    """What was simulated, and some of its rows."""

    model: Model
    data: Data
    rows: Rows
    features: FloatArray
    sample: IntArray
    n_threads: int
    table: LocalRows
    """What the rows have."""


def table_of(model: Model, data: Data, n_threads: int) -> LocalRows:
    """Return rows in memory that have nothing yet."""
    return in_memory(data, n_threads).rows(structured_rows.layout(model), model.counts.law_of_row)


def row_means(model: Model, table: LocalRows) -> FloatArray:
    """Return E[z_n] of all rows."""
    means = [structured_rows.row_means(part, model.n_features) for part in table.parts()]
    return np.concatenate(means)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    parser = argparse.ArgumentParser(prog="python -m experiments.variational.stochastic")
    default = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=default, help="folder for what is found")
    parser.add_argument("--quick", action="store_true", help="100000 rows")
    parser.add_argument("--rows", type=int, help="another number of rows")
    parser.add_argument("--features", type=int, default=50, help="I")
    parser.add_argument("--dims", type=int, default=100, help="D")
    parser.add_argument("--passes", type=int, default=8, help="of the structured method, at most")
    parser.add_argument(
        "--minutes",
        type=float,
        default=20.0,
        help="no pass begins that would end later, but the first",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fit", action="store_true", help="a whole fit instead")
    options = parser.parse_args(arguments)
    n_rows = options.rows or (100_000 if options.quick else 1_000_000)
    options.out.mkdir(parents=True, exist_ok=True)
    name = ("stochastic-fit" if options.fit else "stochastic") + options.quick * "-quick"
    with one_blas_thread():
        if options.fit:
            found = fitted(n_rows, options.threads)
            say(found)
        else:
            latest = time.perf_counter() + 60.0 * options.minutes
            rng = np.random.default_rng(0)
            case = simulated(rng, n_rows, options.features, options.dims, options.threads)
            found = compared(rng, case, options.passes, latest)
            show(found)
    text = json.dumps(found, indent=1) + "\n"
    write_atomically(options.out / f"{name}.json", lambda file: file.write(text.encode()))


def fitted(n_rows: int, n_threads: int) -> dict[str, Any]:
    """Make one pass in batches, and return what was recovered; F1 is that of the sample."""
    rows, values = np.empty((n_rows, scale.FEATURES), np.int8), np.empty((n_rows, scale.DIMS))
    done = 0
    for some, here in scale.parts(n_rows):
        rows[done : done + len(some)], values[done : done + len(some)] = some, here
        done += len(some)
    data, truth, rng = complete(values), scale.truth()[1], np.random.default_rng(0)
    model = Model(ribp.counts.as_row_counts(scale.LAW, n_rows), scale.FEATURES, LinearGaussian())
    table = table_of(model, data, n_threads)
    began, used = time.perf_counter(), time.process_time()
    state = stochastic.start(rng, model, table, best(rng, model, data))
    first = n_found(truth, state.parameters.features)
    state, moved = stochastic.update(rng, np.uint64(0), state, model, table)
    seconds, used = time.perf_counter() - began, time.process_time() - used
    at = np.sort(rng.permutation(n_rows)[:SAMPLE])
    part = model.on_rows(at)
    sampled = table_of(part, data.rows(at), n_threads)
    stochastic.to_structured(state, part, sampled)
    case = Case(model, data, rows, truth, at, n_threads, table)
    return {
        "rows": n_rows, "features": scale.FEATURES, "dims": scale.DIMS, "law": scale.LAW,
        "noise": scale.NOISE, "rarest feature": float(rows.mean(axis=0).min()),
        "features found by the search": first, "moved": moved,
        **recovered(case, state.parameters.features, row_means(part, sampled), at),
        "worst correlation": float(matched(truth, state.parameters.features)[2].min()),
        "seconds": seconds, "processor seconds": used,
        "peak GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }  # fmt: skip


def simulated(
    rng: np.random.Generator, n_rows: int, n_features: int, dims: int, n_threads: int
) -> Case:
    """Return a model, its data, and what they were made of."""
    law = ribp.RestrictedBernoulli(rng.normal(0, 1, n_features), LAW)
    rows = np.empty((n_rows, n_features), np.int8)
    features = rng.normal(size=(n_features, dims))
    values = np.empty((n_rows, dims))
    for at in np.array_split(np.arange(n_rows), max(1, n_rows // 10_000)):
        rows[at] = law.sample(rng, at.size)
        values[at] = rows[at] @ features + NOISE * rng.normal(size=(at.size, dims))
    model = Model(ribp.counts.as_row_counts(LAW, n_rows), n_features, LinearGaussian())
    sample = np.sort(rng.permutation(n_rows)[:SAMPLE])
    data = complete(values)
    table = table_of(model, data, n_threads)
    return Case(model, data, rows, features, sample, n_threads, table)


def compared(rng: np.random.Generator, case: Case, n_passes: int, latest: float) -> dict[str, Any]:
    """Return what both methods gain, in how many passes and seconds, and what they recover."""
    began = time.perf_counter()
    start = best(rng, case.model, case.data, n_starts=2)
    begun = stochastic.start(rng, case.model, case.table, start)
    searched = time.perf_counter() - began
    first = on_sample(case, begun)
    batches = by_batches(case, begun)
    whole = all_rows(case, begun, n_passes, latest)
    lowest, top = whole["bound of the start"], whole["trace"][-1]
    gain, sample_gain = top["bound"] - lowest, top["sample"] - first
    for step in whole["trace"]:
        step["gain"] = (step.pop("bound") - lowest) / gain
    for step in whole["trace"] + batches["trace"]:
        step["gain, sample"] = (step.pop("sample") - first) / sample_gain
    return {
        "rows": len(case.rows), "features": len(case.features), "dims": case.features.shape[1],
        "law": LAW, "noise": NOISE, "threads": case.n_threads, "decay": DEFAULT.decay,
        "seconds of search": searched, "gain": gain,
        "gain of the same features on the sample": sample_gain,
        "structured": whole | {"within 1%": within(whole["trace"])},
        "stochastic": batches | {"within 1%": within(batches["trace"])},
        "peak GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }  # fmt: skip


def all_rows(case: Case, begun: StochasticState, n_passes: int, latest: float) -> dict[str, Any]:
    """Make passes of the structured method."""
    began = time.perf_counter()
    state = stochastic.to_structured(begun, case.model, case.table, POWERS)
    lowest, first = state.bound, time.perf_counter() - began
    say(f"structured: first rows after {first:.0f} s, bound {lowest:.0f}")
    seconds, trace = 0.0, []
    for number in range(1, n_passes + 1):
        began = time.perf_counter()
        if number > 1 and began + seconds / (number - 1) > latest:
            break
        state, _ = structured.update(np.uint64(0), state, case.model, case.table, every=2)
        seconds += time.perf_counter() - began
        say(f"structured: pass {number}, {seconds:.0f} s, bound {state.bound:.0f}")
        shown = on_sample(case, begun._replace(**points(state)))
        step = {"passes": number, "row work": number, "seconds": seconds}
        trace.append(step | {"bound": state.bound, "sample": shown})
    means, everyone = row_means(case.model, case.table), np.arange(len(case.rows))
    hits = recovered(case, state.parameters.features, means, everyone)
    return {"trace": trace, "bound of the start": lowest, "seconds of first rows": first, **hits}


def by_batches(case: Case, begun: StochasticState) -> dict[str, Any]:
    """Use every row in two batches, then find q of the sample."""
    n_rows, rng = len(case.rows), np.random.default_rng(2)
    state, seconds, trace = begun, 0.0, []
    n_batches = max(1, round(n_rows / DEFAULT.batch))
    marks = [max(1, round(share * n_batches)) for share in PARTS]
    rounds = [np.array_split(rng.permutation(n_rows), n_batches) for _ in range(2)]
    for number, chosen in enumerate(rounds[0] + rounds[1], 1):
        began, at = time.perf_counter(), np.sort(chosen)
        state, _ = stochastic.use_batch(
            state, case.model, case.data.rows(at), at, n_threads=case.n_threads
        )
        seconds += time.perf_counter() - began
        if number in marks:
            share = number / n_batches
            step = {"passes": share, "row work": share * len(POWERS), "seconds": seconds}
            trace.append(step | {"sample": on_sample(case, state)})
            say(f"stochastic: {share:.3f} passes, {seconds:.0f} s, {trace[-1]['sample']:.0f}")
    part = case.model.on_rows(case.sample)
    here = table_of(part, case.data.rows(case.sample), case.n_threads)
    stochastic.to_structured(state, part, here, POWERS)
    hits = recovered(case, state.parameters.features, row_means(part, here), case.sample)
    return {"trace": trace, **hits}


def on_sample(case: Case, state: StochasticState) -> float:
    """Return the bound as estimated from the sample, q of its rows found from the prior."""
    return stochastic.estimated_bound(state, case.model, case.table, case.sample, POWERS)


def points(state: VariationalState) -> dict[str, Any]:
    """Return all of a state but its rows."""
    names = ("features", "parameters", "log_odds", "mass", "concentration", "law_counts")
    return {name: getattr(state, name) for name in names}


def within(trace: list[dict[str, float]]) -> dict[str, float] | None:
    """Return the first step within a hundredth of the gain, on the sample."""
    return next((step for step in trace if step["gain, sample"] > WITHIN), None)


def recovered(case: Case, features: FloatArray, means: FloatArray, at: IntArray) -> dict[str, Any]:
    """Return how many features were found, |correlation| > .95, and F1 of some rows."""
    here, there, _ = matched(case.features, features)
    hits = found = true = 0
    for some in np.array_split(np.arange(at.size), max(1, at.size // 10_000)):
        on, truth = means[some] > 0.5, case.rows[at[some]] > 0
        hits += int((on[:, there] & truth[:, here]).sum())
        found, true = found + int(on.sum()), true + int(truth.sum())
    return {
        "features found": n_found(case.features, features),
        "F1 of rows": 2.0 * hits / (found + true),
    }


def matched(truth: FloatArray, features: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return which feature is which, and how well they agree."""
    n = len(truth)
    cross = np.abs(np.corrcoef(truth, features)[:n, n:])
    here, there = linear_sum_assignment(-cross)
    return here, there, cross[here, there]


def n_found(truth: FloatArray, features: FloatArray) -> int:
    """Return how many features were found, |correlation| > .95."""
    return int((matched(truth, features)[2] > 0.95).sum())


def show(found: dict[str, Any]) -> None:
    """Print a table."""
    table = Table("method", "passes", "row work", "seconds", "gain", "gain, sample")
    for method in ("structured", "stochastic"):
        for step in found[method]["trace"]:
            exact = f"{step['gain']:.4f}" if "gain" in step else ""
            table.add_row(
                method, f"{step['passes']:.3g}", f"{step['row work']:.3g}",
                f"{step['seconds']:.0f}", exact, f"{step['gain, sample']:.4f}",
            )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
