"""Peers beside ours: the stored table, a run without any peer, and what drives a sampler."""

import json

import numpy as np
import pytest

from benchmarks import peer_adapters, peers


def test_the_stored_table_is_what_the_stored_numbers_give():
    parts = json.loads((peers.HERE / "peers.json").read_text())
    assert list(parts) == list(peers.PARTS)
    stored = (peers.HERE / "peers.md").read_text()
    assert stored == "\n".join(peers.markdown(parts)).rstrip() + "\n"


@pytest.mark.jit
def test_a_run_without_peers_says_who_is_left_out_and_replaces_its_part(tmp_path, capsys):
    stored = {"kernels": {"date": "1999"}, "chains": peers_of_nobody()}
    (tmp_path / "peers.json").write_text(json.dumps(stored))
    peers.main(["--quick", "--only", "kernels", "--out", str(tmp_path)])
    parts = json.loads((tmp_path / "peers.json").read_text())
    assert list(parts) == ["kernels", "chains"]
    assert parts["chains"] == stored["chains"]
    assert parts["kernels"]["left_out"] == ["dppy", "jnotype", "sampling"]
    text = (tmp_path / "peers.md").read_text()
    assert "Left out: DPPy, Jnotype, R sampling." in text
    assert text.strip() in capsys.readouterr().out + text
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["peers.json", "peers.md"]


@pytest.mark.jit
@pytest.mark.parametrize("part", ["sweeps", "held_out", "chains"])
def test_ours_runs_alone(part, tmp_path):
    peers.main(["--quick", "--only", part, "--out", str(tmp_path)])
    found = json.loads((tmp_path / "peers.json").read_text())[part]
    assert found["left_out"]
    assert list(found["versions"]) == ["ribp"]
    assert "ribp, `IndianBuffet`" in (tmp_path / "peers.md").read_text()


def peers_of_nobody():
    """Return a stored part in which one chain of ours was run."""
    run = {"data": "ibp-20", "seed": 0, "name": "buffet", "log_joint": -1.0, "features": 2}
    numbers = {"budget": 1.0, "runs": [{**run, "sweeps": 3, "seconds": 1.0}]}
    return {"date": "2000-01-01", "versions": {"ribp": "0"}, "left_out": [], "numbers": numbers}


def counting(given):
    """Return a sampler whose mean is the number of its sweeps, and whose features grow."""
    made = 0

    def step():
        nonlocal made
        made += 1

    rows = len(given["X"])
    return step, lambda: (np.ones((rows, made)), np.full(given["X"].shape, float(made)))


def test_predictions_are_means_over_the_later_half_and_draws_have_one_width(monkeypatch):
    ticks = iter(range(1000))
    monkeypatch.setattr(peer_adapters, "clock", lambda: float(next(ticks)))
    X = np.zeros((3, 2))
    X[1, 0] = np.nan
    found = peer_adapters.chain(counting, {"X": X, "budgets": [2.0, 6.0]})
    assert found["times"] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    np.testing.assert_array_equal(found["predicted"], [[2.0], [5.0]])
    assert [Z.sum(axis=1).tolist() for Z in found["draws"]] == [[n] * 3 for n in range(1, 7)]
    once = peer_adapters.chain(counting, {"X": X, "budgets": [2.0, 6.0], "once": 1})
    np.testing.assert_array_equal(once["predicted"], [[1.0], [1.0]])


@pytest.mark.jit
def test_a_peer_that_stops_early_is_an_error_not_a_fast_sweep(tmp_path):
    (tmp_path / "GLFMlib.py").write_text(
        "def infer(*given):\n    print('EXECUTION STOPPED')\n    return (given[2],)\n"
    )
    options = ["--quick", "--only", "sweeps", "--glfm", str(tmp_path), "--out", str(tmp_path)]
    with pytest.raises(SystemExit, match="glfm failed"):
        peers.main(options)
    assert not (tmp_path / "peers.json").exists()


def test_a_search_that_outlasts_a_budget_does_not_count_there():
    runs = [{"name": "buffet", "rmse": [0.5, 0.4], "first": first} for first in (1.0, 3.0)]
    part = {"numbers": {"budgets": [2.0, 5.0], "runs": runs}, "left_out": ["pgfa", "pgfa-pg"]}
    lines = peers.markdown({"held_out": {**part, "versions": {"ribp": "1"}, "date": "d"}})
    assert "| ribp, `IndianBuffet` | 2 | 0.500, 1 of 2 | 0.400 |" in lines
    assert "Run on d: ribp 1. Left out: pgfa." in lines


def test_a_chain_has_the_median_and_the_range_of_its_seeds():
    part = peers_of_nobody()
    first = part["numbers"]["runs"][0]
    more = [{**first, "seed": n, "log_joint": -10.0 * n, "f1": 0.5} for n in (1, 2)]
    part["numbers"]["runs"] += more
    line = "| ibp-20 | ribp, `IndianBuffet` | 3 | -10 (-20, -1) | 0.500 | 2 | 3 | 1 |"
    assert line in peers.markdown({"chains": part})
