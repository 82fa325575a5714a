"""What a run says while it runs: bars on a terminal or in a notebook, lines elsewhere, or events.

Chains report from their threads. Bars appear after two seconds, so that quick fits stay quiet; a
line is printed every ten. Everything goes to the error stream: output stays clean. A notebook is
written to by the main thread alone, as bars of text that need no widgets.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple

from ribp.errors import InputError

QUIET_SECONDS = 2.0
LINE_SECONDS = 10.0
_BAR = 16  # characters, in a notebook
_LEAST_SECONDS = 0.1  # between two events of one chain


class Event(NamedTuple):
    """Where a chain is."""

    chain: int
    phase: Literal["search", "warm-up", "draws", "done"]
    done: int
    """Steps of the phase that are done."""
    total: int
    share: float
    """Of the whole chain that is done, between zero and one."""
    active_features: int
    log_joint: float


Callback = Callable[[Event], object]
ProgressOption = Literal["auto"] | bool | Callback


class Progress(AbstractContextManager["Progress"]):
    """Takes events, and shows nothing."""

    def __init__(self, n_chains: int) -> None:
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._last: dict[int, tuple[float, str]] = {}
        self.latest: dict[int, Event] = {}
        self.n_chains = n_chains

    @property
    def is_shown(self) -> bool:
        """Whether anybody is told."""
        return type(self) is not Progress

    @property
    def seconds(self) -> float:
        """How long this has been going on."""
        return time.monotonic() - self._began

    def __call__(self, event: Event) -> None:
        """Take an event; most of those that come soon after another are dropped."""
        now, (before, phase) = time.monotonic(), self._last.get(event.chain, (-1.0, ""))
        if event.phase == phase and now - before < _LEAST_SECONDS:
            return
        self._last[event.chain] = (now, event.phase)
        with self._lock:
            self.latest[event.chain] = event
            self.show(event)

    def show(self, event: Event) -> None:
        """Show an event."""

    def refresh(self) -> None:
        """Bring what is shown up to date; called by the main thread, several times a second."""

    def say(self, text: str) -> None:
        """Say something at once, above whatever is shown."""

    def __exit__(self, *_: object) -> None:
        """Take away what is shown."""

    def notes(self, event: Event) -> tuple[str, str]:
        """Return what is to be said beside a bar, and how long it will take."""
        note = "" if event.phase == "search" else f"{event.active_features} features"
        if event.phase not in ("search", "done"):
            note += f", log joint {event.log_joint:.6g}"
        left = self.left() if event.phase in ("warm-up", "draws") else None
        return note, "" if left is None else f"{duration(left)} left"

    def left(self) -> float | None:
        """Return about how many seconds are left, if that can be said."""
        shares = [event.share for event in self.latest.values()]
        share = sum(shares) / self.n_chains
        searching = any(event.phase == "search" for event in self.latest.values())
        if searching or share <= 0.02:
            return None
        return self.seconds * (1.0 - share) / share


class Reported(Progress):
    """Calls a function with each event."""

    def __init__(self, n_chains: int, callback: Callback) -> None:
        super().__init__(n_chains)
        self.callback = callback

    def show(self, event: Event) -> None:
        """Pass the event on."""
        self.callback(event)


class Lines(Progress):
    """Prints a line every ten seconds."""

    def __init__(self, n_chains: int) -> None:
        super().__init__(n_chains)
        self._next = LINE_SECONDS

    def show(self, event: Event) -> None:
        """Print a line if it is time."""
        if self.seconds < self._next:
            return
        self._next = self.seconds + LINE_SECONDS
        shares = [self.latest[n].share if n in self.latest else 0.0 for n in range(self.n_chains)]
        left = self.left()
        rest = "" if left is None else f", about {duration(left)} left"
        phases = {event.phase for event in self.latest.values()}
        doing = next(p for p in ("search", "warm-up", "draws", "done") if p in phases)
        chains = " ".join(f"{share:.0%}" for share in shares)
        self.say(f"{duration(self.seconds):>6}: {doing}, chains at {chains}{rest}")

    def say(self, text: str) -> None:
        """Print a line."""
        print(f"ribp: {text}", file=sys.stderr, flush=True)  # noqa: T201


class Bars(Progress):
    """A bar for every chain."""

    def __init__(self, n_chains: int) -> None:
        from rich import progress as rich_progress
        from rich.console import Console

        super().__init__(n_chains)
        self.console = Console(stderr=True)
        self._bars = rich_progress.Progress(
            rich_progress.TextColumn("chain {task.fields[chain]}"),
            rich_progress.BarColumn(bar_width=20),
            rich_progress.TaskProgressColumn(),
            rich_progress.TextColumn("{task.fields[phase]:<8}"),
            rich_progress.TextColumn("{task.fields[note]}"),
            rich_progress.TextColumn("{task.fields[left]}"),
            console=self.console,
            transient=True,
            refresh_per_second=4,
        )
        self._tasks: dict[int, Any] = {}

    def show(self, event: Event) -> None:
        """Bring the bar up to date; the first one appears after two seconds."""
        if self.seconds < QUIET_SECONDS:
            return
        if not self._tasks:
            for number in range(self.n_chains):
                self._tasks[number] = self._bars.add_task(
                    "", total=1.0, chain=number + 1, phase="waits", note="", left=""
                )
            self._bars.start()
        note, left = self.notes(event)
        self._bars.update(
            self._tasks[event.chain],
            completed=event.share,
            phase=event.phase,
            note=note,
            left=left,
        )

    def say(self, text: str) -> None:
        """Print above the bars."""
        self.console.print(f"ribp: {text}", highlight=False, soft_wrap=True)

    def __exit__(self, *_: object) -> None:
        """Take the bars away."""
        self._bars.stop()


class Notebook(Progress):
    """A line of text for every chain, in the output of a notebook's cell."""

    def __init__(self, n_chains: int) -> None:
        super().__init__(n_chains)
        self._said: list[str] = []
        self._place: Any = None

    def refresh(self) -> None:
        """Write all lines anew."""
        if self.seconds >= QUIET_SECONDS:
            self._write([*self._said, *(self._line(n) for n in range(self.n_chains))])

    def _line(self, chain: int) -> str:
        event = self.latest.get(chain)
        if event is None:
            return f"chain {chain + 1}  waits"
        full = round(_BAR * event.share)
        note, left = self.notes(event)
        bar = "\u2588" * full + "\u2591" * (_BAR - full)
        return f"chain {chain + 1} {bar} {event.share:4.0%} {event.phase:<8} {note} {left}"

    def _write(self, lines: list[str]) -> None:
        from IPython.display import display

        content = {"text/plain": "\n".join(lines)}
        if self._place is None:
            self._place = display(content, raw=True, display_id=True)
        else:
            self._place.update(content, raw=True)

    def say(self, text: str) -> None:
        """Keep a line above the others."""
        self._said.append(f"ribp: {text}")

    def __exit__(self, *_: object) -> None:
        """Leave what was said."""
        if self._place is not None or self._said:
            self._write([*self._said, f"ribp: {duration(self.seconds)}"])


def progress(option: ProgressOption, n_chains: int) -> Progress:
    """Return what shows progress.

    Parameters
    ----------
    option
        "auto" for bars on a terminal or in a notebook and lines elsewhere, True the same, False
        for nothing, or a function that is called with every `Event`.
    n_chains
    """
    if callable(option):
        return Reported(n_chains, option)
    if option is False:
        return Progress(n_chains)
    if option not in ("auto", True):
        raise InputError(
            "progress", 'must be "auto", True, False or a function', repr(option), "Choose one."
        )
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:
        return Notebook(n_chains)
    return Bars(n_chains) if console.is_terminal else Lines(n_chains)


def duration(seconds: float) -> str:
    """Return a duration for people: 8 s, 3 min, 2 h 10 min."""
    if seconds < 99.5:
        return f"{max(seconds, 1.0):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
