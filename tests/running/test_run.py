"""Chains in threads: stopping them, errors in one of them, what they say, what they will take."""

import io
import signal
import sys
import threading
import time
import types
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from ribp.errors import InputError
from ribp.model import Model
from ribp.rows.local import in_memory
from ribp.running import progress as module
from ribp.running.chain import Plan
from ribp.running.estimate import BUDGET, estimate, thinning
from ribp.running.progress import (
    Bars,
    Event,
    Lines,
    Notebook,
    Progress,
    Reported,
    duration,
    progress,
)
from ribp.running.samplers import sampler
from tests.helpers.running_cases import SHORT, Heard, case, run
from tests.helpers.same_bits import assert_same_chains

pytestmark = [pytest.mark.jit, pytest.mark.usefixtures("ctrl_c_is_heard", "short_searches")]


LONG = replace(SHORT, n_warmup=3, n_draws=10**6)


class Interrupter(Heard):
    """Presses Ctrl-C when a chain has made some draws."""

    def __init__(self, n_chains, when):
        super().__init__(n_chains)
        self.when, self.pressed = when, None

    def show(self, event):
        if self.pressed is None and self.when(event):
            self.pressed = event.chain
            signal.raise_signal(signal.SIGINT)
            time.sleep(1.0)  # the main thread looks up five times a second


def test_ctrl_c_ends_after_a_sweep():
    shown = Interrupter(2, lambda event: (event.chain, event.phase) == (0, "draws"))
    chains, ended = run("gibbs", LONG, progress=shown)
    assert ended.interrupted
    assert shown.said == ["stopping after this sweep"]
    assert 0 < len(chains[0].draws.posterior) < 10**6
    same, _ = run("gibbs", replace(LONG, n_draws=len(chains[0].draws.posterior)))
    assert_same_chains(chains[0], same[0])


def test_an_error_in_one_chain_stops_the_others():
    class Wrong(Progress):
        def show(self, event):
            if event.chain == 1 and event.phase == "draws":
                raise RuntimeError("this one")

    began = time.monotonic()
    with pytest.raises(RuntimeError, match="this one"):
        run("gibbs", LONG, progress=Wrong(2))
    assert time.monotonic() - began < 60
    for thread in threading.enumerate():
        if thread.name.startswith("ribp-chain"):
            thread.join(10)
            assert not thread.is_alive()


def test_events_tell_where_chains_are(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_SECONDS", 0.0)
    events = []
    run("gibbs", SHORT, progress=Reported(2, events.append))
    for chain in range(2):
        mine = [event for event in events if event.chain == chain]
        assert [event.phase for event in mine if event.phase != "search"] == (
            ["warm-up"] * 6 + ["draws"] * 6 + ["done"] * 2
        )
        shares = [event.share for event in mine]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert mine[-1].active_features >= 1
        assert np.isfinite(mine[-1].log_joint)


def test_events_of_one_chain_are_thinned():
    events = []
    take = Reported(1, events.append)
    for done in range(100):
        take(Event(0, "draws", done, 100, done / 100, 1, 0.0))
    take(Event(0, "done", 100, 100, 1.0, 1, 0.0))
    assert len(events) < 10
    assert events[-1].phase == "done"


# What is shown


def fed(shown, monkeypatch, seconds):
    """Feed events as if `seconds` had passed."""
    monkeypatch.setattr(type(shown), "seconds", property(lambda self: seconds))
    monkeypatch.setattr(module, "_LEAST_SECONDS", -1.0)
    for chain in range(4):
        shown(Event(chain, "draws", 40 * chain, 500, 0.5 + 0.04 * chain, 12, 10430.123))
    return shown


def test_lines_come_every_ten_seconds(monkeypatch, capsys):
    shown = Lines(4)
    fed(shown, monkeypatch, 9.0)
    assert capsys.readouterr().err == ""
    fed(shown, monkeypatch, 34.0)
    fed(shown, monkeypatch, 43.0)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("ribp:   34 s: draws, chains at 50%")
    assert lines[0].endswith("left")
    assert len(lines[0]) <= 80


def test_bars_fit_eighty_columns(monkeypatch):
    shown = Bars(4)
    text = io.StringIO()
    shown.console = shown._bars.live.console = Console(file=text, width=80, force_terminal=True)
    fed(shown, monkeypatch, 1.0)
    assert text.getvalue() == ""  # quick fits stay quiet
    with fed(shown, monkeypatch, 34.0):
        shown.say("something")
        table = Console(width=80, file=io.StringIO())
        table.print(shown._bars.get_renderable())
        lines = table.file.getvalue().splitlines()
    assert len(lines) == 4
    for line in lines:
        assert "12 features, log joint 10430.1" in line
        assert line.rstrip().endswith("left")
    assert "ribp: something" in text.getvalue()


def test_a_notebook_gets_lines_of_text(monkeypatch):
    written = []

    class Place:
        def update(self, content, raw):
            written.append(content["text/plain"])

    def display(content, raw, display_id):
        written.append(content["text/plain"])
        return Place()

    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    module_of = types.ModuleType("IPython.display")
    module_of.display = display
    monkeypatch.setitem(sys.modules, "IPython.display", module_of)
    shown = Notebook(5)
    fed(shown, monkeypatch, 1.0).refresh()
    assert written == []
    with fed(shown, monkeypatch, 34.0):
        shown.say("something")
        shown.refresh()
        shown.refresh()
    lines = written[1].splitlines()
    assert lines[0] == "ribp: something"
    assert "50% draws" in lines[1]
    assert lines[1].endswith("left")
    assert lines[5] == "chain 5  waits"
    assert max(map(len, lines)) <= 80
    assert written[-1] == "ribp: something\nribp: 34 s"


def test_which_progress(monkeypatch):
    assert type(progress(False, 2)) is Progress
    assert isinstance(progress("auto", 2), Lines)  # no terminal here
    assert isinstance(progress(print, 2), Reported)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(progress(True, 2), Bars)
    with pytest.raises(InputError, match="progress"):
        progress("loud", 2)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (42.4, "42 s"), (125, "2 min"), (3 * 3600 + 60, "3 h 1 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


# What a run will take


@pytest.mark.parametrize("name", ["gibbs", "poisson", "augmented", "buffet"])
def test_estimates_are_of_the_right_size(name):
    method, model, data = case(name)
    found = estimate(sampler(method, model), in_memory(data), Plan(n_chains=4), 2)
    assert 0 < found.sweep_seconds < 1
    assert found.seconds == pytest.approx(2 * 1050 * found.sweep_seconds)  # and 50 to begin
    assert found.n_bytes > 2 * 2000 * 6 * 8
    assert str(found).startswith("about ")


def of(n_rows, is_memory=True):
    """Return a store as far as thinning looks at it."""
    return SimpleNamespace(shape=(n_rows, 100), is_memory=is_memory)


def test_rows_are_thinned_to_a_budget():
    _, model, _ = case("gibbs")
    plan = Plan(n_chains=4, n_draws=500)
    assert thinning(plan, model, of(232)) == 1
    large = Model(model.counts, 50, model.likelihood)
    thin = thinning(plan, large, of(16242))
    kept = 4 * -(-500 // thin) * (16242 * 7 + 8 * 51 * 101)
    assert kept < BUDGET < 2e8
    assert thinning(plan, large, of(10**6)) == 25  # at least twenty draws a chain
    assert thinning(plan, large, of(10**7, is_memory=False)) == 166  # or three


def test_methods_that_do_not_exist():
    _, model, _ = case("gibbs")
    with pytest.raises(InputError, match="gibs"):
        sampler("gibs", model)
    with pytest.raises(InputError, match="gibbs-rows"):
        sampler("gibbs", case("poisson")[1])


def test_augmented_says_when_it_cannot_be():
    _, model, data = case("augmented")
    with pytest.raises(InputError, match="discarded"):
        sampler("augmented", replace(model, mass=0.01)).check(in_memory(data))
    with pytest.raises(InputError, match="concentration"):
        sampler("augmented", replace(model, concentration=None)).check(in_memory(data))
