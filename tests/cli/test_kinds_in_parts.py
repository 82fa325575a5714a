"""Kinds, patterns and known features of files of which only some rows are in memory at a time."""

import re

import numpy as np
import polars as pl
import pytest

import ribp as package
from ribp.cli.run_steps import read_again
from tests.helpers.short_searches import shorten

QUICK = ["--method", "gibbs-rows", "--chains", "1", "--warmup", "2", "--draws", "4", "--seed", "1"]
QUICK += ["--max-features", "4", "--memory", "2GB"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write patients as Parquet, and integers as .npy; sites are numbers of levels."""
    folder, rng, n = tmp_path_factory.mktemp("patients"), np.random.default_rng(3), 60
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "visits": [None if at % 9 == 0 else int(rng.poisson(3)) for at in range(n)],
            "age": rng.normal(60, 9, n),
            "smoker": rng.random(n) < 0.5,
            "site": rng.integers(3, size=n),
            "k": rng.integers(1, 3, n),
        }
    )
    frame.write_parquet(folder / "p.parquet")
    np.save(folder / "x.npy", rng.integers(0, 5, (n, 3)))
    return folder


def fit(ribp, data, *words):
    """Fit in parts; return the estimator."""
    run = words[words.index("--out") + 1]
    code, _, wrong = ribp("fit", data, *QUICK, *words)
    assert code == 0, wrong
    return package.load(run / "result.nc")


@pytest.mark.jit
def test_kinds_follow_from_types_patterns_and_known_features(ribp, files, tmp_path, monkeypatch):
    shorten(monkeypatch.setattr)
    known, run = tmp_path / "known.csv", tmp_path / "run"
    known.write_text("site=b,site=a,site=c,smoker,visits,age\n1,2,-3,0.5,0.6,0.7\n")
    words = ["--counts", "column:k", "--kind", "v*=negbin", "--kind", "site=categorical(a, b, c)"]
    words += ["--fixed-components", known, "--out", run]
    model = fit(ribp, files / "p.parquet", *words)
    assert {name: str(kind) for name, kind in model.kinds_.items()} == {
        "visits": "negbin", "age": "real", "smoker": "binary(False, True)",
        "site": "categorical(a, b, c)",
    }  # fmt: skip
    np.testing.assert_allclose(model.components_[0], [0.6, 0.7, 0.5, 2, 1, -3])
    assert read_again(run).kinds == tuple(model.kinds_.values())
    assert ribp("resume", run, "--draws", "6")[0] == 0
    assert "Left out" not in ribp("report", run)[1]
    page = (run / "report.html").read_text()
    assert "--memory 2GB" in page  # with all data in memory columns may have other kinds


@pytest.mark.jit
def test_known_features_of_gaussian_columns_are_found_by_name(ribp, files, tmp_path, monkeypatch):
    shorten(monkeypatch.setattr)
    (tmp_path / "known.csv").write_text("age,visits\n1,5\n")
    words = ["--columns", "age,visits", "--fixed-components", tmp_path / "known.csv"]
    model = fit(ribp, files / "p.parquet", *words, "--out", tmp_path / "run")
    found = dict(zip(model.feature_names_in_, model.components_[0], strict=True))
    assert found == {"visits": 5, "age": 1}


@pytest.mark.parametrize(
    ("data", "words", "said"),
    [
        ("p.parquet", ["--likelihood", "auto"], r"integers .*'visits', 'site', 'k'\. .*--kind"),
        ("x.npy", ["--likelihood", "auto"], "integers are.*auto for '0', '1', '2'"),
        ("p.parquet", ["--kind", "q*=real"], r"must be a column of .*'q\*'"),
        ("p.parquet", ["--kind", "*=ordinal(1, 2)"], "named by their numbers from 0"),
        ("x.npy", ["--fixed-components", "KNOWN"], "without names of columns where the data have"),
        ("p.parquet", ["--fixed-components", "KNOWN"], "must be a column of .*known.csv"),
    ],
)
def test_what_is_refused_before_there_is_a_folder(ribp, files, tmp_path, data, words, said):
    (tmp_path / "known.csv").write_text("age,height\n1,2\n")
    words = [tmp_path / "known.csv" if one == "KNOWN" else one for one in words]
    code, _, wrong = ribp("fit", files / data, *QUICK, *words, "--out", tmp_path / "run")
    assert code in (1, 2)
    assert re.search(said, wrong), wrong
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_large_by_itself_asks_as_well(ribp, files, tmp_path, monkeypatch):
    monkeypatch.setattr("ribp.io.formats.memory", lambda: 100)
    words = ["--likelihood", "auto", "--out", tmp_path / "run"]
    code, _, wrong = ribp("fit", files / "x.npy", *QUICK[:-2], *words)
    assert code == 2
    assert "integers are" in wrong
