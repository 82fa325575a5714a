"""Kinds of columns on the command line: from texts in a file to levels in features and reports."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from ribp.errors import InputError, StorageError
from ribp.io.input_options import InputOptions, read_input
from ribp.io.kind_columns import coded, expanded, kind_options
from tests.helpers.short_searches import shorten

pytestmark = pytest.mark.jit

ASKED = ["--method", "gibbs-rows", "--counts", "column:k", "--kind", "visits=negbin"]
ASKED += ["--kind", "stage=ordinal(I, II, III)"]
QUICK = ["--chains", "2", "--warmup", "10", "--draws", "20", "--seed", "1", "--max-features", "5"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Write a CSV of patients; some entries are missing."""
    rng, n = np.random.default_rng(3), 50
    ones = rng.integers(1, 3, n)
    rows = np.array([rng.permutation(np.arange(3) < k) for k in ones])
    eta = rows @ rng.normal(0, 3, (3, 4)) + rng.logistic(size=(n, 4))
    X = pd.DataFrame(
        {
            "id": [f"p{at}" for at in range(n)],
            "age": 60.5 + eta[:, 0],
            "smoker": np.where(eta[:, 1] > 0, "yes", "no"),
            "stage": np.array(["I", "II", "III"])[np.digitize(eta[:, 2], [-1, 1])],
            "fever": eta[:, 3] > 0,
            "visits": rng.poisson(2, n),
            "ward": [f"ward {at}" for at in rng.integers(3, size=n)],
            "k": ones,
        }
    )
    X.loc[rng.random(n) < 0.1, "stage"] = None
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    X.to_csv(path, index=False)
    return path


def test_a_run_knows_its_levels(ribp, table, tmp_path, monkeypatch):
    shorten(monkeypatch.setattr)
    run = tmp_path / "run"
    words = ["--label", "ward", "--holdout", "0.1", "--out", run]
    code, said, wrong = ribp("fit", table, *ASKED, *QUICK, *words)
    assert code == 0, wrong
    assert "Held out" in said
    check_files(ribp, run, table, tmp_path)
    check_reports(ribp, run)


def test_known_features_are_found_by_name(ribp, table, tmp_path, monkeypatch):
    shorten(monkeypatch.setattr)
    known, run = tmp_path / "known.csv", tmp_path / "run"
    names = ["ward=ward 1", "ward=ward 0", "ward=ward 2", "visits", "fever", "stage"]
    known.write_text(",".join([*names, "smoker=yes", "age"]) + "\n1,2,-3,0.5,0.6,0.7,0.8,0.9\n")
    words = ["--id", "id", "--fixed-components", known, "--out", run]
    code, _, wrong = ribp("fit", table, *ASKED, *QUICK, *words)
    assert code == 0, wrong
    fit = __import__("ribp").load(run / "result.nc")
    assert fit.result_.tree["features"]["latent"].values.tolist() == [
        "age", "smoker=yes", "stage", "fever", "visits", "ward=ward 0", "ward=ward 1",
        "ward=ward 2",
    ]  # fmt: skip
    np.testing.assert_allclose(fit.components_[0], [0.9, 0.8, 0.7, 0.6, 0.5, 2, 1, -3])
    assert ribp("resume", run, "--draws", "22")[0] == 0
    assert ribp("report", run, "--out", tmp_path / "report.html")[0] == 0
    assert re.search(
        "Known features</td>\\s*<td[^>]*>feature0<", (tmp_path / "report.html").read_text()
    )
    known.write_text("age,smoker=yes\n1,2\n")
    code, _, wrong = ribp("fit", table, *ASKED, *QUICK, *words, "--overwrite")
    assert code != 0
    assert "stage" in wrong


def test_a_run_whose_rows_have_exposures(ribp, table, tmp_path, monkeypatch):
    shorten(monkeypatch.setattr)
    X = pd.read_csv(table)
    X["days"] = np.arange(1, len(X) + 1) / 7.0
    path, run = tmp_path / "stays.csv", tmp_path / "run"
    X.to_csv(path, index=False)
    words = ["--exposure", "column:days", "--exclude", "ward", "--id", "id"]
    code, _, wrong = ribp("fit", path, *ASKED, *QUICK, *words, "--holdout", "0.1", "--out", run)
    assert code == 0, wrong
    code, _, wrong = ribp(
        "transform", run, path, "--counts", "column:k", "--decode", "--out", tmp_path / "rows.csv"
    )
    assert code == 0, wrong
    found = pd.read_csv(tmp_path / "rows.csv", index_col=0)
    assert (found.sum(axis=1).to_numpy() == X["k"].to_numpy()).all()
    assert ribp("report", run, "--out", tmp_path / "report.html")[0] == 0
    assert "Exposures of rows" in (tmp_path / "report.html").read_text()
    words = ["--exposure", "learn", "--id", "id", "--exclude", "days", "--out", tmp_path / "other"]
    code, _, wrong = ribp("fit", path, *ASKED, *QUICK, *words)
    assert code != 0
    assert "must be a number a row" in wrong


def test_noisy_or_takes_true_and_false(ribp, tmp_path, monkeypatch):
    shorten(monkeypatch.setattr)
    rng, path, run = np.random.default_rng(0), tmp_path / "symptoms.csv", tmp_path / "run"
    X = pd.DataFrame(rng.random((40, 5)) < 0.4, columns=list("abcde")).assign(k=1)
    X.to_csv(path, index=False)
    words = ["--method", "gibbs-rows", "--counts", "column:k", "--out", run]
    code, _, wrong = ribp("fit", path, "--likelihood", "noisy-or", *words, *QUICK)
    assert code == 0, wrong
    assert "Left out" not in ribp("report", run)[1]
    assert ribp("resume", run, "--draws", "22")[0] == 0
    X.astype(int).to_csv(tmp_path / "numbers.csv", index=False)
    for data, out in ((path, "flags.csv"), (tmp_path / "numbers.csv", "numbers.csv")):
        code, _, wrong = ribp("transform", run, data, "--out", tmp_path / f"of-{out}")
        assert code == 0, wrong
    assert (tmp_path / "of-flags.csv").read_text() == (tmp_path / "of-numbers.csv").read_text()


def check_files(ribp, run, table, tmp_path):
    out = tmp_path / "features.csv"
    assert ribp("features", run, "--out", out)[0] == 0
    found = pd.read_csv(out)
    assert list(found.columns) == ["feature", "event", "without", "with", "change", "5%", "95%"]
    assert {"stage=III", "smoker=yes", "fever"} <= set(found["event"])
    decoded = tmp_path / "decoded.csv"
    mixed = pd.read_csv(table)[["k", "fever", "stage", "smoker", "visits", "age"]]
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    words = ["transform", run, tmp_path / "mixed.csv", "--counts", "column:k", "--decode"]
    code, _, wrong = ribp(*words, "--out", decoded)
    assert code == 0, wrong
    rows = pd.read_csv(decoded)
    assert (rows.drop(columns="id", errors="ignore").sum(axis=1) == mixed["k"]).all()
    mixed.replace({"smoker": {"no": "never"}}).to_csv(tmp_path / "new.csv", index=False)
    code, _, wrong = ribp("transform", run, tmp_path / "new.csv", "--out", tmp_path / "x.csv")
    assert code == 1
    assert "one of the levels no, yes in column 'smoker'" in wrong


def check_reports(ribp, run):
    code, said, wrong = ribp("resume", run, "--draws", "24", "--json")
    assert code == 0, wrong
    settings = json.loads(said)["settings"]
    assert settings["n_draws"] == 24
    smoker = settings["likelihood"]["columns"][1]["kind"]
    assert smoker == {"name": "binary", "levels": ["no", "yes"]}
    assert ribp("report", run)[0] == 0
    page = (run / "report.html").read_text()
    for words in ("stage=II", "smoker=yes", "without it", "ward 1", "--kind", "2 binary"):
        assert words in page
    code, _, wrong = ribp("compare", run)
    assert code == 2
    assert "knows no other data" in wrong


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--likelihood", "auto"], "integers are.*--kind age=real"),
        (["--kind", "visits=negbin"], r'method must be "gibbs-rows"'),
        (["--kind", "visits"], "--kind must be COLUMN=KIND"),
        (["--kind", "vsits=negbin"], "Did you mean 'visits'"),
        (["--kind", "visits=negbin", "--likelihood", "poisson"], "must be auto where kinds are"),
        ([], "text in 4 columns.*--likelihood auto --method gibbs-rows fits texts as levels"),
    ],
)
def test_what_is_refused(ribp, table, tmp_path, words, said):
    code, _, wrong = ribp("fit", table, *words, "--out", tmp_path / "run")
    assert code in (1, 2)
    assert re.search(said, wrong), wrong
    assert not (tmp_path / "run").exists()


# Reading


def read(path, likelihood="auto", **options):
    file = read_input(path, InputOptions(as_text=True, **options)).file
    return coded(file, expanded(likelihood, file.path, file.dim_names))


def test_cells_of_text_files(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b;c;d;name\n1,5;x;TRUE;7;u\n2,5;y;false;;v\n3;NA;True;9;w\n")
    file, kinds = read(path, {"d": "binary", "name": "categorical"})
    assert [str(kind) for kind in kinds] == [
        "real", "binary(x, y)", "binary(False, True)", "binary(7, 9)", "categorical(u, v, w)",
    ]  # fmt: skip
    nan = np.nan
    expected = [[1.5, 0, 1, 0, 0], [2.5, 1, 0, nan, 1], [3, nan, 1, 1, 2]]
    np.testing.assert_array_equal(file.values, expected)
    assert file.columns == {}


def test_parquet_has_the_levels_of_text_files(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "table.csv"
    path.write_text("id,a,b,c\nr1,1.5,x,true\nr2,2.5,y,false\nr3,,x,\n")
    polars.read_csv(path).write_parquet(tmp_path / "table.parquet")
    here, there = read(path, {"a": "real"}), read(tmp_path / "table.parquet", {"a": "real"})
    assert here[1] == there[1]
    np.testing.assert_array_equal(here[0].values, there[0].values)
    assert there[0].row_names == ["r1", "r2", "r3"]


def test_patterns_and_numbers_of_columns(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("q1,q2,age\n1,2,33\n3,1,44\n2,3,55\n")
    _, kinds = read(path, {"q*": "ordinal", "age": "real"})
    assert [str(kind) for kind in kinds] == ["ordinal(1, 2, 3)"] * 2 + ["real"]
    np.save(tmp_path / "table.npy", np.array([[0.0, 1.5], [1.0, 2.5], [2.0, 0.5]]))
    _, kinds = read(tmp_path / "table.npy", {"0": "log-poisson"})
    assert [kind.name for kind in kinds] == ["log-poisson", "real"]
    with pytest.raises(InputError, match="integers"):
        read(tmp_path / "table.npy")


def test_texts_that_fit_no_kind_show_what_to_type(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("note,x\n" + "".join(f"text {n},{n}.5\n" for n in range(60)))
    with pytest.raises(StorageError, match=r"more than 50 different texts.*Add --exclude note"):
        read(path)


@pytest.mark.parametrize(
    ("text", "column", "kind"),
    [
        ("a=b=categorical", "a=b", "categorical"),
        ("x=real = binary ", "x=real", "binary"),
        ("a=b=ordinal(x=1, y=real)", "a=b", "ordinal(x=1, y=real)"),
        ("q=ordinal(1) low, 2) high)", "q", "ordinal(1) low, 2) high)"),
        (" n = binomial (3)", "n", "binomial (3)"),
        ("visits=log-poisson", "visits", "log-poisson"),
        ("age=auto", "age", "auto"),
    ],
)
def test_names_of_columns_and_levels_may_have_equals_signs(text, column, kind):
    assert kind_options("gaussian", [text], None) == {column: kind}


@pytest.mark.parametrize("text", ["=real", " =real", "a=", "a=rael", "a=reals", "a=real b"])
def test_what_is_no_column_and_kind(text):
    with pytest.raises(InputError, match="must be COLUMN=KIND with a kind of real, positive, "):
        kind_options("gaussian", [text], None)


def test_files_of_kinds(tmp_path):
    path = tmp_path / "kinds.csv"
    path.write_text('column,kind\nage,real\nstage,"ordinal(I, II)"\n\n')
    assert kind_options("gaussian", None, path) == {"age": "real", "stage": "ordinal(I, II)"}
    both = kind_options("auto", ["age = positive"], path)
    assert both == {"age": "positive", "stage": "ordinal(I, II)"}
    assert kind_options("poisson", None, None) == "poisson"
    for text in ("age\n", "age,\n", ""):
        path.write_text(text)
        with pytest.raises(StorageError, match="lines of a column and its kind"):
            kind_options("auto", None, path)
    with pytest.raises(StorageError, match="cannot be read"):
        kind_options("auto", None, tmp_path / "none.csv")
