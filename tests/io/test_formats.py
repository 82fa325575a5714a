"""Tables of text that users bring, and paths: what is read, and every error with its place."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ribp.errors import InputError, StorageError
from ribp.io.column_choice import ColumnChoice
from ribp.io.formats import read_data

NAN = float("nan")

TEXTS = [
    # text, values, names of dims, names of rows
    ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]], ["a", "b"], None),
    ("1,2\n3,4", [[1, 2], [3, 4]], None, None),
    ("a;b\n1;2\n", [[1, 2]], ["a", "b"], None),
    ("a\tb\n1\t2\n", [[1, 2]], ["a", "b"], None),
    ("a;x,b\n1,2\n", [[1, 2]], ["a;x", "b"], None),
    ("\ufeffa,b\r\n1,2\r\n", [[1, 2]], ["a", "b"], None),
    ("a,b\r1,2\r", [[1, 2]], ["a", "b"], None),
    ('"a, b", c\n "1",2\n', [[1, 2]], ["a, b", "c"], None),
    ("a,b\n,NA\nnan,Null\n?, n\u0061 \n-1e3,+.5\n", [[NAN, NAN]] * 3 + [[-1e3, 0.5]], "ab", None),
    ("a,b\n\n1,2\n  \n3,4\n\n", [[1, 2], [3, 4]], ["a", "b"], None),
    ("\t\n1\t2\n", [[NAN, NAN], [1, 2]], None, None),
    ('x\n1\n""\n3\n\n', [[1], [NAN], [3]], ["x"], None),
    ("Na,K\n1,2\n", [[1, 2]], ["Na", "K"], None),
    # names of rows
    ("id,a\nx,1\ny,2\n", [[1], [2]], ["a"], ["x", "y"]),
    ("Name,a\nx,1\nNA,2\n", [[1], [2]], ["a"], ["x", "NA"]),
    (",a\n0,1.5\n1,2\n", [[1.5], [2]], ["a"], ["0", "1"]),
    (",a\n0,1\n0,2\n", [[1], [2]], ["a"], ["0", "0"]),
    (",0\n0,1.5\n1,2\n", [[1.5], [2]], ["0"], ["0", "1"]),
    (",0,1,2\n17,1,2,3\n", [[1, 2, 3]], ["0", "1", "2"], ["17"]),
    (",0,1,2\n,1,2,3\n", [[NAN, 0, 1, 2], [NAN, 1, 2, 3]], None, None),
    ("id,400.5,401\nx,1,2\n", [[1, 2]], ["400.5", "401"], ["x"]),
    (",a\n,1\n,2\n", [[1], [2]], ["a"], None),
    ("index,a\n1.33,1\nNA,2\n", [[1.33, 1], [NAN, 2]], ["index", "a"], None),
    (",a\n1.5,1\n2.5,2\n", [[1], [2]], ["a"], ["1.5", "2.5"]),
]


@pytest.mark.parametrize(("text", "values", "dims", "rows"), TEXTS, ids=range(len(TEXTS)))
def test_text(read, text, values, dims, rows):
    file = read(text)
    np.testing.assert_array_equal(file.values, values)
    assert file.values.dtype == np.float64
    assert file.dim_names == (None if dims is None else list(dims))
    assert file.row_names == rows


@pytest.mark.parametrize("name", ["data.TSV", "data.txt", "my.data.csv"])
def test_endings_of_text(read, name):
    assert read("a,b\n1,2\n", name).values.tolist() == [[1, 2]]


@pytest.mark.parametrize("name", ["data.csv.gz", "DATA.TSV.GZ"])
def test_compressed_text(read, name):
    assert read(gzip.compress(b"a,b\n1,2\n"), name).values.tolist() == [[1, 2]]


def test_columns_set_aside(read):
    text = 'id,a,k,group\nx,1,3,"one\n\ttwo"\ny,2,NA, b \n'
    file = read(text, choice=ColumnChoice(aside=("k", "group")))
    assert file.values.tolist() == [[1], [2]]
    assert file.dim_names == ["a"]
    assert file.column("k") == ["3", None]
    assert file.column("group") == ["one\n\ttwo", "b"]
    assert [file.place(0), file.place(1)] == ["line 2", "line 4"]
    with pytest.raises(InputError, match=r"must be a column of .* but got 'a'"):
        file.column("a")
    assert read(text, choice=ColumnChoice(aside=("id", "group", "k"))).row_names is None


def test_what_pandas_writes_is_read(tmp_path):
    values = np.random.default_rng(0).normal(size=(5, 6))
    values[2, 3] = np.nan
    for columns in (None, list("abcdef")):
        for index in (None, list("vwxyz")):
            frame = pd.DataFrame(values, columns=columns, index=index)
            frame.to_csv(tmp_path / "data.csv")
            file = read_data(tmp_path / "data.csv")
            np.testing.assert_array_equal(file.values, values)
            assert file.dim_names == [str(name) for name in frame.columns]
            assert file.row_names == [str(name) for name in frame.index]


CHECK_QUOTES = "Check that every double quote"
WRONG_TEXTS = [
    # text, what is said
    ("", "is empty"),
    ("\n \n", "has no rows of data"),
    ("a,b\n", "has a header but no rows"),
    ("id\n1\n", "has no columns of data"),
    ("a,b\n1,2\n3,x\n", "has text in line 3, column 'b': 'x'"),
    ("1,2\n3,x\n", "has text in line 2, column 2: 'x'"),
    ('id,a,b\n"x\n\ny",1,2\n"z\n",3,w\n', "has text in line 6, column 'b': 'w'"),
    ("a\rx,b\r1,2\r", "has 2 cells in line 2, but its first line has 1|header has 1"),
    ("a,b\n\n\n1,2,3\n", "has 3 cells in line 4, but its header has 2"),
    ("1,2\n3\n", "has 1 cells in line 2, but its first line has 2"),
    ("a,b,a,b,c\n1,2,3,4,5\n", "several columns of the same name: 'a', 'b'"),
    ("a,,c\n1,2,3\n", "no name for column 2"),
    ("a, ,c\n1,2,3\n", "no name for column 2"),
    ("a,b\n1,-inf\n", "infinite value '-inf' in line 2, column 'b'"),
    ("1,2\n1e999,NA\n", "infinite value '1e999' in line 2, column 1"),
    ("index,a\n1.5,2\ninf,3\n", "infinite value 'inf' in line 3, column 'index'"),
    ("a\tb\n1,5\t2\n", "'1,5'. Write decimal points, or separate cells by semicolons"),
    ("a;b\n1.5;2\n1,5;2\n", "decimal points, as in '1.5', and commas, as in '1,5', up to line 3"),
    ("a;b\n1,5;2.5\n", "decimal points, as in '2.5', and commas, as in '1,5', up to line 2"),
    ("a,b\nu,1\nv,2\n", "text in column 'a', such as 'u' in line 2. Add --exclude a to leave it"),
    ("a,b b,c\n1,u,v\n2,v,w\n", "text in 2 columns, 'b b', 'c'.*--label 'b b,c' to carry them"),
    ("a,b\nTrue,False\n", "'True'. Write 1 and 0, or add --likelihood auto --method gibbs-rows"),
    ("true,false\n1,0\n", "text in line 1, column 1: 'true'. Write 1 and 0"),
    ("a,b\n1_000,2\n", "has text in line 2, column 'a': '1_000'. Write numbers without"),
    ("1 2\n3 4\n", "'3 4'. Separate cells by commas"),
    ("0,1,2\n1,2,3\n", "begins with the line '0,1,2', which may be names or data"),
    (",0\n7,1\n", "begins with the line ',0', which may be names or data"),
    ("1.5,x,2\n1,2,3\n", "names, such as 'x', and of numbers, such as '1.5'"),
    ("id,a\nx,1\ny,2\nx,3\n", "row name 'x' twice, in lines 2 and 4"),
    ("x\n1\n\n3\n", "one column and a blank line, 3,"),
    ('a,b\n1,2\n"3,4\n5,6\n', "row that begins in line 3.*" + CHECK_QUOTES),
    ('a,b\n1,2\n"3"3,4\n', "row that begins in line 3.*" + CHECK_QUOTES),
    ('a,b\n"' + "x" * 200_000 + '",1\n', "row that begins in line 2"),
    ("a,b\n1," + "x" * 5000 + "\n", "column 'b', such as 'x{57}\\.\\.\\.'"),
    (b"a,b\n1,2\n\xe93,4\n", "not UTF-8: it has the byte 0xe9 in line 3"),
    (b"a,b\r1,2\r\xe93,4\r", "not UTF-8: it has the byte 0xe9 in line 3"),
    (b"a,b\n1,2\n3,\xe2", "not UTF-8: it has the byte 0xe2 in line 3"),
    ("a,b\n1,2\n".encode("utf-16"), "is text in UTF-16"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_TEXTS, ids=range(len(WRONG_TEXTS)))
def test_what_is_wrong_with_text(read, text, message):
    with pytest.raises(StorageError, match=f"(?s)data.csv .*({message})"):
        read(text)


def test_the_place_of_bytes_far_into_a_file(read):
    with pytest.raises(StorageError, match="byte 0xff in line 30001"):
        read(b"1,2\n" * 30_000 + b"3,\xff\n")


def test_no_row_is_lost_where_many_lines_decide_the_separator(read):
    cell = '"' + "line\n" * 70 + '"'
    file = read(f"id;a,b;c\n{cell};1;2\n", choice=ColumnChoice(aside=("id",)))
    assert file.dim_names == ["a,b", "c"]
    assert file.values.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("exclude", "message"),
    [(["group", "kk"], r"got 'kk'. Did you mean 'k'\?|Its columns are"), (["zzz"], "'a', 'k'")],
)
def test_columns_that_are_not_there(read, exclude, message):
    with pytest.raises(InputError, match=message):
        read("a,k,group\n1,2,x\n", choice=ColumnChoice(aside=tuple(exclude)))


def test_columns_without_names(read):
    with pytest.raises(InputError, match="no columns with names"):
        read("1,2\n", choice=ColumnChoice(aside=("a",)))


@pytest.mark.parametrize("name", ["data", "data.xlsx", ".csv", "data.gz", "data.npy.gz", "data.nc"])
def test_unknown_endings(tmp_path, name):
    with pytest.raises(InputError, match=r"must end in \.csv.*Save the table as CSV"):
        read_data(tmp_path / name)


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(StorageError, match="does not exist"):
        read_data(tmp_path / "data.csv")
    with pytest.raises(StorageError, match="cannot be read"):
        read_data(tmp_path / ("x" * 500 + ".csv"))
    with pytest.raises(StorageError, match="cannot be read"):
        read_data("a\0b.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(StorageError, match="is a folder"):
        read_data(tmp_path / "folder.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(StorageError, match="is not a file"):
        read_data(tmp_path / "pipe.csv")


@pytest.mark.parametrize("n_before", [0, 1])
def test_a_file_that_may_not_be_read(read, monkeypatch, n_before):
    really, calls = Path.open, []

    def refuse(path, *arguments):
        calls.append(path)
        if len(calls) > n_before:
            raise PermissionError(13, "Permission denied")
        return really(path, *arguments)

    read("1,2\n")
    monkeypatch.setattr(Path, "write_bytes", lambda path, content: None)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError, match="cannot be read: Permission denied"):
        read("1,2\n")


def test_numbers_that_are_too_large_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,-1e200\n")
    with pytest.raises(StorageError, match=r"-1e\+200 in line 3, column 'b'.*divide the column"):
        read_data(path)


def test_reading_does_not_load_what_it_does_not_need():
    code = "import ribp.io.formats, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"polars", "pandas", "scipy.io", "scipy.sparse", "numba", "xarray"}
