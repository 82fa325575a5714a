"""One HTML page for one fit: no scripts, nothing from a network, pictures inside."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ribp.errors import StorageError
from ribp.files import write_atomically
from ribp.report.content import Fit
from ribp.report.elements import Html, tag
from ribp.report.sections import SECTIONS, opening

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(fit: Fit) -> str:
    """Return the page."""
    title = f"What ribp found in {fit.name}"
    parts = [part for make in SECTIONS if (part := make(fit)) is not None]
    style = (files("ribp.report") / "style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", title),
        tag("style", Html(style)),
    )
    main = tag("main", tag("h1", title), opening(fit), *parts)
    return "<!doctype html>\n" + tag("html", head, tag("body", main), lang="en") + "\n"


def write_report(fit: Fit, path: str | Path) -> None:
    """Write the page to a file, which is whole or not there at all.

    Parameters
    ----------
    fit
        What to show.
    path
        The file; one that is there is replaced.
    """
    text, target = page(fit), Path(path)
    try:
        write_atomically(target, lambda file: file.write(text.encode()))
    except OSError as error:
        raise StorageError(
            target, f"cannot be written ({error.strerror})", "Choose another file."
        ) from None
