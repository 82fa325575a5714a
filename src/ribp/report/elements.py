"""Pieces of an HTML page. What users wrote is escaped unless it is marked as `Html`.

There is one way to make `Html`: `tag`, which escapes its children and attributes. So a name that
holds markup is shown as it is written, wherever it stands. Characters that control a terminal, or
the direction of the text around them, are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from html import escape

_ALONE = {"img", "meta"}
_NAME = 40  # characters
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str) -> Html:
    """Return an element; children that are None are left out, `class_` is written `class`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
    )
    if name in _ALONE:
        return Html(f"<{name}{written}>")
    inside = "".join(
        child if isinstance(child, Html) else _escaped(child)
        for child in children
        if child is not None
    )
    return Html(f"<{name}{written}>{inside}</{name}>")


def _escaped(text: str) -> str:
    return escape(_CONTROLS.sub("\ufffd", text))


def paragraph(*children: str | None) -> Html:
    """Return a paragraph."""
    return tag("p", *children)


def note(*children: str) -> Html:
    """Return a paragraph in small print."""
    return tag("p", *children, class_="note")


def bullets(items: Iterable[str]) -> Html:
    """Return a list."""
    return tag("ul", *(tag("li", item) for item in items))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: Collection[int] = (0,),
    name: str | None = None,
) -> Html:
    """Return a table; columns `texts` are words, the others numbers.

    With a name it can be searched, sorted and downloaded where the page's script may run.
    """
    kinds = ["text" if at in texts else "number" for at in range(len(head))]
    top = tag("tr", *(tag("th", one, class_=kind) for one, kind in zip(head, kinds, strict=True)))
    body = [
        tag("tr", *(tag("td", one, class_=kind) for one, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    data = {} if name is None else {"data_name": name}
    inside = tag("table", tag("thead", top), tag("tbody", *body), **data)
    return tag("div", inside, class_="wide" if name is None else "wide tall")


def section(name: str, title: str, *children: str | None) -> Html:
    """Return a section with a heading that can be linked to."""
    return tag("section", tag("h2", title), *children, id=name)


def contents(parts: Iterable[tuple[str, str]]) -> Html:
    """Return links to the sections of a page, given their names and titles."""
    links = (tag("li", tag("a", title, href=f"#{name}")) for name, title in parts)
    return tag("nav", tag("ul", *links), aria_label="Contents")


def folded(title: str, *children: str) -> Html:
    """Return what is shown once somebody asks for it."""
    return tag("details", tag("summary", title), *children)


def short(name: str) -> str:
    """Return a name, cut if it is long."""
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def rounded(value: float) -> str:
    """Return a number with three digits, or with one after the point if it is large."""
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.3g}"
