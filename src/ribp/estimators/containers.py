"""Tables that estimators return, as `set_output` asks for: arrays, or data frames with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn import get_config


def contained(estimator: Any, values: Any, X: Any, columns: Sequence[str]) -> Any:
    """Return values as an array, or as a pandas or polars frame if the estimator is to do so.

    Parameters
    ----------
    estimator
        Whose `set_output`, or the configuration of scikit-learn, says which.
    values
        Shape (rows, columns).
    X
        What was given, whose index a pandas frame takes over.
    columns
        Their names.
    """
    own = getattr(estimator, "_sklearn_output_config", {})
    kind = own.get("transform", get_config()["transform_output"])
    if kind == "pandas":
        import pandas as pd

        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(values, index=index, columns=list(columns))
    if kind == "polars":
        import polars as pl

        return pl.DataFrame(values, schema=list(columns), orient="row")
    return values
