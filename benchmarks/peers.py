"""Other people's software beside ours, in one run: speed, held-out entries, what is found.

    python -m benchmarks.peers --python PYTHON --rscript RSCRIPT --mofapy2 PYTHON
        --pyibp FOLDER --pgfa FOLDER --hybrid FOLDER --glfm FOLDER --data FOLDER --only sweeps

Every peer is optional: one that is not given is left out, and that is said. Those that are folders
are run by PYTHON, which also has DPPy and Jnotype; each in a process of its own, on one thread
(`peer_adapters`). Writes `peers.json`, where a part that was run takes the place of its last run,
and `peers.md`, which is made from it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ribp
from benchmarks import peer_adapters as adapters
from benchmarks.peer_table import markdown
from experiments.data import load_cambridge
from experiments.recovery import cases
from experiments.shared import write_text
from ribp import counts
from ribp.baselines import ibp_gibbs
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.moments import moments
from ribp.likelihoods.units import Units
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs, gibbs_rows, rows_buffet
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.search.pool import from_rows
from ribp.testing.recovery import f1
from ribp.threads import one_blas_thread

HERE = Path(__file__).parent
FOLDERS = ("pyibp", "pgfa", "hybrid", "glfm")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")} | {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
}
Given = dict[str, Any]


class Bench:
    """What was asked for, and which peers took part."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.quick = options, options.quick
        self.versions: dict[str, str] = {}
        self.left_out: set[str] = set()

    def seeds(self, number: int) -> range:
        """Return the seeds of a part."""
        return range(1 if self.quick else number)

    def ask(self, name: str, job: str, given: Given) -> Given | None:
        """Return what a peer, or ours, found; None for a peer that is left out."""
        if name in OURS:
            return adapters.JOBS[job](OURS[name], given)
        chosen, root = self.options, name.partition("-")[0]
        folder = getattr(chosen, root) if root in FOLDERS else ""
        python = chosen.mofapy2 if root == "mofapy2" else chosen.python
        if root == "sampling":
            return self._done(root, chosen.rscript and sampling(chosen.rscript, given))
        if folder:
            python = python or sys.executable
        if folder is None or not python:
            return self._done(root, None)
        with tempfile.TemporaryDirectory() as place:
            source, out = f"{place}/in.npz", f"{place}/out.npz"
            np.savez(source, **given)
            script = str(HERE / "peer_adapters.py")
            run([python, script, name, job, folder and str(Path(folder).resolve()), source, out])
            return self._done(root, dict(np.load(out)))

    def _done(self, name: str, found: Given | None) -> Given | None:
        if found:
            self.versions[name] = str(found.pop("version"))
            return found
        self.left_out.add(name)
        return None


def run(command: list[str]) -> str:
    """Return what a peer prints; it runs on one thread, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            command, cwd=place, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    if done.returncode or "EXECUTION STOPPED" in done.stdout:  # as GLFM says
        raise SystemExit(f"{command[2]} failed:\n{done.stderr or done.stdout}")
    return done.stdout


def sampling(rscript: str, given: Given) -> Given:
    """Return what the R package finds."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        np.savetxt(file, np.exp(given["log_odds"]))
        file.flush()
        script = str(HERE / "peer_sampling.R")
        printed = run([rscript, script, file.name, str(given["k"]), str(given["rows"])])
    lines = (line.split() for line in printed.splitlines())
    read = {name: words for name, *words in lines}
    found: Given = {"version": read.pop("version")[0]}
    found |= {name: np.array(words, dtype=float) for name, words in read.items()}
    found["sample"] = found["sample"].reshape(given["rows"], -1)
    return found


# Ours, with the face of a peer


def standard(given: Given) -> tuple[LinearGaussian, Any]:
    """Return the likelihood of a default fit, and data in standard units."""
    data = as_data(given["X"])
    background = bool(given.get("background"))
    likelihood = LinearGaussian(background=background, units=Units.of(moments(data)))
    return likelihood, likelihood.standard(data)


def ours(kind: str, given: Given) -> adapters.Sampler:
    """Return one of our samplers, at the rows given or at the best start of a search."""
    rng = np.random.default_rng(given["seed"])
    seed, (likelihood, data) = kernel_seed(rng), standard(given)
    n_rows = len(given["X"])
    model: Any = ibp_gibbs.BuffetModel(n_rows, likelihood)
    if "Z" in given:
        rows = np.ascontiguousarray(given["Z"], np.int8)
        law = counts.learned([1.0] * (rows.shape[1] + 1))
        restricted = Model(counts.as_row_counts(law, n_rows), rows.shape[1], likelihood)
        state = from_rows(rng, restricted, data, rows)
        if kind == "buffet":
            state = ibp_gibbs.from_state(rng, model, state)
        else:
            model = restricted
    else:
        state = ibp_gibbs.best_start(rng, model, data, given["starts"])
    moves: dict[str, Callable[..., Any]] = {
        "buffet": ibp_gibbs.update, "gibbs": gibbs.update, "gibbs-rows": gibbs_rows.update_in_memory
    }  # fmt: skip

    def step() -> None:
        nonlocal state
        found = moves[kind](rng, seed, state, model, data)
        state = found if kind == "buffet" else found[0]

    def view() -> tuple[Any, Any]:
        known = likelihood.reported(state.parameters)
        return state.rows, state.rows @ known.features + known.background

    return step, view


OURS = {kind: partial(ours, kind) for kind in ("buffet", "gibbs", "gibbs-rows")}


# Parts


def buffet_data(seed: int, n_rows: int, dims: int, mass: float, noise: float) -> Given:
    """Draw rows of a buffet, features N(0, 2^2), and data."""
    rng = np.random.default_rng([seed, 41])
    Z = ibp_gibbs.BuffetModel(n_rows, LinearGaussian()).draw_rows(rng, mass)
    A = rng.normal(0.0, 2.0, (Z.shape[1], dims))
    X = Z @ A + noise * rng.standard_normal((n_rows, dims))
    return {"X": X, "Z": Z.astype(float), "A": A, "noise": noise, "size": 2.0, "seed": seed}


def sweeps(bench: Bench) -> Given:
    """Return microseconds per row and feature of a sweep; all begin at the rows of the truth."""
    toy = ribp.datasets.toy_missing_one(np.random.default_rng(0))
    images = {"X": toy.data, "Z": toy.rows.astype(float), "A": toy.components, "seed": 0}
    images |= {"noise": float(toy.noise_scale), "size": float(toy.components.std())}
    sets = {"buffet": buffet_data(0, *((90, 6, 0.7) if bench.quick else (1000, 10, 2.7)), 0.2)}
    if not bench.quick:
        sets["images"] = images
    numbers: Given = {}
    for where, given in sets.items():
        numbers[where] = {"rows": len(given["X"]), "dims": given["X"].shape[1]}
        numbers[where] |= {"features": given["Z"].shape[1], "microseconds": {}, "used": {}}
        for name in (*OURS, "glfm", "pyibp", "pgfa", "pgfa-pg", "hybrid"):
            more = {"inner": 10} if name == "glfm" else {}
            number = 30 if name in OURS else 3
            found = bench.ask(name, "sweeps", {**given, **more, "sweeps": number})
            if found is None:
                continue
            used = np.add(found["features"][1:], found["features"][:-1]) / 2
            each = 1e6 * np.array(found["seconds"]) / used / len(given["X"])
            numbers[where]["microseconds"][name] = each.min()
            numbers[where]["used"][name] = used[each.argmin()]
    return numbers


def our_kernels(given: Given) -> Given:
    """Return our values and seconds, as a peer does."""
    theta, k, n = given["log_odds"], given["k"], given["rows"]
    rng, law = np.random.default_rng(0), counts.exactly(k)
    actions: dict[str, Callable[[], Any]] = {
        "log_esp": lambda: ribp.log_esp(theta, k),
        "probs": lambda: ribp.inclusion_probs(theta, k),
        "sample": lambda: ribp.RestrictedBernoulli(theta, law).sample(rng, n),
    }
    found = {name: action() for name, action in actions.items()}
    pi = found["probs"]
    actions["inverse"] = lambda: ribp.log_odds_from_inclusion(pi)
    found["inverse"] = actions["inverse"]()
    for name, action in actions.items():
        found[f"{name}_seconds"] = adapters.best(action) / (n if name == "sample" else 1)
    return found


def kernels(bench: Bench) -> Given:
    """Return microseconds of kernels, and the largest differences from ours."""
    numbers: Given = {}
    for size, k in [(20, 4)] if bench.quick else [(100, 10), (1000, 100)]:
        theta = np.random.default_rng(size).normal(size=size)
        given = {"log_odds": theta, "k": k, "rows": 1000}
        mine, here = our_kernels(given), {}
        for name in ("ribp", "sampling", "dppy", "jnotype"):
            found = mine if name == "ribp" else bench.ask(name, "kernels", given)
            if found is None:
                continue
            assert (np.asarray(found["sample"]).sum(axis=1) == k).all()
            if "inverse" in found:  # log-odds up to a constant: their probabilities are compared
                found["inverse"] = ribp.inclusion_probs(found["inverse"], k)
            own = {"log_esp": mine["log_esp"], "probs": mine["probs"], "inverse": mine["probs"]}
            here[name] = {
                "microseconds": {
                    at[:-8]: 1e6 * float(np.squeeze(value))
                    for at, value in found.items() if at.endswith("_seconds")
                },
                "difference": {
                    at: float(np.abs(found[at] - value).max())
                    for at, value in own.items() if at in found
                },
            }  # fmt: skip
        numbers[f"N = {size}, k = {k}"] = here
    return numbers


def error(mean: Any, hidden: Any) -> float:
    """Return the root mean square error."""
    return float(np.sqrt(np.mean((mean - hidden) ** 2)))


def held_out(bench: Bench) -> Given:
    """Return errors of hidden entries of a buffet within budgets of processor time."""
    budgets = [0.1, 0.3] if bench.quick else [2.0, 5.0, 15.0]
    runs = []
    for seed in bench.seeds(5):
        made = buffet_data(seed, *((90, 6, 0.7) if bench.quick else (500, 20, 2.0)), 0.5)
        where = np.random.default_rng([seed, 42]).random(made["X"].shape) < 0.1
        X = np.where(where, np.nan, made["X"])
        given = {"X": X, "seed": seed, "budgets": budgets, "starts": 1}
        hidden, truth = made["X"][where], (made["Z"] @ made["A"])[where]
        runs.append({"seed": seed, "name": "truth", "rmse": [error(truth, hidden)]})
        for name in ("buffet", "pyibp", "mofapy2"):
            more = {"once": 1, "factors": min(20, X.shape[1])} if name == "mofapy2" else {}
            if (found := bench.ask(name, "chain", {**given, **more})) is not None:
                rmse = [error(mean, hidden) for mean in found["predicted"]]
                runs.append({"seed": seed, "name": name, "rmse": rmse})
                runs[-1] |= {"sweeps": len(found["times"]), "first": float(found["times"][0])}
    return {"budgets": budgets, "runs": runs}


def log_joints(given: Given, draws: Any) -> list[float]:
    """Return our log joint of a buffet at each Z, parameters drawn given it: a mean of ten."""
    likelihood, data = standard(given)
    model, rng = ibp_gibbs.BuffetModel(len(given["X"]), likelihood), np.random.default_rng(0)
    buffet, values = model.buffet, []
    for Z in draws:
        rows = np.ascontiguousarray(Z[:, Z.any(axis=0)], np.int8)
        parameters, total = likelihood.first_guess(data, rows.shape[1]), 0.0
        for at in range(15):
            parameters = likelihood.update(rng, data, rows, parameters)
            mass = rows_buffet.draw_mass(rng, len(rows), rows.shape[1], 1.0)
            if at >= 5:
                total += buffet.log_joint(buffet.state(rows, mass, parameters), data) / 10
        values.append(total)
    return values


def chains(bench: Bench) -> Given:
    """Return the best log joint of chains on the data of the peers, and F1 where truth is known."""
    runs, budget = [], 0.5 if bench.quick else 30.0
    sets: list[tuple[str, int, Given, Any]] = []
    for seed in bench.seeds(5):
        case = cases.load("ibp-20", seed)
        n = 90 if bench.quick else 1000
        sets.append(("ibp-20", seed, {"X": case.data[:n], "features": 20}, case.rows[:n]))
        if bench.options.data:
            images = load_cambridge(bench.options.data / "cambridge_10k.npz").data
            sets.append(("cambridge", seed, {"X": images[:1000], "background": True}, None))
    for where, seed, given, truth in sets:
        given |= {"seed": seed, "budgets": [budget], "starts": 6}
        names = ("hybrid",) if truth is None else ("truth", "pgfa", "pgfa-pg")
        for name in ("buffet", *names):
            known = {"draws": [truth], "times": []} if name == "truth" else None
            if (found := known or bench.ask(name, "chain", given)) is None:
                continue
            values = log_joints(given, found["draws"])
            Z = found["draws"][int(np.argmax(values))]
            times = found["times"]
            runs.append({"data": where, "seed": seed, "name": name, "log_joint": max(values)})
            runs[-1] |= {"features": int(Z.any(axis=0).sum()), "sweeps": len(times)}
            runs[-1] |= {"seconds": float(times[-1]) if len(times) else 0.0}
            if truth is not None:
                runs[-1]["f1"] = f1(Z, truth)
    return {"budget": budget, "runs": runs}


PARTS = {"sweeps": sweeps, "kernels": kernels, "held_out": held_out, "chains": chains}


def main(arguments: list[str] | None = None) -> None:
    """Run all parts or one, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    for name in ("python", "rscript", "mofapy2", *FOLDERS):
        parser.add_argument(f"--{name}")
    parser.add_argument("--data", type=Path, help="folder of cambridge_10k.npz")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it works")
    options = parser.parse_args(arguments)
    path = options.out / "peers.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    for name in [options.only] if options.only else PARTS:
        bench = Bench(options)
        with one_blas_thread():
            numbers = PARTS[name](bench)
        versions = {"ribp": ribp.__version__, **bench.versions}
        stored[name] = {
            "date": datetime.now(UTC).date().isoformat(), "versions": versions,
            "left_out": sorted(bench.left_out), "numbers": numbers,
        }  # fmt: skip
        stored = {part: stored[part] for part in PARTS if part in stored}
        text = json.dumps(stored, indent=1, default=float)
        write_text(path, [text])
        write_text(options.out / "peers.md", markdown(json.loads(text)))
        print("\n".join(markdown({name: json.loads(text)[name]})), flush=True)


if __name__ == "__main__":
    main()
