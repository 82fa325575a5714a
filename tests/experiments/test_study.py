"""Studies of many runs: they go on where they were, and say which version has made what."""

import json
import math

import numpy as np
import pytest

from experiments import study
from tests.helpers.study_options import options


def test_a_study_goes_on_where_it_was(tmp_path, capsys):
    first = study.Study(options(tmp_path), {"n": 3, "pair": (1, 2)})
    assert first.wants("a", "b", 0)
    first.add("a", "b", 0, numbers={"f1": 0.5, "features": 3}, seconds=1.5)
    first.add("a", "b", 1, numbers={"f1": math.nan, "features": 4}, seconds=2.5)
    again = study.Study(options(tmp_path), {"n": 3, "pair": (1, 2)})
    assert not again.wants("a", "b", 0)
    assert again.wants("a", "b", 2)
    np.testing.assert_equal(again.values("a", "b", of="f1"), [0.5, np.nan])
    np.testing.assert_equal(again.values("a", "b", of="seconds"), [1.5, 2.5])
    assert again.values("a", "c", of="f1").size == 0
    assert study.Study(options(tmp_path), {"n": 4}).wants("a", "b", 0)
    late = study.Study(options(tmp_path, quick=True, minutes=-1.0), {})
    assert not late.wants("a", "b", 0)
    assert json.loads((tmp_path / "results.json").read_text())["seeds"] == [0, 1]
    assert "a | b | 0: f1 0.500, 1.5 s" in capsys.readouterr().out


def test_stored_runs_are_verified(tmp_path, monkeypatch, capsys):
    made = study.Study(options(tmp_path), {})
    for seed in range(4):
        made.add("x", seed, numbers={"f1": 1 / 3, "seed": seed}, seconds=1.0)
    monkeypatch.setattr(study.shared, "versions", lambda: {"ribp": "another"})
    before = json.loads((tmp_path / "results.json").read_text())
    again = study.Study(options(tmp_path, verify=3), {})
    wanted = [seed for seed in range(4) if again.wants("x", seed)]
    assert len(wanted) == 3
    for seed in wanted:
        value = 0.5 if seed == wanted[1] else 1 / 3 + 1e-9
        again.add("x", seed, numbers={"f1": value, "seed": seed}, seconds=9.0)
    after = json.loads((tmp_path / "results.json").read_text())
    assert {name: after[name] for name in before} == before
    assert after["verified"]["versions"] == {"ribp": "another"}
    assert after["verified"]["other"] == [f"x | {wanted[1]}"]
    assert len(after["verified"]["same"]) == 2
    assert capsys.readouterr().out.count("OTHER") == 1


def test_parts_of_a_study_are_put_together(tmp_path):
    for seed, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        part = study.Study(options(tmp_path / name), {"n": 3})
        part.add("x", seed, numbers={"f1": 0.5 + seed}, seconds=1.0)
    (tmp_path / "c").mkdir()
    joined = options(tmp_path / "c", join=[tmp_path / "a", tmp_path / "b"])
    assert study.Study(joined, {"n": 3}).values("x", of="f1").tolist() == [0.5, 1.5]
    stored = json.loads((tmp_path / "c" / "results.json").read_text())
    assert stored["seeds"] == [0, 1]
    assert stored["timing"]["seconds"] == {"x | 0": 1.0, "x | 1": 1.0}
    with pytest.raises(SystemExit, match="a has no results of this setting"):
        study.Study(joined, {"n": 4})


def by(monkeypatch, version):
    monkeypatch.setattr(study.shared, "versions", lambda: {"ribp": version})


def test_runs_by_other_versions_are_kept_until_they_are_made_again(tmp_path, monkeypatch):
    by(monkeypatch, "1")
    first = study.Study(options(tmp_path), {})
    for seed in range(3):
        first.add("x", seed, numbers={"f1": float(seed)}, seconds=1.0)
    assert not study.Study(options(tmp_path), {}).wants("x", 0)
    by(monkeypatch, "2")
    again = study.Study(options(tmp_path), {})
    assert [again.wants("x", seed) for seed in range(4)] == [True] * 4
    assert again.values("x", of="f1").tolist() == [0.0, 1.0, 2.0]
    missing = study.Study(options(tmp_path, missing=True), {})
    assert [missing.wants("x", seed) for seed in range(4)] == [False, False, False, True]
    again.add("x", 1, numbers={"f1": 5.0}, seconds=2.0)
    assert not again.wants("x", 1)
    by(monkeypatch, "3")
    third = study.Study(options(tmp_path), {})
    assert third.wants("x", 1)
    third.add("x", 2, numbers={"f1": 6.0}, seconds=2.0)
    third = study.Study(options(tmp_path), {})
    assert [third.wants("x", seed) for seed in range(3)] == [True, True, False]
    assert third.values("x", of="f1").tolist() == [0.0, 5.0, 6.0]
    stored = json.loads((tmp_path / "results.json").read_text())
    assert stored["versions"] == {"ribp": "3"}
    assert stored["older"] == [
        {"versions": {"ribp": "1"}, "runs": ["x | 0"]},
        {"versions": {"ribp": "2"}, "runs": ["x | 1"]},
    ]
    for seed in range(2):
        third.add("x", seed, numbers={"f1": 0.5}, seconds=1.0)
    assert "older" not in json.loads((tmp_path / "results.json").read_text())


def test_runs_whose_seconds_nobody_wrote_down(tmp_path, monkeypatch):
    by(monkeypatch, "1")
    study.Study(options(tmp_path), {}).add("x", 0, numbers={"f1": 0.5}, seconds=1.0)
    stored = json.loads((tmp_path / "results.json").read_text())
    del stored["timing"]["seconds"]
    (tmp_path / "results.json").write_text(json.dumps(stored))
    for _ in range(2):
        study.Study(options(tmp_path), {}).add("x", 1, numbers={"f1": 0.5}, seconds=3.0)
    again = study.Study(options(tmp_path), {})
    np.testing.assert_equal(again.values("x", of="seconds"), [np.nan, 3.0])
    assert json.loads((tmp_path / "results.json").read_text())["timing"]["minutes"] == 0.05


def test_a_part_that_is_joined_replaces_older_runs(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).mkdir()
    by(monkeypatch, "1")
    for seed in range(2):
        made = study.Study(options(tmp_path / "a"), {})
        made.add("x", seed, numbers={"f1": 0.0}, seconds=1.0)
    by(monkeypatch, "2")
    study.Study(options(tmp_path / "b"), {}).add("x", 1, numbers={"f1": 1.0}, seconds=1.0)
    joined = study.Study(options(tmp_path / "a", join=[tmp_path / "b"]), {})
    assert joined.values("x", of="f1").tolist() == [0.0, 1.0]
    assert [joined.wants("x", seed) for seed in range(2)] == [True, False]
    by(monkeypatch, "3")
    with pytest.raises(SystemExit, match="and these versions"):
        study.Study(options(tmp_path / "a", join=[tmp_path / "b"]), {})


def test_medians():
    assert study.median(np.array([])) == study.median(np.array([np.nan])) == ""
    assert study.median(np.array([2.0])) == study.median(np.array([2.0, 2.0])) == "2.000"
    assert study.median(np.array([1.0, 2, 3, 4, 5, np.nan]), 0) == "3 (2, 4)"


def test_paired_differences():
    ours = {0: 0.5, 1: 0.7, 2: 0.9, 3: math.nan, 7: 0.1}
    theirs = {2: 0.5, 1: 0.4, 0: 0.3, 3: 0.1, 4: 0.9}  # in another order, of other seeds
    mean, error, verdict = study.paired(ours, theirs)
    assert mean == pytest.approx(0.3)
    assert error == pytest.approx(0.1 / math.sqrt(3))
    assert verdict == "ahead"
    assert study.paired(theirs, ours)[2] == "behind"
    assert study.paired({0: 0.5, 1: 0.7}, {0: 0.4, 1: 0.7})[2] == "level"  # one standard error
    assert study.paired({0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0}) == (0.0, 0.0, "level")
    assert study.paired({0: 1.0, 1: 1.0}, {0: 0.5, 1: 0.5}) == (0.5, 0.0, "ahead")
    np.testing.assert_equal(study.paired({0: 1.0}, {0: 0.5}), (0.5, math.nan, ""))
    np.testing.assert_equal(study.paired({0: 1.0}, {}), (math.nan, math.nan, ""))
    assert study.compared({0: 0.5, 1: 0.7}, {0: 0.4, 1: 0.7}) == "+0.050 ± 0.050, level"
    assert study.compared({0: 1.0}, {0: 1.25, 1: 7.0}, digits=1) == "-0.2, one seed"
    assert study.compared({0: 1.0}, {}) == ""
    assert study.compared({0: 1.0003, 1: 1.0005}, {0: 1.0, 1: 1.0}) == "+0.0004 ± 0.0001, ahead"


def test_numbers_of_seeds_in_any_order(tmp_path):
    found = study.Study(options(tmp_path), {})
    for seed in (11, 1, 2):
        found.add("a", "b", seed, numbers={"f1": 0.1 * seed}, seconds=1.0)
    assert found.by_seed("a", "b", of="f1") == pytest.approx({11: 1.1, 1: 0.1, 2: 0.2})
    np.testing.assert_allclose(found.values("a", "b", of="f1"), [1.1, 0.1, 0.2])
