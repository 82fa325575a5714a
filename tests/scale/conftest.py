"""Searches that take no time: on few rows, with few steps."""

import pytest

from ribp.mcmc import sampled_start
from ribp.mcmc.start import Schedule, best_start

QUICK = Schedule(steps=5, steps_alone=10, growing_sweeps=3, heats=(None,))


def quick_start(rng, model, data, n_starts=1, **options):
    return best_start(rng, model, data, 1, **options, schedule=QUICK)


@pytest.fixture
def few(monkeypatch):
    """Make a search on few rows, and a short one."""
    monkeypatch.setattr(sampled_start, "SAMPLE", 150)
    modules = ("mcmc.sampled_start", "mcmc.capacity", "running.samplers", "scale.sampler")
    for module in (*modules, "variational.structured"):
        monkeypatch.setattr(f"ribp.{module}.best_start", quick_start)
