"""The study of calibration: nothing is left out, and what it shows."""

import json

import numpy as np
import pytest

from experiments.calibration import run as study
from experiments.calibration.picture import differences, half_widths, rank_picture
from experiments.calibration.trials import joint_trials
from ribp.kinds import NAMES
from tests.helpers.calibration_cases import RANKED, ranked_trial

JOINT = {one[:3] for one in joint_trials()}


def test_every_sampler_and_law_has_both_tests():
    both = {key[:2] for key in JOINT}
    assert both == {key[:2] for key in RANKED}
    assert {sampler for sampler, _ in both} == {"gibbs", "gibbs-rows", "augmented", "IndianBuffet"}
    kinds = {name for _, law, name in RANKED if law == "columns of kinds"}
    assert kinds == {*NAMES, "mixed", "counts with exposures"}
    for key in RANKED:
        ranked_trial(*key)


def test_a_quick_run_has_one_model_of_each():
    keys = [("joint", *key) for key in sorted(JOINT)] + [("ranks", *key) for key in RANKED]
    some = study._first_of_each(keys)
    assert len(some) == len({key[:3] for key in keys})
    assert set(some) <= set(keys)


def test_ranks_that_are_uniform_stay_in_the_band():
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(400, np.full(20, 0.05), size=2000)
    inside = (np.abs(differences(drawn)) <= half_widths(400, 20) + 1e-12).all(axis=1)
    assert inside.mean() == pytest.approx(0.99, abs=0.01)
    too_sure = np.full(20, 0.9 / 20) + 0.05 * np.isin(np.arange(20), [0, 19])
    assert (np.abs(differences(400 * too_sure)) > half_widths(400, 20)).any()
    figure = rank_picture({"a": {"x": drawn[0]}, "b": {"x": drawn[1], "y": drawn[2]}})
    assert sum(bool(axis.lines) for axis in figure.axes) == 2


@pytest.mark.jit
def test_what_was_found_is_written(tmp_path, monkeypatch):
    few = [("gibbs-rows", "Poisson", "counts")]
    monkeypatch.setattr(study, "RANKED", few)
    monkeypatch.setattr(
        study, "joint_trials", lambda: [one for one in joint_trials() if one[:3] == few[0]]
    )
    study.main(["--quick", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "results.json").read_text())["numbers"]
    assert set(found) == {
        f"{test} | gibbs-rows | Poisson | counts | 0" for test in ("joint", "ranks")
    }
    bins = found["ranks | gibbs-rows | Poisson | counts | 0"]["bins"]
    assert {sum(one) for one in bins.values()} == {study.QUICK.ranked}
    text = (tmp_path / "table.md").read_text()
    assert f"| ranks | 1 | {3 * len(bins)} |" in text
    assert "the least p is" in text
    assert "so far" not in text
    assert (tmp_path / "ranks.png").stat().st_size > 1000
