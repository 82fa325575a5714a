"""Pictures of the demo's report in a browser: `make screenshots` (needs Debian's chromium).

The page is opened without a network, wide and narrow. `visit` also tells what the page said on the
console and what it asked of others: a report must do neither (`tests/browser`). Beside the pictures
stands a fingerprint of what made them, so that a test can tell whether they are current.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
MARK = PICTURES / "screenshots.json"
SIZES = {"report-wide": (1100, 1560), "report-narrow": (420, 1300)}
_OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
]  # fmt: skip


class Visit(NamedTuple):
    """What happened when a page was opened."""

    console: list[str]
    """What it wrote to the console."""
    requests: list[str]
    """What it asked of others."""


def chromium() -> str | None:
    """Return the browser, if there is one."""
    return shutil.which("chromium")


def visit(page: Path, width: int = 1100, height: int = 900, picture: Path | None = None) -> Visit:
    """Open a page, and write a picture of it."""
    browser = chromium()
    assert browser is not None, "chromium is not installed"
    with tempfile.TemporaryDirectory() as folder:
        log, shot = Path(folder) / "net.json", Path(folder) / "shot.png"
        command = [
            browser, *_OPTIONS, f"--user-data-dir={folder}/profile", f"--log-net-log={log}",
            f"--window-size={width},{height}", f"--screenshot={shot}", page.resolve().as_uri(),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        events = json.loads(log.read_text(encoding="utf-8"))["events"]
        if picture is not None:
            shutil.copy(shot, picture)
    return Visit(re.findall(r"CONSOLE[^\]]*\] (.*)", done.stderr), _asked(events))


def _asked(events: list[dict]) -> list[str]:
    """Return addresses on a network that the page, not the browser itself, asked for."""
    found = set()
    for event in events:
        given = event.get("params", {})
        if "initiator" in given and given["initiator"] != "not an origin":
            found |= {given["url"]} if re.match(r"https?:|wss?:", given.get("url", "")) else set()
    return sorted(found)


def fingerprint() -> str:
    """Return a digest of the code that draws the report."""
    package = DOCS.parent / "src" / "ribp"
    sources = [path for part in ("report", "plots") for path in (package / part).rglob("*.*")]
    sources = [path for path in sources if path.suffix in (".py", ".css", ".js")]
    found = hashlib.sha256()
    for path in sorted([*sources, package / "cli" / "demo.py"]):
        found.update(path.read_bytes())
    return found.hexdigest()


def main() -> None:
    """Run the demo and take its pictures."""
    from ribp.cli import demo

    if chromium() is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        demo.demo(Path(folder))
        for name, (width, height) in SIZES.items():
            target = PICTURES / f"{name}.png"
            found = visit(Path(folder) / "report.html", width, height, target)
            assert found == Visit([], []), found
            _shrink(target)
    MARK.write_text(json.dumps({"made_by": fingerprint()}) + "\n", encoding="utf-8")


def _shrink(path: Path) -> None:
    """Write a picture with few colours: pages have few."""
    image = Image.open(path).convert("RGB")
    assert np.asarray(image).std() > 1.0, "the page is empty"
    image.quantize(200, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
