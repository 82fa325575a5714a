"""From what chains recorded to one labelled tree.

Groups: `posterior` (every draw, nothing that depends on how features are named), `features` (the
stored draws: components, log-odds, bits of the rows, sizes of entries that have one, exposures that
are learned), `warmup`, and `laws` (which row has which, and exposures that are given).
Chains have equally many draws, those of the shortest; draws have equally many features, those of
the largest: features that do not exist have NaN components and log-odds, and no row has them.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError, Notice
from ribp.recording import ChainDraws, unpack_rows
from ribp.results.schema import KIND, SCHEMA_VERSION
from ribp.results.settings import likelihood, to_json
from ribp.version import __version__

_FILLS = {  # what stands where a draw has no such feature
    "components": np.nan,
    "log_odds": np.nan,
    "rows": 0,
    "count_histogram": 0,
    "count_log_probs": -np.inf,
}
_AXES = {
    "components": ("feature", "dim"),
    "background": ("dim",),
    "log_odds": ("feature",),
    "rows": ("row", "byte"),
    "sizes": ("row", "size"),
    "exposure": ("row",),
    "noise_scale": ("dim",),
    "own": ("own_number",),
    "count_histogram": ("count",),
    "count_log_probs": ("law", "count"),
}

Names = Sequence[Any] | NDArray[Any]
Variables = dict[str, tuple[tuple[str, ...], NDArray[Any]]]


def build(
    chains: Sequence[ChainDraws],
    settings: Mapping[str, Any],
    *,
    law_of_row: IntArray | None = None,
    exposures: FloatArray | None = None,
    interrupted: bool = False,
    warnings: Sequence[Notice] = (),
    dim_names: Names | None = None,
    row_names: Names | None = None,
) -> xr.DataTree:
    """Return the tree of a fit; `Result` and `save` validate it.

    Parameters
    ----------
    chains
        What each chain recorded; those without a draw are left out, and a warning says so.
    settings
        Of the fit, as JSON can hold them.
    law_of_row
        Shape (rows,): which of `settings["laws"]` each row has; None for a buffet without laws.
    exposures
        Shape (rows,): those that were given; None without any.
    interrupted
        Whether the fit ended before its time.
    warnings
        What the user should know about the fit.
    dim_names, row_names
        Names of the columns and rows of the data; None numbers them.
    """
    numbers = [number for number, chain in enumerate(chains) if chain.posterior]
    if not numbers:
        raise InputError(
            "chains", "must have at least one draw", f"{len(chains)} without any", "Run longer."
        )
    used = [chains[number] for number in numbers]
    n_draws = min(len(chain.posterior) for chain in used)
    labels = {
        "chain": np.array(numbers),
        "row": _names("row_names", row_names, settings["n_rows"]),
        "dim": _names("dim_names", dim_names, settings["n_dims"]),
    }
    labels |= _latent_labels(settings, labels["dim"].tolist())
    groups: dict[str, Variables] = {
        "/posterior": _posterior(used, n_draws),
        "/features": _features(
            used, n_draws, bool(settings["likelihood"]["background"]), "latent" in labels
        ),
        "/warmup": _warmup(used),
        "/laws": {
            name: (("row",), np.array(values))
            for name, values in (("law_of_row", law_of_row), ("exposure", exposures))
            if values is not None
        },
    }
    heard = [*warnings, *_about_chains(chains, n_draws)]
    datasets = {name: _labelled(group, labels) for name, group in groups.items()}
    datasets["/"] = xr.Dataset(attrs=_attributes(settings, interrupted, heard))
    return xr.DataTree.from_dict(datasets)


def _latent_labels(settings: Mapping[str, Any], dims: list[Any]) -> dict[str, NDArray[Any]]:
    """Return names of what features act on, and of own numbers, if that is not the columns."""
    try:
        law = likelihood(settings)
    except InputError:  # `Result` says what is wrong
        return {}
    latent = law.latent_names(dims)
    if latent is None:
        return {}
    own = np.array([_text(name) for name in law.own_names(dims)], dtype=np.str_)
    return {"latent": np.array([_text(name) for name in latent], np.str_), "own_number": own}


def _attributes(
    settings: Mapping[str, Any], interrupted: bool, warnings: Sequence[Notice]
) -> dict[str, Any]:
    return {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "ribp_version": __version__,
        "versions": _versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": to_json(settings),
        "interrupted": int(interrupted),
        "warnings": to_json([notice._asdict() for notice in warnings]),
    }


@cache
def _versions() -> str:
    names = ("numpy", "scipy", "numba", "xarray")
    return to_json({"python": platform.python_version()} | {name: version(name) for name in names})


def _about_chains(chains: Sequence[ChainDraws], n_draws: int) -> list[Notice]:
    lengths = [len(chain.posterior) for chain in chains]
    said = [
        Notice("chain-without-draws", f"Chain {at} has no draws and was left out.")
        for at, n in enumerate(lengths)
        if n == 0
    ]
    if any(n > n_draws for n in lengths):
        cut = f"Chains were cut to {n_draws} draws, the length of the shortest."
        said.append(Notice("chains-cut", cut))
    return said


def _posterior(chains: Sequence[ChainDraws], n_draws: int) -> Variables:
    variables = _stacked([chain.posterior[:n_draws] for chain in chains], ("chain", "draw"))
    return variables | {"draw": (("draw",), np.arange(n_draws))}


def _features(
    chains: Sequence[ChainDraws], n_draws: int, background: bool, latent: bool
) -> Variables:
    """Return stored draws; features act on `latent` columns, or on those of the data."""
    n_stored = min(len(chain.features) for chain in chains)
    numbers = np.array([draw["draw"] for draw in chains[0].features[:n_stored]], dtype=np.int64)
    n_stored = int(np.count_nonzero(numbers < n_draws))
    draws = [chain.features[:n_stored] for chain in chains]
    same = all([one["draw"] for one in chain] == numbers[:n_stored].tolist() for chain in draws)
    if not n_stored or not same:
        raise InputError(
            "chains", "must all have stored the same draws", numbers, "Use one `thin` for all."
        )
    variables = _stacked(draws, ("chain", "draw"))
    if not background:
        del variables["background"]
    for name in ("components", "background") if latent else ():
        dims, values = variables[name]
        variables[name] = ((*dims[:-1], "latent"), values)
    packed, n_features = variables["rows"][1], variables["log_odds"][1].shape[-1]
    active = unpack_rows(np.bitwise_or.reduce(packed, axis=2), n_features).astype(bool)
    return variables | {
        "active": (("chain", "draw", "feature"), active),
        "draw": (("draw",), numbers[:n_stored]),
    }


def _warmup(chains: Sequence[ChainDraws]) -> Variables:
    n_sweeps = min(len(chain.warmup) for chain in chains)
    sweeps = [chain.warmup[:n_sweeps] for chain in chains]
    variables = _stacked(sweeps, ("chain", "sweep"))
    if not n_sweeps:
        empty = (len(chains), 0)
        variables = {
            "log_joint": (("chain", "sweep"), np.zeros(empty)),
            "active_features": (("chain", "sweep"), np.zeros(empty, np.int64)),
        }
    return variables | {"sweep": (("sweep",), np.arange(n_sweeps))}


def _stacked(draws: Sequence[Sequence[Mapping[str, Any]]], dims: tuple[str, str]) -> Variables:
    """Return every variable of the draws, (chain, draw, ...), filled up to the largest draw."""
    names = [name for one in draws[0][:1] for name in one if name not in ("draw", "n_features")]
    variables: Variables = {}
    for name in names:
        values = [[np.asarray(one[name]) for one in chain] for chain in draws]
        stacked = _filled(values, _FILLS.get(name, 0))
        variables[name] = (dims + _AXES.get(name, ())[: stacked.ndim - 2], stacked)
    return variables


def _filled(values: list[list[NDArray[Any]]], fill: float) -> NDArray[Any]:
    shape = np.max([one.shape for chain in values for one in chain], axis=0).astype(int)
    result = np.full((len(values), len(values[0]), *shape), fill, dtype=values[0][0].dtype)
    for at, chain in enumerate(values):
        for number, one in enumerate(chain):
            here: tuple[Any, ...] = (at, number, *(slice(size) for size in one.shape))
            result[here] = one
    return result


def _labelled(group: Variables, labels: Mapping[str, NDArray[Any]]) -> xr.Dataset:
    """Return a dataset in which chains, rows and columns have their labels."""
    met = {dim for dims, _ in group.values() for dim in dims}
    met |= {"dim"} if "components" in group else set()
    return xr.Dataset(group, coords={dim: labels[dim] for dim in labels if dim in met})


def _names(argument: str, names: Names | None, size: int) -> NDArray[Any]:
    if names is None:
        return np.arange(size)
    array = np.asarray(names)
    if array.ndim != 1 or array.size != size:
        raise InputError(argument, f"must be {size} names", f"shape {array.shape}", "Count them.")
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    return np.array([_text(name) for name in array.tolist()], dtype=np.str_)


def _text(name: object) -> str:
    """Return a text that UTF-8 and C strings can hold."""
    return str(name).encode("utf-8", "replace").decode().replace("\0", "\ufffd")
