"""Which kind each column has: what users say, and what the type of a column says by itself.

`likelihood` is "auto", one kind for all columns, or a mapping from names (or numbers) of columns to
kinds; columns that it does not name are "auto". By itself a column is

    binary        bool, or two different values (the lower one, or the first in the order, is no)
    ordinal       an ordered category
    categorical   a category, or text with at most 50 different values
    real          numbers

and integers are asked for: they may be codes, counts or levels. "binary", "categorical" and, where
there is an order, "ordinal" take their levels from the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ribp.errors import InputError
from ribp.kinds import NAMES, binary, categorical, ordinal, parse, real
from ribp.kinds.given_columns import TYPES, GivenColumn, is_number, level_text
from ribp.kinds.kind import Kind
from ribp.kinds.levels import MOST_LEVELS

AUTO = "auto"
Choice = str | Kind | Mapping[Any, str | Kind]
_SHOWN = 3
_EXAMPLE = 'likelihood={"age": "real", "visits": "negbin", "grade": "ordinal"}'
_OPTIONS = "--kind age=real --kind visits=negbin --kind grade=ordinal"


def is_choice(likelihood: Any) -> bool:
    """Return whether a likelihood is a choice of kinds."""
    if isinstance(likelihood, str):
        return likelihood == AUTO or likelihood.split("(")[0].strip() in NAMES
    return isinstance(likelihood, Kind | Mapping)


def chosen(
    choice: Choice, columns: Sequence[GivenColumn], *, as_options: bool = False
) -> tuple[Kind, ...]:
    """Return the kind of each column.

    Parameters
    ----------
    choice
        As the module describes.
    columns
        The table.
    as_options
        Whether messages say what to type on a command line.
    """
    asked = _by_column(choice, columns)
    unknown = [
        column
        for kind, column in zip(asked, columns, strict=True)
        if kind == AUTO and column.type == "integer" and len(column.distinct(2)) not in (1, 2)
    ]
    if unknown:
        names = ", ".join(repr(str(column.name)) for column in unknown[:_SHOWN])
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise InputError(
            "likelihood",
            "must say what columns of integers are: codes, counts, levels or measurements",
            f"auto for {names}{more}",
            f"Write for example {_OPTIONS if as_options else _EXAMPLE}.",
        )
    return tuple(_kind(kind, column) for kind, column in zip(asked, columns, strict=True))


def unseen_columns(names: Sequence[Any], dtype: Any = None) -> list[GivenColumn]:
    """Return columns of numbers that are not in memory: only their type is known."""
    if getattr(dtype, "kind", "f") not in TYPES:
        raise InputError(
            "X",
            "must hold numbers where data are not in memory; those of levels begin at 0",
            f"entries of type {dtype}",
            "Replace names of levels by their numbers, in the order that `likelihood` has.",
        )
    kind = TYPES.get(getattr(dtype, "kind", "f"), "number")
    return [GivenColumn(name, kind, np.empty(0)) for name in names]


def unseen_kinds(
    likelihood: Any, columns: Sequence[GivenColumn], *, as_options: bool = False
) -> tuple[Kind, ...] | None:
    """Return the kinds of columns that are not in memory; None if a likelihood has none."""
    if not is_choice(likelihood):
        return None
    kinds = chosen(likelihood, columns, as_options=as_options)
    check_numbered(kinds)
    return kinds


def check_numbered(kinds: Sequence[Kind]) -> None:
    """Raise an `InputError` if names of levels are numbers, but not those that entries have.

    For data that are not in memory: there entries are the numbers of levels, from 0.
    """
    for kind in kinds:
        named = [(at, name) for at, name in enumerate(kind.levels) if is_number(name)]
        if any(float(name) != at for at, name in named):
            raise InputError(
                "likelihood",
                "must have levels that are named by their numbers from 0, or by words, where data "
                "are not in memory",
                str(kind),
                "Number levels from 0, in the fit too, or read all data into memory.",
            )


def _by_column(choice: Choice, columns: Sequence[GivenColumn]) -> list[str | Kind]:
    """Return what is asked for each column."""
    if not isinstance(choice, Mapping):
        return [choice] * len(columns)
    names = [column.name for column in columns]
    texts = [str(name) for name in names]
    asked: list[str | Kind] = [AUTO] * len(columns)
    said: dict[int, Any] = {}
    for name, kind in choice.items():
        if name in names or str(name) in texts:
            at = names.index(name) if name in names else texts.index(str(name))
        elif isinstance(name, int | np.integer) and 0 <= name < len(names):
            at = int(name)
        else:
            raise InputError(
                "likelihood",
                "must name columns of X",
                repr(name),
                f"Columns are {', '.join(texts[:10])}{', ...' if len(texts) > 10 else ''}.",
            )
        if at in said:
            raise InputError(
                "likelihood",
                f"must name column {texts[at]!r} once",
                f"{said[at]!r} and {name!r}",
                "Leave one of them out.",
            )
        asked[at], said[at] = kind, name
    return asked


def _kind(asked: Any, column: GivenColumn) -> Kind:
    if isinstance(asked, Kind):
        return asked
    if not isinstance(asked, str):
        raise InputError(
            "likelihood",
            f"must be a kind for column {str(column.name)!r}",
            repr(asked),
            'Write its name, such as "real", or ribp.kinds.ordinal([...]).',
        )
    if asked == AUTO:
        return _by_itself(column)
    if asked == "ordinal":
        return ordinal(_levels(column, asked))
    if asked == "categorical":
        return categorical(_levels(column, asked))
    if asked == "binary":
        return _binary(column)
    try:
        return parse(asked)
    except InputError as error:
        argument, rule, value, remedy = error.args
        rule = f"of column {str(column.name)!r} {rule}"
        raise InputError(argument, rule, value, remedy) from None


def _by_itself(column: GivenColumn) -> Kind:
    """Return the kind of a column of which nothing was said."""
    if column.type == "other":
        raise _no_kind(column, f"holds {column.values[0]}")
    if column.type == "bool":
        return binary(["False", "True"])
    if column.levels:
        if len(column.levels) == 2:
            return binary(column.levels)
        make = ordinal if column.type == "ordered" else categorical
        return make(_levels(column, make.__name__))
    if len(column.distinct(2)) == 2:
        return _binary(column)
    return categorical(_levels(column, "categorical")) if column.type == "text" else real()


def _binary(column: GivenColumn) -> Kind:
    """Return yes or no, named by what the column holds."""
    if column.type == "bool":
        return binary(["False", "True"])
    levels = column.levels or tuple(level_text(one) for one in column.distinct(MOST_LEVELS))
    if column.is_number and set(levels) <= {"0", "1"}:
        return binary()
    if len(levels) != 2:
        raise InputError(
            "X",
            f"must hold two different values in column {str(column.name)!r} to be binary",
            f"{len(levels)}: {', '.join(levels[:_SHOWN])}{', ...' if len(levels) > _SHOWN else ''}",
            "Choose another kind, or name both levels: ribp.kinds.binary([no, yes]).",
        )
    return binary(levels)


def _levels(column: GivenColumn, asked: str) -> tuple[str, ...]:
    """Return the levels of a column in their order."""
    if column.type == "other":
        raise _no_kind(column, f"holds {column.values[0]}")
    if asked == "ordinal" and column.type in ("text", "category"):
        raise InputError(
            "likelihood",
            f"must give the order of the levels of column {str(column.name)!r}",
            "ordinal, and texts have no order",
            'Write for example ribp.kinds.ordinal(["I", "II", "III"]), or "ordinal(I, II, III)".',
        )
    if column.type == "bool":
        return ("False", "True")
    if not column.values.size:
        raise InputError(
            "likelihood",
            f"must name the levels of column {str(column.name)!r}, which is not in memory",
            asked,
            f'Write ribp.kinds.{asked}(["low", "high"]); entries are their numbers, from 0.',
        )
    found = column.levels or tuple(level_text(one) for one in column.distinct(MOST_LEVELS))
    if len(found) > MOST_LEVELS:
        raise _no_kind(column, f"has more than {MOST_LEVELS} different values")
    if len(found) < 2:
        raise _no_kind(column, f"holds {'only ' + repr(found[0]) if found else 'nothing'}")
    return found


def _no_kind(column: GivenColumn, held: str) -> InputError:
    return InputError(
        "X",
        f"must fit a kind in column {str(column.name)!r}",
        f"a column that {held}",
        "Leave the column out, merge rare levels, or make numbers of it.",
    )
