"""The study of kinds: its tables, other models, and quick runs."""

import json

import numpy as np
import pytest

from experiments.kinds import held_out, real_tables, recovered
from experiments.kinds import run as study
from experiments.kinds.simulated import DESIGNS, ONES, simulated
from tests.helpers import stand_ins

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("name", DESIGNS)
def test_simulated_tables_have_their_kinds_and_counts(name):
    made = simulated(name, 3, 90, 12)
    assert made.values.shape == (90, 12)
    assert np.bincount(made.rows.sum(axis=1)).tolist() == [0, 30, 30, 30]
    for d, kind in enumerate(made.kinds):
        assert kind.possible(made.values[:, d]).all()
    again = simulated(name, 3, 90, 12)
    np.testing.assert_array_equal(made.values, again.values)


def test_the_sparse_table_has_its_share_of_ones():
    made = simulated("binary, 12% ones", 0, 600, 60)
    assert made.values.mean() == pytest.approx(ONES, abs=0.01)


def test_hidden_entries_are_a_tenth_of_what_is_known():
    values = np.where(np.eye(40) > 0, np.nan, 1.0)
    where = held_out.hidden(real_tables.Table(values, ()), 1)
    assert where.sum() == 156
    assert not where[np.isnan(values)].any()
    assert (held_out.hidden(real_tables.Table(values, ()), 2) != where).any()


def test_counts_by_ones_follow_what_is_shown():
    values = np.array([[1.0, 1.0, np.nan, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, np.nan]])
    laws = real_tables.by_ones(values, 5)
    possible = np.isfinite(laws.log_probs(5)[laws.law_of_row])
    assert [np.flatnonzero(line).tolist() for line in possible] == [[3, 4, 5], [0, 1, 2], [0, 1]]


def test_only_zeros_and_ones_are_tried_as_numbers():
    some = {name: recovered.AS_NUMBERS in recovered.fits(DESIGNS[name].kinds) for name in DESIGNS}
    assert {name for name in some if some[name]} == {"binary, balanced", "binary, 12% ones"}
    mixed = real_tables.Table(np.zeros((1, 6)), DESIGNS["mixed"].kinds)
    assert held_out.methods(mixed, None) == [held_out.ALONE, held_out.LEARNED]


def prostate(rng):
    """Return a stand-in: a column of every kind of the real file, with gaps."""
    x = np.column_stack(
        [
            rng.integers(3, 5, 40), rng.integers(1, 5, 40), 5 + rng.integers(0, 3, 40),
            rng.normal(70, 7, 40).round(), rng.poisson(3, 40), rng.lognormal(size=40),
        ]
    ).astype(float)  # fmt: skip
    x[::7, 4] = np.nan
    names = np.array(["stage", "status", "sg", "age", "sz", "ap"])
    kinds = np.array(["categorical", "categorical", "ordinal", "count", "count", "positive"])
    return {"X": x, "names": names, "kinds": kinds}


def test_a_quick_run(tmp_path, monkeypatch, short_searches):
    stand_ins.place(stand_ins.STAND_IN, "20news_w100.npz", tmp_path, monkeypatch)
    np.savez(tmp_path / "prostate.npz", **prostate(np.random.default_rng(0)))
    digest = stand_ins.sha(tmp_path / "prostate.npz")
    monkeypatch.setattr(real_tables, "_PROSTATE", digest)
    tables = real_tables.load(tmp_path, None)
    assert [kind.name for kind in tables["prostate"].kinds] == [
        "binary", "categorical", "ordinal", "real", "negbin", "positive",
    ]  # fmt: skip
    out = tmp_path / "out"
    study.main(["--quick", "--data", str(tmp_path), "--out", str(out)])
    found = json.loads((out / "results.json").read_text())["numbers"]
    assert len(found) == 2 * len(DESIGNS) + 2 + 6 + 2
    assert 0.0 <= found["binary, balanced | as numbers | 100"]["f1"] <= 1.0
    assert np.log(0.5 / 50) < found["newsgroups | as numbers | 1"]["held out"] < 0.0
    assert found["prostate | counts learned | 1"]["held out"] < 0.0
    assert {path.name for path in out.iterdir()} == {"results.json", "recovered.md", "held-out.md"}
    study.main(["--quick", "--data", str(tmp_path), "--out", str(out), "--part", "real"])
