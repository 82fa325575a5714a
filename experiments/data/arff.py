"""Tables in the ARFF format of Weka and Mulan, read into one array of numbers.

    @attribute NAME numeric | real | integer | {value, value, ...}
    @data
    1.5, 0, ?                  dense: a value for each attribute
    {0 1.5, 2 1}               sparse: position and value; what is left out is the first value
                               of a nominal attribute and zero of others

A nominal attribute whose values are all numbers has those numbers; otherwise a value is its
position among the values, from 0. A question mark is a missing entry, NaN.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.errors import StorageError

__all__ = ["Table", "parse", "unquoted"]

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+)\s+(.+)$", re.IGNORECASE)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(,|$)")
_PAIR = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,]+?)\s*(?:,|$)")
_NUMERIC = {"numeric", "real", "integer"}


class Table(NamedTuple):
    """Names of attributes, and their values of shape (rows, attributes)."""

    names: tuple[str, ...]
    values: FloatArray


class _Attribute(NamedTuple):
    name: str
    values: dict[str, float] | None
    """Of a nominal attribute."""

    @property
    def default(self) -> float:
        return next(iter(self.values.values())) if self.values else 0.0


def unquoted(text: str) -> str:
    """Return a name or value without its quotes and escapes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def parse(path: Path, text: str) -> Table:
    """Return the table in the text of a file; errors name its path and the line."""
    attributes: list[_Attribute] = []
    rows: list[FloatArray] = []
    in_data = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        if in_data:
            rows.append(_row(path, number, line, attributes))
        elif line.lower().startswith("@attribute"):
            attributes.append(_attribute(path, number, line))
        elif line.lower().startswith("@data"):
            in_data = True
        elif not line.lower().startswith("@relation"):
            raise _wrong(path, number, f"has {line[:40]!r}", "Expected @attribute or @data.")
    if not rows:
        raise StorageError(path, "has no rows after @data", "Get the file again.")
    return Table(tuple(attribute.name for attribute in attributes), np.stack(rows))


def _attribute(path: Path, number: int, line: str) -> _Attribute:
    found = _ATTRIBUTE.match(line)
    if found is None:
        raise _wrong(path, number, "has an @attribute without a type", "Write @attribute NAME TYPE")
    name, kind = unquoted(found[1]), found[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        values = _values(kind[1:-1])
        return _Attribute(name, _coded(values))
    if kind.lower() not in _NUMERIC:
        raise _wrong(
            path, number, f"has the attribute {name!r} of type {kind!r}",
            "Only numeric, real, integer and {nominal} ones can be read: remove it",
        )  # fmt: skip
    return _Attribute(name, None)


def _coded(values: list[str]) -> dict[str, float]:
    try:
        return {value: float(value) for value in values}
    except ValueError:
        return {value: float(at) for at, value in enumerate(values)}


def _values(text: str) -> list[str]:
    """Return comma-separated values without quotes."""
    found = []
    for match in _VALUE.finditer(text):
        found.append(unquoted(match[1]))
        if not match[2]:
            break
    return found


def _row(path: Path, number: int, line: str, attributes: list[_Attribute]) -> FloatArray:
    if line.startswith("{"):
        return _sparse_row(path, number, line, attributes)
    values = _values(line)
    if len(values) != len(attributes):
        raise _wrong(
            path, number, f"has {len(values)} values for {len(attributes)} attributes", "Correct it"
        )
    pairs = zip(attributes, values, strict=True)
    return np.array([_number(path, number, attribute, value) for attribute, value in pairs])


def _sparse_row(path: Path, number: int, line: str, attributes: list[_Attribute]) -> FloatArray:
    if not line.endswith("}"):
        raise _wrong(path, number, "begins with { and does not end with }", "Correct it")
    row = np.array([attribute.default for attribute in attributes])
    inside, at = line[1:-1].strip(), 0
    while at < len(inside):
        pair = _PAIR.match(inside, at)
        if pair is None or int(pair[1]) >= len(attributes):
            raise _wrong(
                path, number, f"has {inside[at : at + 30].strip()!r}",
                f"Expected a position below {len(attributes)} and a value",
            )  # fmt: skip
        position = int(pair[1])
        row[position] = _number(path, number, attributes[position], unquoted(pair[2]))
        at = pair.end()
    return row


def _number(path: Path, number: int, attribute: _Attribute, value: str) -> float:
    if value == "?":
        return float("nan")
    try:
        if attribute.values is None:
            return float(value)
        if value not in attribute.values:
            value = f"{float(value):g}"  # 1 for 1.0
        if value in attribute.values:
            return attribute.values[value]
    except ValueError:
        pass
    allowed = "a number" if attribute.values is None else f"one of {', '.join(attribute.values)}"
    raise _wrong(path, number, f"has {value!r} for {attribute.name!r}", f"It must be {allowed}")


def _wrong(path: Path, number: int, problem: str, remedy: str) -> StorageError:
    return StorageError(path, f"{problem} in line {number}", remedy.rstrip(".") + ".")
