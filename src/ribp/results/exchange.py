"""Draws for ArviZ, of either line.

ArviZ 0.23 takes its groups as arguments and gives an InferenceData; ArviZ 1 takes them as one
nested dict and gives an xarray DataTree. Both get the same groups: `posterior`, `sample_stats` (the
log joint under the name by which ArviZ looks for it, `lp`) and, if there is one, `log_likelihood`
(one number `x` a row). Learned count laws go there as probabilities, `count_probs`, because ArviZ
cannot average -inf. Of what never changes, such as a mass that was fixed, ArviZ reports an R-hat of
NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from ribp.errors import InputError

_SAMPLES = ("chain", "draw")


def to_arviz(tree: xr.DataTree, log_likelihood: ArrayLike | None = None) -> Any:
    """Return an InferenceData (ArviZ below 1) or a DataTree in its layout (ArviZ 1 and above).

    Parameters
    ----------
    tree
        Of a result.
    log_likelihood
        Shape (chain, stored draw, row). With it, only stored draws are handed over.
    """
    try:
        import arviz
    except ImportError as error:
        raise ImportError(
            "to_arviz needs ArviZ, which is not installed: pip install 'ribp[arviz]'"
        ) from error
    posterior = tree["posterior"].to_dataset()
    groups = {}
    if log_likelihood is not None:
        groups["log_likelihood"] = _of_rows(tree, log_likelihood)
        posterior = posterior.sel(draw=tree["features"]["draw"])
    groups["sample_stats"] = posterior[["log_joint"]].rename(log_joint="lp")
    groups["posterior"] = _readable(posterior)
    plain = {
        group: {str(name): one.to_numpy() for name, one in data.data_vars.items()}
        for group, data in groups.items()
    }
    labels = _labels(groups)
    make: Any = arviz.from_dict
    if int(arviz.__version__.split(".")[0]) >= 1:
        return make(plain, **labels)
    return make(**plain, **labels)


def _of_rows(tree: xr.DataTree, log_likelihood: ArrayLike) -> xr.Dataset:
    values = np.asarray(log_likelihood, dtype=np.float64)
    features = tree["features"].to_dataset()
    shape = tuple(features.sizes[dim] for dim in (*_SAMPLES, "row"))
    if values.shape != shape:
        raise InputError(
            "log_likelihood",
            f"must have shape (chains, stored draws, rows) = {shape}",
            f"shape {values.shape}",
            "Compute it for the draws of the group `features`.",
        )
    labels = {dim: features[dim] for dim in (*_SAMPLES, "row")}
    return xr.Dataset({"x": ((*_SAMPLES, "row"), values)}, coords=labels)


def _readable(posterior: xr.Dataset) -> xr.Dataset:
    if "count_log_probs" not in posterior:
        return posterior
    probs = np.exp(posterior["count_log_probs"])
    return posterior.drop_vars("count_log_probs").assign(count_probs=probs)


def _labels(groups: dict[str, xr.Dataset]) -> dict[str, dict[str, Any]]:
    """Return the dimensions of every variable after chain and draw, and the labels along all."""
    dims: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for group in groups.values():
        dims |= {
            str(name): [str(dim) for dim in one.dims if dim not in _SAMPLES]
            for name, one in group.data_vars.items()
        }
        coords |= {str(name): one.to_numpy() for name, one in group.coords.items()}
    return {"dims": dims, "coords": coords}
