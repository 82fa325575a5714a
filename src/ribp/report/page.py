"""One HTML page for one fit: nothing from a network, pictures inside, one script of our own.

The script makes tables that can be searched, sorted and downloaded. The policy of the page names it
by its digest: no other script can run. Without it, everything is on the page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape
from importlib.resources import files
from pathlib import Path

from ribp.errors import StorageError
from ribp.files import write_atomically
from ribp.report.content import Fit
from ribp.report.elements import Html, contents, tag
from ribp.report.sections import SECTIONS, opening

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}'"
_HEADING = re.compile(r'<section id="([a-z-]+)"><h2>(.*?)</h2>')


def page(fit: Fit) -> str:
    """Return the page."""
    title = f"What ribp found in {fit.name}"
    parts = [part for make in SECTIONS if (part := make(fit)) is not None]
    style = (files("ribp.report") / "style.css").read_text(encoding="utf-8")
    script = (files("ribp.report") / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY.format(digest)),
        tag("title", title),
        tag("style", Html(style)),
    )
    headings = [found.groups() for part in parts if (found := _HEADING.match(part))]
    links = contents((name, unescape(text)) for name, text in headings)
    main = tag("main", tag("h1", title), links, opening(fit), *parts)
    body = tag("body", main, tag("script", Html(script)))
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


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
