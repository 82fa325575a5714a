"""What a tree must hold, and how its parts must fit together.

`problem` compares groups with the settings and with each other, and names the group and variable
that is wrong: whatever reads a tree that has none can rely on names, types, shapes and labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ribp.counts import parse
from ribp.errors import InputError, Notice
from ribp.posterior.judgement import Judgement
from ribp.results import feature_names
from ribp.results.settings import from_json, has_learned_law, likelihood, model

KIND = "ribp result"
SCHEMA_VERSION = 5

_TEXTS = ("ribp_version", "versions", "created", "settings", "warnings")
_SAMPLES = ("chain", "draw")


class _Variable(NamedTuple):
    kind: str
    """Of its dtype, as NumPy has it."""
    dims: tuple[str, ...]


def problem(tree: xr.DataTree) -> str | None:
    """Return the first thing that is wrong with a tree, or None."""
    try:
        return next(_problems(tree), None)
    except InputError as error:
        return str(error)
    except RecursionError:
        return "a count law is nested too deeply"


def _problems(tree: xr.DataTree) -> Iterator[str]:
    yield from _wrong_attributes(tree.attrs)
    settings = from_json(tree.attrs["settings"])
    expected = _expected(settings)
    for group, variables in expected.items():
        if group not in tree.children:
            yield f"the group {group} is missing"
        for name, variable in variables.items():
            yield from _wrong_variable(tree[group].to_dataset(), group, name, variable)
    yield from _unexpected(tree, expected)
    yield from _wrong_sizes(tree, settings)
    yield from _wrong_labels(tree)
    yield from _wrong_exposures(tree)
    counts = tree["laws"].dataset.get("law_of_row")
    model(settings, None if counts is None else counts.to_numpy())


def _wrong_attributes(attrs: Mapping[Any, Any]) -> Iterator[str]:
    for name in _TEXTS:
        if not isinstance(attrs.get(name), str):
            yield f"the text {name} is missing"
    if attrs.get("interrupted") not in (0, 1):
        yield "the attribute interrupted is missing, or neither 0 nor 1"
    for name, kind in (("warnings", list), ("versions", dict)):
        try:
            if not isinstance(json.loads(attrs[name]), kind):
                yield f"the text {name} is not a {kind.__name__}"
        except (ValueError, RecursionError):
            yield f"the text {name} is not JSON"
    if not all(_is_notice(one) for one in json.loads(attrs["warnings"])):
        yield "the text warnings holds something without a code and a text"
    if "judgement" in attrs:
        Judgement.from_json(attrs["judgement"])
    if "feature_names" in attrs:
        feature_names.from_text(attrs["feature_names"])


def _is_notice(value: Any) -> bool:
    keys = isinstance(value, dict) and set(value) == set(Notice._fields)
    return keys and all(isinstance(text, str) for text in value.values())


def _expected(settings: Mapping[str, Any]) -> dict[str, dict[str, _Variable]]:
    """Return which variables each group must have, given the settings."""
    law = likelihood(settings)
    posterior = {name: _Variable("f", _SAMPLES) for name in ("mass", "concentration", "log_joint")}
    for name, dims in law.stored_scales().items():
        posterior[name] = _Variable("f", (*_SAMPLES, *dims))
    posterior["active_features"] = _Variable("i", _SAMPLES)
    posterior["count_histogram"] = _Variable("i", (*_SAMPLES, "count"))
    if has_learned_law(settings):
        posterior["count_log_probs"] = _Variable("f", (*_SAMPLES, "law", "count"))
    column = "dim" if law.latent_names(range(settings["n_dims"])) is None else "latent"
    features = {
        "components": _Variable("f", (*_SAMPLES, "feature", column)),
        "log_odds": _Variable("f", (*_SAMPLES, "feature")),
        "active": _Variable("b", (*_SAMPLES, "feature")),
        "rows": _Variable("u", (*_SAMPLES, "row", "byte")),
    }
    if law.entries != "binary":
        kind = "u" if law.entry_law.counts else "f"
        features["sizes"] = _Variable(kind, (*_SAMPLES, "row", "size"))
    if law.exposure == "learn":
        features["exposure"] = _Variable("f", (*_SAMPLES, "row"))
    if law.background:
        features["background"] = _Variable("f", (*_SAMPLES, column))
    warmup = {
        "log_joint": _Variable("f", ("chain", "sweep")),
        "active_features": _Variable("i", ("chain", "sweep")),
    }
    laws = {"law_of_row": _Variable("i", ("row",))} if settings["laws"] else {}
    if law.exposure == "given":
        laws["exposure"] = _Variable("f", ("row",))
    return {"posterior": posterior, "features": features, "warmup": warmup, "laws": laws}


def _wrong_variable(group: xr.Dataset, place: str, name: str, expected: _Variable) -> Iterator[str]:
    if name not in group.data_vars:
        yield f"{place}/{name} is missing"
    variable = group[name]
    if variable.dims != expected.dims:
        yield f"{place}/{name} has the dimensions {variable.dims} instead of {expected.dims}"
    if variable.dtype.kind != expected.kind:
        kind = expected.kind
        yield f"{place}/{name} has the type {variable.dtype}, of another kind than {kind!r}"


def _unexpected(tree: xr.DataTree, expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield what would say something else than the settings; other variables are the user's."""
    for group, name in (
        ("posterior", "noise_scale"),
        ("posterior", "count_log_probs"),
        ("features", "background"),
        ("features", "sizes"),
        ("features", "exposure"),
        ("laws", "exposure"),
        ("laws", "law_of_row"),
    ):
        if name in tree[group].data_vars and name not in expected[group]:
            yield f"{group}/{name} is there, although the settings have no such thing"


def _wrong_exposures(tree: xr.DataTree) -> Iterator[str]:
    """Yield exposures that are not positive numbers."""
    for group in ("laws", "features"):
        if "exposure" in tree[group].data_vars:
            values = tree[group]["exposure"].to_numpy()
            if not (np.isfinite(values).all() and (values > 0).all()):
                yield f"{group}/exposure holds something else than positive numbers"


def _wrong_sizes(tree: xr.DataTree, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield sizes that differ from the settings or between groups."""
    sizes = {"row": settings["n_rows"], "dim": settings["n_dims"], "law": len(settings["laws"])}
    latent = likelihood(settings).latent_names(range(settings["n_dims"]))
    sizes |= {} if latent is None else {"latent": len(latent)}
    n_features = tree["features"].sizes["feature"]
    if settings["n_features"] is not None:
        laws, size = tuple(map(parse, settings["laws"])), settings["n_features"]
        most = likelihood(settings).entry_law.most(laws, size)
        sizes |= {"feature": size, "count": most + 1}
    sizes |= {"byte": -(-n_features // 8), "chain": tree["posterior"].sizes["chain"]}
    for group in ("posterior", "features", "warmup", "laws"):
        for dim, size in tree[group].sizes.items():
            if size != sizes.get(str(dim), size):
                yield f"{group} has {size} along {dim} instead of {sizes[str(dim)]}"
    for dim in ("chain", "draw"):
        if not tree["posterior"].sizes[dim] or not tree["features"].sizes[dim]:
            yield f"there is nothing along {dim}"


def _wrong_labels(tree: xr.DataTree) -> Iterator[str]:
    """Yield labels that differ between groups."""
    posterior, features = tree["posterior"].dataset, tree["features"].dataset
    for group in ("posterior", "features", "warmup", "laws"):
        for name, label in tree[group].dataset.coords.items():
            if name in ("chain", "draw", "sweep") and label.dtype.kind not in "iu":
                yield f"{group}/{name} does not hold whole numbers"
            if name in ("row", "dim") and label.dtype.kind not in "iuU":
                yield f"{group}/{name} holds neither numbers nor names"
    for group in ("features", "warmup"):
        if not np.array_equal(tree[group]["chain"], posterior["chain"]):
            yield f"{group} has other chains than posterior"
    for name in ("draw", "chain"):
        if np.any(np.diff(posterior[name]) <= 0) or np.any(np.diff(features[name]) <= 0):
            yield f"the numbers along {name} are not in order"
    if not np.isin(features["draw"], posterior["draw"]).all():
        yield "features has draws that posterior has not"
    for one, other, name in (("posterior", "features", "dim"), ("laws", "features", "row")):
        if name in tree[one].dims and not np.array_equal(tree[one][name], tree[other][name]):
            yield f"{one} and {other} name {name} differently"
