"""From the settings of a fit, as its file has them, back to the model.

Settings are plain JSON: numbers, texts, None. A count law is its text form (`str(law)`), and is
parsed, never evaluated; a likelihood is its name and the fields of its dataclass.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from ribp import checks
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.checks import IntArray
from ribp.counts import Learned, RowCounts, parse
from ribp.errors import InputError
from ribp.likelihoods import LIKELIHOODS, Likelihood, names_of, with_entries
from ribp.likelihoods.kind_columns import Column
from ribp.likelihoods.linear_gaussian import as_gaussian
from ribp.likelihoods.units import Units
from ribp.model import Model
from ribp.search.background import BackgroundChoice, asked_for
from ribp.weights import WEIGHT_PRIORS

AnyModel = Model | BuffetModel | FiniteBuffetModel

_NEEDED = (
    "method", "likelihood", "n_features", "mass", "concentration", "weights", "laws",
    "n_chains", "n_warmup", "n_draws", "thin", "seed", "n_rows", "n_dims", "background_choice",
    "n_starts", "n_best",
)  # fmt: skip


MOST_CHAINS, MOST_SWEEPS, MOST_FEATURES = 10_000, 10**9, 10**6
"""Of a run: more would not end, or not fit into any memory."""
_LIMITS = {
    "n_rows": None,
    "n_dims": None,
    "n_features": MOST_FEATURES,
    "n_chains": MOST_CHAINS,
    "n_warmup": MOST_SWEEPS,
    "n_draws": MOST_SWEEPS,
    "n_starts": None,
    "n_best": None,
}


def to_json(value: Any) -> str:
    """Return JSON text; NumPy numbers and arrays become plain ones, infinities are refused."""
    return json.dumps(value, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if not isinstance(value, (np.generic, np.ndarray)):
        raise InputError("settings", "must be what JSON can hold", value, "Use plain values.")
    return value.tolist()


def from_json(text: str) -> dict[str, Any]:
    """Return the settings in a JSON text, or raise an `InputError`."""
    try:
        settings = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise InputError("settings", "must be JSON text", text, "Use `build`.") from None
    return checked(settings)


def checked(settings: Any) -> dict[str, Any]:
    """Return settings that make sense by themselves, or raise an `InputError`."""
    if not isinstance(settings, dict) or not set(_NEEDED) <= settings.keys():
        known = settings if isinstance(settings, dict) else {}
        missing = ", ".join(name for name in _NEEDED if name not in known)
        raise InputError("settings", f"must have {missing}", "none", "Add what is missing.")
    for name, most in _LIMITS.items():
        if name != "n_features" or settings[name] is not None:
            checks.integer(f"settings[{name!r}]", settings[name], most=most)
    checks.integer("settings['thin']", settings["thin"], least=1)
    laws = settings["laws"]
    if not isinstance(laws, list) or not all(isinstance(one, str) for one in laws):
        raise InputError("settings['laws']", "must be a list of texts", laws, "Correct it.")
    if len(laws) > settings["n_rows"]:
        raise InputError(
            "settings['laws']",
            f"must be at most as many as the {settings['n_rows']} rows",
            f"{len(laws)} laws",
            "Leave out those that no row has.",
        )
    if not isinstance(settings["seed"], list):
        raise InputError("settings['seed']", "must be a list", settings["seed"], "Correct it.")
    checks.seeds("settings['seed']", settings["seed"])
    background_choice(settings)
    return settings


def background_choice(settings: Mapping[str, Any]) -> BackgroundChoice:
    """Return whether there is a background, and why."""
    choice = settings["background_choice"]
    kinds = {"on": bool, "reason": str, "gain": float | int | None}
    if (
        not isinstance(choice, dict)
        or choice.keys() != kinds.keys()
        or not all(isinstance(choice[name], kind) for name, kind in kinds.items())
    ):
        raise InputError(
            "background_choice", f"must have {', '.join(kinds)}", choice, "Correct it."
        )
    return BackgroundChoice(**choice)


def likelihood(settings: Mapping[str, Any]) -> Likelihood[Any]:
    """Return the likelihood of a fit."""
    stored = settings["likelihood"]
    if not isinstance(stored, dict) or "name" not in stored:
        raise InputError("likelihood", "must have a name", stored, "Add its name.")
    LIKELIHOODS.stored(stored["name"])  # or an error that says that it is missing
    kind: Any = with_entries(stored["name"], stored.get("entries", "binary"))
    defaults = {field.name: field.default for field in fields(kind)}
    chosen: dict[str, Any] = {
        name: value for name, value in stored.items() if name not in ("name", "entries")
    }
    known, columns = chosen.pop("known", ()), chosen.pop("units", None)
    of_kinds = chosen.pop("columns", None)
    _check_rows("known", known)
    for name, value in chosen.items():
        _check_field(checks.one_of("likelihood", name, defaults), value, defaults[name])
    if columns is not None and "units" in defaults:
        chosen["units"] = _units(columns, settings["n_dims"])
    if "columns" in defaults:
        chosen["columns"] = _columns(of_kinds, settings["n_dims"])
    result: Likelihood[Any] = kind(**chosen, known=tuple(tuple(map(float, row)) for row in known))
    return result


def _columns(stored: Any, n_dims: int) -> tuple[Column, ...]:
    """Return the columns of a table of kinds."""
    if not isinstance(stored, list) or len(stored) != n_dims:
        raise InputError("columns", f"must say the kinds of {n_dims} columns", stored, "Add them.")
    return tuple(map(Column.from_json, stored))


def _units(stored: Any, n_dims: int) -> Units:
    """Return the units of columns."""
    names = [field.name for field in fields(Units)]
    parts: list[Any] = [stored.get(name) for name in names] if isinstance(stored, dict) else []
    _check_rows("units", parts)
    if len(parts) != len(names) or any(len(part) != n_dims for part in parts):
        raise InputError("units", f"must say {names} of {n_dims} columns", stored, "Correct them.")
    mean, spread, number = parts
    if any(one <= 0 for one in spread) or any(one < 0 for one in number):
        raise InputError("units", "must be positive", stored, "Correct them.")
    return Units(tuple(map(float, mean)), tuple(map(float, spread)), tuple(map(int, number)))


def _check_rows(name: str, value: Any) -> None:
    """Raise an `InputError` unless `value` is made of rows of numbers."""
    rows: Any = value if isinstance(value, list | tuple) else [None]
    if not all(isinstance(row, list | tuple) for row in rows) or not all(
        isinstance(one, int | float) and math.isfinite(one) for row in rows for one in row
    ):
        raise InputError(name, "must be rows of numbers", value, "Correct it.")


def _check_field(name: str, value: Any, default: Any) -> None:
    """Raise an `InputError` unless `value` is what a field with this default can hold."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(name, "must be true or false", value, "Correct it.")
    elif isinstance(default, str):
        if not isinstance(value, str):
            raise InputError(name, "must be a text", value, "Correct it.")
    elif not (default is None and value is None):
        checks.positive(name, value)


def describe(
    model: AnyModel, method: str, shape: tuple[int, ...], choice: BackgroundChoice | None = None
) -> dict[str, Any]:
    """Return the settings of a model, as JSON can hold them; `choice` says why its background."""
    law: Any = model.likelihood
    name, entries = names_of(type(law))
    columns = [one.to_json() for one in law.columns] if name == "kinds" else None
    settings = {
        "method": method,
        "likelihood": {
            "name": name,
            "entries": entries,
            **asdict(law),
            "known": [*map(list, law.known)],
            **({} if columns is None else {"columns": columns}),
        },
        "mass": model.mass,
        "concentration": model.concentration,
        "n_rows": shape[0],
        "n_dims": shape[1],
        "background_choice": (choice or asked_for(law.background))._asdict(),
        "n_starts": 0,
        "n_best": 0,
    }
    if isinstance(model, BuffetModel):
        return settings | {"n_features": None, "weights": None, "laws": []}
    if isinstance(model, FiniteBuffetModel):
        return settings | {"n_features": model.n_features, "weights": None, "laws": []}
    laws = [str(one) for one in model.counts.laws]
    return settings | {"n_features": model.n_features, "weights": model.weights, "laws": laws}


def model(settings: Mapping[str, Any], law_of_row: IntArray | None) -> AnyModel:
    """Return the model of a fit: an unrestricted buffet if there are no count laws."""
    law = likelihood(settings)
    mass, concentration = (
        value if value is None else checks.positive(name, value)
        for name, value in ((name, settings[name]) for name in ("mass", "concentration"))
    )
    n_features = settings["n_features"]
    if not settings["laws"]:
        gaussian = as_gaussian(law, "an unrestricted buffet")
        if concentration is None:
            raise InputError(
                "settings", "must have a known concentration for a buffet", None, "Correct them."
            )
        if n_features is None:
            return BuffetModel(settings["n_rows"], gaussian, mass, concentration)
        return FiniteBuffetModel(settings["n_rows"], n_features, gaussian, mass, concentration)
    WEIGHT_PRIORS.stored(settings["weights"])
    counts = _row_counts(settings, law_of_row)
    return Model(counts, n_features, law, mass, concentration, settings["weights"])


def _row_counts(settings: Mapping[str, Any], law_of_row: IntArray | None) -> RowCounts:
    laws = tuple(map(parse, settings["laws"]))
    index = np.zeros(0, np.int64) if law_of_row is None else np.asarray(law_of_row)
    counts = RowCounts(laws, index)
    if counts.laws != laws or not np.array_equal(counts.law_of_row, index):
        raise InputError(
            "law_of_row",
            "must use all laws, in their order",
            f"{len(laws)} laws, of which rows use {len(counts.laws)}",
            "Take `laws` and `index` from a RowCounts.",
        )
    return counts


def has_learned_law(settings: Mapping[str, Any]) -> bool:
    """Return whether some count law is learned."""
    return any(isinstance(parse(text), Learned) for text in settings["laws"])
