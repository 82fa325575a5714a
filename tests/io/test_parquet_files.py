"""Parquet: its columns, its index, and a child process that may end in any way."""

import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from ribp.errors import InputError, StorageError
from ribp.io import parquet_files
from ribp.io.column_choice import ColumnChoice
from ribp.io.formats import read_data
from ribp.io.write_files import write_table

NAN = float("nan")


def test_parquet(tmp_path):
    path = tmp_path / "data.parquet"
    frame = pl.DataFrame(
        {
            "id": ["x", "y"],
            "a": [1, None],
            "b": [True, False],
            "c": [NAN, 0.5],
            "none": [None, None],
            "k": [3, None],
            "law": ["exactly(3)", "NA"],
        }
    )
    frame.write_parquet(path)
    file = read_data(path, choice=ColumnChoice(aside=("k", "law")))
    np.testing.assert_array_equal(file.values, [[1, 1, NAN, NAN], [NAN, 0, 0.5, NAN]])
    assert file.dim_names == ["a", "b", "c", "none"]
    assert file.row_names == ["x", "y"]
    assert file.columns == {"k": ["3", None], "law": ["exactly(3)", None]}
    assert file.place(1) == "row 2"


def test_types_are_those_of_the_schema_and_text_is_refused_before_a_copy(tmp_path):
    path = tmp_path / "data.parquet"
    frame = pl.DataFrame(
        {
            "id": ["x", "y"],
            "few": pl.Series([1, None], dtype=pl.UInt8),
            "whole": [1.0, 2.0],
            "flag": [True, None],
            "none": [None, None],
            "site": [None, "A"],
            "k": [3, 4],
        }
    )
    frame.write_parquet(path)
    choice = ColumnChoice(aside=("k",), exclude=("site",))
    types = parquet_files.parquet_types(path, choice)
    assert types == {"few": "integer", "whole": "number", "flag": "bool", "none": "number"}
    assert list(types) == read_data(path, choice).dim_names
    with pytest.raises(StorageError, match=r"String in column 'site', such as 'A' in row 2.*parts"):
        parquet_files.parquet_types(path)
    with pytest.raises(StorageError, match="no columns of data"):
        parquet_files.parquet_types(path, ColumnChoice(exclude=("*",)))


@pytest.mark.parametrize(
    ("first", "rows", "n_dims"),
    [
        ({"Row": [7, 7]}, ["7", "7"], 1),
        ({"index": [1.5, 2.5]}, None, 2),
        ({"other": [1, 2]}, None, 2),
    ],
)
def test_the_first_column_of_parquet(tmp_path, first, rows, n_dims):
    pl.DataFrame(first | {"a": [1.0, 2.0]}).write_parquet(tmp_path / "data.parquet")
    file = read_data(tmp_path / "data.parquet")
    assert file.row_names == rows
    assert file.values.shape == (2, n_dims)


def test_parquet_of_pandas_with_its_index(tmp_path):
    path = tmp_path / "data.parquet"
    pl.DataFrame({"a": [1.0, 2.0], "__index_level_0__": ["x", "y"]}).write_parquet(path)
    file = read_data(path)
    assert file.values.tolist() == [[1], [2]]
    assert file.row_names == ["x", "y"]
    kept = read_data(path, choice=ColumnChoice(aside=("__index_level_0__",)))
    assert kept.row_names is None
    assert kept.columns == {"__index_level_0__": ["x", "y"]}


def test_what_is_wrong_with_parquet(tmp_path, read):
    path = tmp_path / "data.parquet"
    pl.DataFrame({"a": [1.0], "b": [None]}, schema={"a": pl.Float64, "b": pl.String}).write_parquet(
        path
    )
    with pytest.raises(StorageError, match="has String in column 'b', such as 'None' in row 1"):
        read_data(path)
    pl.DataFrame({"id": ["x", "x"], "a": [1, 2]}).write_parquet(path)
    with pytest.raises(StorageError, match="has String in column 'id', such as 'x' in row 1"):
        read_data(path)
    pl.DataFrame({"a": [1.0, np.inf]}).write_parquet(path)
    with pytest.raises(StorageError, match="infinite value 'inf' in row 2, column 'a'"):
        read_data(path)
    pl.DataFrame({"a": []}, schema={"a": pl.Float64}).write_parquet(path)
    with pytest.raises(StorageError, match="has no rows"):
        read_data(path)
    with pytest.raises(InputError, match="must be a column of"):
        read_data(path, choice=ColumnChoice(aside=("z",)))
    content = path.read_bytes()
    for damaged in (content[:-5], content[: len(content) // 2], b"PAR1" * 5):
        with pytest.raises(StorageError, match="is damaged"):
            read(damaged, "data.parquet")


def test_polars_that_panics(tmp_path, monkeypatch):
    (tmp_path / "data.parquet").write_bytes(b"PAR1")

    def panic(file, **_):
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(pl, "scan_parquet", panic)
    with pytest.raises(StorageError, match="is damaged: index out of bounds"):
        parquet_files.write_numbers(
            tmp_path / "data.parquet", ColumnChoice(), io.BytesIO(), None, True
        )


@pytest.mark.parametrize("child", ["import os; os.abort()", "print('thread panicked')", "1 / 0"])
def test_polars_that_ends_the_process(read, monkeypatch, capfd, child):
    monkeypatch.setattr(parquet_files, "_CHILD", child)
    with pytest.raises(StorageError, match="is damaged: polars stopped while it read it"):
        read(b"PAR1", "data.parquet")
    assert capfd.readouterr() == ("", "")


def test_parquet_without_polars(tmp_path, read, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(StorageError, match=r"pip install 'ribp\[polars\]'"):
        read(b"PAR1", "data.parquet")
    with pytest.raises(StorageError, match=r"pip install 'ribp\[polars\]'"):
        write_table(tmp_path / "new.parquet", np.eye(2))
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]


@pytest.mark.parametrize("exclude", [[], ["k"], ["none"]])
def test_what_the_child_answers(tmp_path, monkeypatch, exclude):
    path = tmp_path / "data.parquet"
    pl.DataFrame({"id": ["x", "y"], "a": [1.5, None], "k": [3, 4]}).write_parquet(path)
    asked, answered = (
        io.BytesIO(
            json.dumps([str(path), ColumnChoice(aside=tuple(exclude)), None, None, True]).encode()
        ),
        io.BytesIO(),
    )
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=asked))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=answered))
    parquet_files.run_as_child()
    numbers, _, line = answered.getvalue().rpartition(b"\n")
    told = json.loads(line)
    if exclude == ["none"]:
        name, arguments = told["error"]
        assert name == "InputError"
        with pytest.raises(InputError, match="must be a column of") as caught:
            read_data(path, choice=ColumnChoice(aside=tuple(exclude)))
        assert list(caught.value.args) == arguments
        return
    file = read_data(path, choice=ColumnChoice(aside=tuple(exclude)))
    assert told == {
        "dim_names": file.dim_names,
        "row_names": ["x", "y"],
        "columns": {"k": ["3", "4"]} if exclude else {},
        "shape": list(file.values.shape),
    }
    assert numbers == file.values.tobytes()


def test_a_name_that_is_no_pattern(tmp_path):
    for name in ("[ab].parquet", "*.parquet"):
        pl.DataFrame({"id": ["x", "y"], "a": [1.5, 2.0]}).write_parquet(tmp_path / name)
    pl.DataFrame({"b": [3.0]}).write_parquet(tmp_path / "a.parquet")
    for name in ("[ab].parquet", "*.parquet"):
        assert read_data(tmp_path / name).values.tolist() == [[1.5], [2.0]]


def test_names_of_rows_must_differ_in_all_rows(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    pl.DataFrame({"id": ["x", "y", "x"], "a": [1, 2, 3]}).write_parquet(path)
    with pytest.raises(StorageError, match="has String in column 'id'"):
        parquet_files.write_numbers(path, ColumnChoice(), io.BytesIO(), 2, True)
