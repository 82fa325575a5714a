"""`ribp fit --memory`: files that are read in parts give the draws of files that are read whole."""

import numpy as np
import polars as pl
import pytest

import ribp as package
from ribp.errors import InputError, StorageError
from ribp.io import parquet_files
from ribp.io.column_choice import EVERYTHING, ColumnChoice
from ribp.io.formats import is_large
from ribp.io.large_files import as_bytes, check_memory
from tests.helpers.same_bits import assert_same_results
from tests.helpers.store_cases import features

QUICK = ["--max-features", "4", "--chains", "1", "--warmup", "2", "--draws", "4", "--seed", "1"]
ROWS = ["--method", "gibbs-rows", *QUICK]


@pytest.fixture
def files(tmp_path):
    """Write the same table in two formats, with counts as a column of one."""
    values, rows = features(700, share=0.1)
    np.save(tmp_path / "x.npy", values)
    np.save(tmp_path / "counts.npy", rows.sum(axis=1).astype(int))
    frame = pl.DataFrame({f"m{j}": values[:, j] for j in range(values.shape[1])})
    frame = frame.fill_nan(None).with_columns(k=rows.sum(axis=1).astype(int))
    frame.write_parquet(tmp_path / "x.parquet", row_group_size=100)
    return tmp_path


def result(run):
    return package.load(run / "result.nc").result_


@pytest.mark.jit
def test_a_run_that_is_refused_leaves_what_was_there(files, ribp):
    """A Parquet file is copied before it is known whether its counts are possible."""
    run, wrong = files / "run", ["--memory", "2GB", "--counts", "column:nothing", *ROWS]
    assert ribp("fit", files / "x.parquet", "--out", run, *wrong)[0] == 1
    assert not run.exists()
    right = ["--memory", "2GB", "--counts", "column:k", *ROWS]
    assert ribp("fit", files / "x.parquet", "--out", run, *right)[0] == 0
    (run / "notes.txt").write_text("mine")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert ribp("fit", files / "x.parquet", "--out", run, "--overwrite", *wrong)[0] == 1
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
    assert ribp("summary", run)[0] == 0
    assert ribp("fit", files / "x.parquet", "--out", run, "--overwrite", *right)[0] == 0
    assert not (run / "replaced").exists()
    assert (run / "notes.txt").read_text() == "mine"
    (run / "replaced").mkdir()  # as if it had been killed just before
    assert ribp("resume", run, "--draws", "6")[0] == 0
    assert not (run / "replaced").exists()


def test_parquet_is_copied_part_by_part(files):
    with (files / "copy.npy").open("wb") as copy:
        told = parquet_files.write_numbers(
            files / "x.parquet", ColumnChoice(aside=("k",)), copy, 128, False
        )
    np.testing.assert_array_equal(np.load(files / "copy.npy"), np.load(files / "x.npy"))
    assert told["shape"] == (700, 4)
    assert told["dim_names"] == ["m0", "m1", "m2", "m3"]
    assert [int(k) for k in told["columns"]["k"]] == np.load(files / "counts.npy").tolist()
    (files / "x.parquet").write_bytes((files / "x.parquet").read_bytes()[:-200])
    with pytest.raises(StorageError, match=r"x\.parquet"):
        parquet_files.copy_parquet(files / "x.parquet", EVERYTHING, files / "copy.npy")


@pytest.mark.jit
@pytest.mark.parametrize("method", ["gibbs-rows", "structured"])
def test_parts_or_whole_is_the_same(few, files, ribp, method):
    options = ["--method", method, *QUICK]
    counts = ["--counts", f"file:{files / 'counts.npy'}", *options]
    assert ribp("fit", files / "x.npy", "--out", files / "whole", *counts)[0] == 0
    done = ribp("fit", files / "x.npy", "--out", files / "npy", "--memory", "1GiB", *counts)
    assert done[0] == 0, done
    assert_same_results(result(files / "whole"), result(files / "npy"))
    column = ["--counts", "column:k", "--memory", "2GB", *options]
    assert ribp("fit", files / "x.parquet", "--out", files / "parquet", *column)[0] == 0
    assert_same_results(result(files / "whole"), result(files / "parquet"))
    assert not (files / "parquet" / "rows.npy").exists()
    assert package.load(files / "parquet" / "result.nc").feature_names_in_[0] == "m0"
    code, _, err = ribp("resume", files / "npy", "--draws", "6")
    assert code == 0, err
    assert result(files / "npy").n_draws == 6


@pytest.mark.jit
def test_features_of_a_large_file(few, files, ribp, monkeypatch):
    counts = ["--counts", f"file:{files / 'counts.npy'}"]
    assert ribp("fit", files / "x.npy", "--out", files / "run", *counts, *ROWS)[0] == 0
    monkeypatch.setattr("ribp.blocks.GROUP", 64)
    monkeypatch.setattr("ribp.cli.row_progress.LINE_SECONDS", 0.0)
    in_parts = ["--memory", "1GiB", "--jobs", "2"]
    for ending in ("npy", "csv", "parquet"):
        for more in (["--decode"], []):
            one, two = files / f"one{len(more)}.{ending}", files / f"two{len(more)}.{ending}"
            given = [files / "run", files / "x.npy", *counts, *more]
            assert ribp("transform", *given, "--out", one, "--json")[0] == 0
            code, _, err = ribp("transform", *given, "--out", two, *in_parts)
            assert code == 0, err
            assert "of 700 rows, about" in err
            assert one.read_bytes() == two.read_bytes()
    assert np.load(files / "two1.npy").dtype == np.int8
    left = {path.name for path in files.iterdir()}
    frame = pl.read_parquet(files / "x.parquet").with_columns(
        id=pl.Series([f"s{n}" for n in range(700)]), site=pl.lit("=A")
    )
    frame.select(frame.columns[::-1]).write_parquet(files / "y.parquet")
    asked = ["--counts", "column:k", "--decode", "--id", "id", "--label", "site"]
    run = files / "named"
    assert ribp("fit", files / "x.parquet", "--out", run, "--counts", "column:k", *ROWS)[0] == 0
    for name, more in (("whole.csv", []), ("parts.csv", in_parts)):
        done = ribp("transform", run, files / "y.parquet", *asked, "--out", files / name, *more)
        assert done[0] == 0, done
    assert (files / "whole.csv").read_bytes() == (files / "parts.csv").read_bytes()
    lines = (files / "parts.csv").read_text().splitlines()
    assert lines[1].startswith("s0,=A,")
    assert {path.name for path in files.iterdir()} - left == {"y.parquet", "named", "whole.csv",
                                                              "parts.csv"}  # fmt: skip
    code, _, err = ribp("transform", run, files / "x.parquet", "--memory", "1MB", "--out",
                        files / "no.csv")  # fmt: skip
    assert code == 2
    assert "at least" in err


@pytest.mark.jit
@pytest.mark.filterwarnings("ignore")
def test_workers_of_a_cluster_find_the_features_of_a_file(few, files, ribp, cluster):
    counts = ["--counts", f"file:{files / 'counts.npy'}"]
    assert ribp("fit", files / "x.npy", "--out", files / "run", *counts, *ROWS)[0] == 0
    given = ["transform", files / "run", files / "x.npy", *counts, "--decode"]
    assert ribp(*given, "--out", files / "here.csv")[0] == 0
    code, _, err = ribp(
        *given, "--out", files / "there.csv", "--scheduler", cluster.scheduler_address
    )
    assert code == 0, err
    assert (files / "here.csv").read_bytes() == (files / "there.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--memory", "1GiB", *QUICK], "gibbs-rows"),
        (["--memory", "1GiB", "--holdout", "0.1", *ROWS], "holdout"),
        (["--memory", "plenty", *ROWS], "1GiB"),
        (["--memory", "10MB", *ROWS], "at least"),
        (["--memory", "1GiB", "--counts", "column:k", *ROWS], "column"),
        (["--memory", "1GiB", "--counts", "2", *ROWS], "exactly(2)"),
        (["--memory", "1GiB", "--counts", "file:nowhere.npy", *ROWS], "nowhere.npy"),
    ],
)
def test_what_is_refused(files, ribp, arguments, says):
    code, _, err = ribp("fit", files / "x.npy", "--out", files / "run", *arguments)
    assert code in (1, 2)
    assert says in err
    assert not (files / "run").exists()


def test_a_wrong_law_leaves_no_folder_behind(files, ribp):
    code, _, err = ribp(
        "fit", files / "x.parquet", "--out", files / "run", "--memory", "1GiB", "--counts", "2",
        *ROWS,
    )  # fmt: skip
    assert code in (1, 2)
    assert "exactly(2)" in err
    assert not (files / "run").exists()


def test_text_is_not_read_in_parts(tmp_path, ribp):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    code, _, err = ribp(
        "fit", tmp_path / "x.csv", "--out", tmp_path / "run", "--memory", "1GiB", *ROWS
    )
    assert code == 1
    assert ".parquet" in err
    assert not (tmp_path / "run").exists()


def test_sizes(tmp_path, monkeypatch):
    assert as_bytes("1GiB") == 2**30
    assert as_bytes(" 1.5 MB ") == 1_500_000
    assert as_bytes("77") == 77
    for text in ("", "GiB", "1 TB!", "-3MB"):
        with pytest.raises(InputError, match="--memory"):
            as_bytes(text)
    check_memory(2**30, (10**6, 100), 50)
    with pytest.raises(InputError, match="at least"):
        check_memory(2**30, (10**7, 100), 50)
    (tmp_path / "x.npy").write_bytes(b"0" * 100)
    assert not is_large(tmp_path / "x.npy")
    assert not is_large(tmp_path / "none.npy")
    monkeypatch.setattr("ribp.io.formats.memory", lambda: 100)
    assert is_large(tmp_path / "x.npy")


@pytest.mark.jit
def test_a_report_knows_that_the_file_is_the_same(few, files, ribp):
    for name, counts in (("x.npy", f"file:{files / 'counts.npy'}"), ("x.parquet", "column:k")):
        run = files / f"run-{name}"
        options = ["--memory", "2GB", "--counts", counts, *ROWS]
        assert ribp("fit", files / name, "--out", run, *options)[0] == 0
        assert "Left out" not in ribp("report", run)[1]
    values = np.load(files / "x.npy")
    values[3, 1] = 7.0
    np.save(files / "x.npy", values)
    assert "has changed" in ribp("report", files / "run-x.npy", "--overwrite")[1]
