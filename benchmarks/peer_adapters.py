"""Other people's samplers and kernels, in a process of their own; imports nothing of ours.

    python peer_adapters.py NAME JOB FOLDER IN.npz OUT.npz

A sampler is a function of what it is given (`X`, NaN where hidden, and what else it may know) that
returns two functions: one makes a sweep, the other returns Z and the means of all entries. `JOBS`
drive it. Time is that of the processor; one sweep on sixty rows is made first and not counted,
since it may compile.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

Given = dict[str, Any]
Sampler = tuple[Callable[[], object], Callable[[], tuple[Any, Any]]]
clock = time.process_time
N_WARM = 60
STORED = 200
"""Draws of Z that a chain stores, at the most."""


def best(action: Callable[[], object], seconds: float = 0.4) -> float:
    """Return the best processor seconds of an action, repeated for a while after a warm-up."""
    action()
    end, found, n = clock() + seconds, np.inf, 1
    while clock() < end or found == np.inf:
        began = clock()
        for _ in range(n):
            action()
        took = clock() - began
        if took < 0.01:
            n *= 2
        else:
            found = min(found, took / n)
    return found


# Samplers


def pyibp(given: Given) -> Sampler:
    from PyIBP import PyIBP

    np.random.seed(given["seed"])  # noqa: NPY002
    hidden = np.isnan(given["X"])
    model = PyIBP(
        np.where(hidden, np.nanmean(given["X"], axis=0), given["X"]),
        (1.0, 1.0, 1.0), (given.get("noise", 1.0), 1.0, 1.0), (given.get("size", 1.0), 1.0, 1.0),
        missing=hidden if hidden.any() else None, initZV=given.get("Z"),
    )  # fmt: skip
    return model.fullSample, lambda: (model.ZV, model.ZV @ model.weights())


def pgfa(kind: str, given: Given) -> Sampler:
    import pgfa.models.linear_gaussian as linear
    from pgfa.utils import get_feat_alloc_updater, set_seed

    set_seed(given["seed"])
    finite = given.get("features")
    model, ones = linear.get_model(given["X"], K=finite), np.ones(2)
    if "Z" in given:
        V, noise, size = given["A"], given["noise"] ** -2, given["size"] ** -2
        model.params = linear.Parameters(1.0, ones, size, ones, noise, ones, V, given["Z"])
    options = {"singletons_updater": None if finite else linear.PriorSingletonsUpdater()}
    if kind == "pg":  # as in its example
        options |= {"annealing_power": 1.0, "num_particles": 20, "test_path": "zeros"}
    rows = get_feat_alloc_updater(updater=kind, updater_kwargs=options)
    updater = linear.ModelUpdater(rows)
    state = lambda: (model.params.Z, model.params.Z @ model.params.V)  # noqa: E731
    return lambda: updater.update(model), state


def hybrid(given: Given) -> Sampler:
    from hybrid_ibp import HybridIBPAll

    np.random.seed(given["seed"])  # noqa: NPY002
    scales = {"sigma_x": given.get("noise", 1.0), "sigma_a": given.get("size", 1.0)}
    hides = 2.5 / len(given["X"])  # entries of two rows: it must hide some
    model = HybridIBPAll(
        given["X"], initial_Z=given.get("Z"), test_prop=hides, verbose=False, **scales
    )
    made = 0

    def step() -> None:  # as its method `sample`, which also writes a file
        nonlocal made
        model.map_step()
        if made % model._L == 0:
            model.new_Z()
            model.regularize_matrices()
            model.reduce_step(num_P=1)
        made += 1

    return step, lambda: (np.asarray(model._Z_local), None)


def glfm(given: Given) -> Sampler:
    import GLFMlib

    X = np.ascontiguousarray(given["X"].T)
    Z = np.ascontiguousarray(given["Z"].T)

    def step() -> None:
        nonlocal Z
        kinds, transforms = "g" * len(X), np.ones(len(X))
        Z = GLFMlib.infer(X, kinds, Z, transforms, 0, 0.01, 1.0, 1.0, given["inner"], 80, -1e6)[0]

    return step, lambda: (Z.T, None)


def mofapy2(given: Given) -> Sampler:
    from mofapy2.run.entry_point import entry_point

    model, X = entry_point(), given["X"]

    def step() -> None:
        model.set_data_matrix([[X]], likelihoods=["gaussian"])
        model.set_model_options(factors=given["factors"])
        model.set_train_options(iter=1000, seed=given["seed"], verbose=False, quiet=True)
        model.build()
        model.run()

    def state() -> tuple[Any, Any]:
        nodes = model.model.nodes
        Z, W = nodes["Z"].getExpectation(), nodes["W"].getExpectation()[0]
        return Z, Z @ W.T + np.nanmean(X, axis=0)

    return step, state


# What is done with a sampler


def sweeps(make: Callable[[Given], Sampler], given: Given) -> Given:
    """Return processor seconds and features of some sweeps, all after a first one."""
    few = {name: given[name][:N_WARM] for name in ("X", "Z")}
    make({**given, **few})[0]()
    step, state = make(given)
    seconds, features = [], [state()[0].shape[1]]
    for _ in range(given["sweeps"]):
        began = clock()
        step()
        seconds.append((clock() - began) / given.get("inner", 1))
        features.append(state()[0].shape[1])
    return {"seconds": seconds, "features": features}


def chain(make: Callable[[Given], Sampler], given: Given) -> Given:
    """Run until the last of `budgets`, in processor seconds; return draws and predictions.

    A prediction is the mean over the later half of the sweeps that were made within a budget.
    """
    make({**given, "X": given["X"][:N_WARM]})[0]()
    where, budgets = np.isnan(given["X"]), given["budgets"]
    times: list[float] = []
    draws: list[Any] = []
    began, means, predicted = clock(), [], []
    step, state = make(given)
    for budget in budgets:
        while not times or (times[-1] < budget and not given.get("once")):
            step()
            times.append(clock() - began)
            Z, mean = state()
            if where.any():
                means.append(mean[where])
            if times[-1] >= len(draws) * budgets[-1] / STORED:
                draws.append(np.array(Z, np.int8))
        predicted.append(np.mean(means[len(means) // 2 :], axis=0) if means else [])
    width = max((Z.shape[1] for Z in draws), default=0)
    stacked = [np.pad(Z, ((0, 0), (0, width - Z.shape[1]))) for Z in draws]
    return {"draws": stacked, "predicted": predicted, "times": times}


# Kernels


def dppy(given: Given) -> Given:
    from dppy.exact_sampling import elementary_symmetric_polynomials as polynomials
    from dppy.exact_sampling import k_dpp_eig_vecs_selector as select

    odds, k, n = np.exp(given["log_odds"]), given["k"], given["rows"]
    names, rng = np.arange(odds.size)[None], np.random.RandomState(0)

    def sample() -> list[Any]:
        table = polynomials(odds, k)
        return [select(odds, names, k, table, rng)[0] for _ in range(n)]

    return {
        "log_esp": np.log(polynomials(odds, k)[:, -1]),
        "log_esp_seconds": best(lambda: polynomials(odds, k)),
        "sample": [np.isin(names[0], one) for one in sample()],
        "sample_seconds": best(sample) / n,
    }


def jnotype(given: Given) -> Given:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from jnotype import conditional_bernoulli as law

    theta, k = jnp.asarray(given["log_odds"]), given["k"]
    n, counts = min(given["rows"], 5), jnp.arange(k)
    probs = jax.jit(jax.grad(lambda x: law._calculate_logZ(x, counts)[-1]))

    def sample() -> Any:
        return law.sample_conditional_bernoulli(jax.random.PRNGKey(0), [k] * n, theta)

    return {
        "log_esp": law._calculate_logZ(theta, counts),
        "log_esp_seconds": best(lambda: law._calculate_logZ(theta, counts).block_until_ready()),
        "probs": probs(theta),
        "probs_seconds": best(lambda: probs(theta).block_until_ready()),
        "sample": sample(),
        "sample_seconds": best(sample) / n,
    }


SAMPLERS: dict[str, Callable[[Given], Sampler]] = {
    "pyibp": pyibp,
    "pgfa": partial(pgfa, "g"),
    "pgfa-pg": partial(pgfa, "pg"),
    "hybrid": hybrid,
    "glfm": glfm,
    "mofapy2": mofapy2,
}
JOBS = {"sweeps": sweeps, "chain": chain}
KERNELS = {"dppy": dppy, "jnotype": jnotype}


def main(name: str, job: str, folder: str, source: str, out: str) -> None:
    sys.path.insert(0, folder)
    given = {
        key: value.item() if value.ndim == 0 else value for key, value in np.load(source).items()
    }
    found = KERNELS[name](given) if job == "kernels" else JOBS[job](SAMPLERS[name], given)
    if folder:
        ask = ["git", "-C", folder, "describe", "--always", "--dirty=, changed"]
        found["version"] = subprocess.run(ask, capture_output=True, text=True).stdout.strip()
    else:
        found["version"] = version(name)
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
