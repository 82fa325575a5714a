"""How a ratio is measured: both sides in turn, the best time of each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Measure(NamedTuple):
    """One line of the table: `ratio` should stay at or below `limit`."""

    name: str
    ratio: float
    limit: float


Measures = Iterator[Measure]

# For a fresh process (Linux): how far its memory rises above where it stood.
PEAK_MEMORY = """
class PeakMemory:
    def _read(self, name):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(name)) * 1024

    def __enter__(self):
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        self._before = self._read("VmRSS")
        return self

    def __exit__(self, *_):
        self.bytes = self._read("VmHWM") - self._before
"""


def best_times(*actions: Callable[[], object], repeat: int = 15) -> list[float]:
    """Return the best time of each action, all of them run in turn, after one warm-up."""
    times = [float("inf")] * len(actions)
    for action in actions:
        action()
    for _ in range(repeat):
        for at, action in enumerate(actions):
            start = time.perf_counter()
            action()
            times[at] = min(times[at], time.perf_counter() - start)
    return times


def ratio(action: Callable[[], object], floor: Callable[[], object], repeat: int = 15) -> float:
    """Return the time of `action` divided by that of `floor`."""
    upper, lower = best_times(action, floor, repeat=repeat)
    return upper / lower


def process_seconds(code: str, **environment: str) -> float:
    """Return how long a fresh interpreter takes to run `code`."""
    import os

    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
    return time.perf_counter() - start


def process_output(code: str) -> str:
    """Return what a fresh interpreter prints for `code`."""
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
