"""How far a command is that goes through rows: a bar on a terminal, lines elsewhere.

As in a fit, bars appear after two seconds, a line is printed every ten, and all of it goes to the
error stream.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ribp.running.progress import LINE_SECONDS, QUIET_SECONDS, duration


def shown(parts: Iterable[Any], n_rows: int, quiet: bool) -> Iterator[Any]:
    """Yield parts of a table of so many rows, and show how many rows there were."""
    if quiet:
        return iter(parts)
    return _with_bar(parts, n_rows) if sys.stderr.isatty() else _with_lines(parts, n_rows)


def _with_lines(parts: Iterable[Any], n_rows: int) -> Iterator[Any]:
    began, after, done = time.monotonic(), LINE_SECONDS, 0
    for part in parts:
        yield part
        done += len(part)
        seconds = time.monotonic() - began
        if seconds >= after and done < n_rows:
            after = seconds + LINE_SECONDS
            left = duration(seconds * (n_rows - done) / done)
            sys.stderr.write(f"ribp: {done:,} of {n_rows:,} rows, about {left} left\n")
            sys.stderr.flush()


def _with_bar(parts: Iterable[Any], n_rows: int) -> Iterator[Any]:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.BarColumn(bar_width=20),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        progress.TimeRemainingColumn(),
    )
    bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
    task, began = bar.add_task("", total=n_rows), time.monotonic()
    try:
        for part in parts:
            yield part
            bar.advance(task, len(part))
            if time.monotonic() - began >= QUIET_SECONDS:
                bar.start()  # which does nothing a second time
    finally:
        bar.stop()
