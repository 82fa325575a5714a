"""Features and rows of a result as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ribp.errors import InputError
from ribp.posterior.feature_spread import Spread, spread, values_of

if TYPE_CHECKING:
    import pandas as pd

    from ribp.results.result import Result


def components_frame(result: Result) -> pd.DataFrame:
    """Return a line for each feature and column: mean, and 5% and 95% of the draws that have it."""
    import pandas as pd

    columns = component_names(result.tree)
    spreads = [
        spread(values_of(result.tree, result.alignment, "components", place))
        for place in result.shown_places.tolist()
    ]
    mean, low, high = (
        np.concatenate([getattr(one, part) for one in spreads] or [np.empty(0)])
        for part in Spread._fields
    )
    names = np.repeat(np.array(result.feature_names, dtype=object), len(columns))
    return pd.DataFrame(
        {"feature": names, "column": np.tile(columns, len(spreads)), "mean": mean, "5%": low,
         "95%": high}
    )  # fmt: skip


def effects_frame(result: Result) -> pd.DataFrame:
    """Return a line for each feature and event: its probability without and with, the change."""
    import pandas as pd

    found, events = result.effects(), result.event_names
    if found is None or events is None:
        raise InputError(
            "likelihood",
            "must be one of kinds, whose features change probabilities",
            result.settings["likelihood"]["name"],
            "Use components_frame.",
        )
    size, change = len(events), [spread(one.change) for one in found]
    columns: dict[str, Any] = {
        "feature": np.repeat(np.array(result.feature_names, dtype=object), size),
        "event": np.tile(np.array(events, dtype=object), len(found)),
        "without": [one.without.mean(axis=0) for one in found],
        "with": [one.present.mean(axis=0) for one in found],
        "change": [one.mean for one in change],
        "5%": [one.low for one in change],
        "95%": [one.high for one in change],
    }
    joined = {name: np.concatenate([*one, []]) for name, one in list(columns.items())[2:]}
    return pd.DataFrame(columns | joined)


def component_names(tree: xr.DataTree) -> NDArray[Any]:
    """Return the names, or numbers, of what features act on."""
    features = tree["features"]
    return np.asarray(features[str(features["components"].dims[-1])].to_numpy())


def rows_frame(result: Result) -> pd.DataFrame:
    """Return P(row has feature), a line for each row that was fitted."""
    import pandas as pd

    rows = result.tree["features"]["row"].to_numpy()
    index = pd.Index(rows.astype(object) if rows.dtype.kind == "U" else rows, name="row")
    return pd.DataFrame(result.row_probs(), index=index, columns=result.feature_names)
