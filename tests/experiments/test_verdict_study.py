"""The study of the verdict: its table is that of the stored results, and it runs."""

import json

import numpy as np
import pytest

from experiments.verdict.cases import MISFITS, misfit, well
from experiments.verdict.run import FRESH, SEEDS, TUNED, judged, tables
from tests.helpers import ROOT

STORED = ROOT / "experiments" / "verdict" / "results"


def test_the_table_is_that_of_the_stored_results_and_keeps_its_promises():
    stored = json.loads((STORED / "results.json").read_text())
    assert not stored["quick"]
    numbers = stored["numbers"]
    lines = tables(numbers)["table.md"]
    assert (STORED / "table.md").read_text() == "\n".join(lines).rstrip() + "\n"
    fresh = numbers["well fitted, fresh seeds"]
    assert len(fresh) == len(FRESH) == 100
    assert sum(one["fits"] != "good" for one in fresh.values()) <= 5
    for name in MISFITS:
        runs = numbers[name].values()
        caught = [one["fits"] != "good" or one["worth"] != "good" for one in runs]
        assert len(caught) == len(SEEDS)
        assert sum(caught) >= 9, name
    assert not set(TUNED) & set(FRESH)


def test_data_are_new_for_every_seed():
    for name in MISFITS:
        assert not np.array_equal(misfit(name, 0).data, misfit(name, 1).data)
    assert {well(seed).method for seed in range(7)} == {"gibbs", "gibbs-rows"}


@pytest.mark.jit
@pytest.mark.usefixtures("short_searches")
def test_a_fit_is_judged():
    found = judged(misfit("noise with heavy tails (Student, 3 degrees)", 0), 0, 10)
    assert found["fits"] == "bad"
