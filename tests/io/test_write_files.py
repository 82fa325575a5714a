"""Tables written for users: they read back, all or nothing, and nothing is lost."""

import os

import numpy as np
import pytest
import scipy.sparse

from ribp.errors import InputError, StorageError
from ribp.io.formats import read_data
from ribp.io.write_files import Blocks, write_table

NAN = float("nan")
MATRIX = np.array([[1.0, 0.0, NAN], [0.0, -2.5, 3.0]])


@pytest.mark.parametrize("ending", [".csv", ".npy", ".npz", ".parquet"])
@pytest.mark.parametrize("sparse", [False, True])
def test_written_tables_read_back(tmp_path, ending, sparse):
    path = tmp_path / f"rows{ending}"
    values = scipy.sparse.coo_matrix(MATRIX) if sparse else MATRIX
    write_table(path, values, dim_names=["a", "b,c", 'd"'], row_names=["x", "y"])
    file = read_data(path)
    np.testing.assert_array_equal(file.values, MATRIX)
    named = ending in (".csv", ".parquet")
    assert file.dim_names == (["a", "b,c", 'd"'] if named else None)
    assert file.row_names == (["x", "y"] if named else None)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", [".csv", ".npy", ".npz", ".parquet"])
def test_a_table_that_is_made_while_it_is_written(tmp_path, ending):
    values = np.arange(14.0).reshape(7, 2)
    names = {"row_names": list("abcdefg"), "labels": {"site": list("ABABABA")}}
    blocks = Blocks((7, 2), values.dtype, iter([values[:3], values[3:4], values[4:]]))
    write_table(tmp_path / f"a{ending}", values, **names)
    write_table(tmp_path / f"b{ending}", blocks, **names)
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()

    def stopped():
        yield values[:3]
        raise InputError("X", "must be there", "nothing", "Look.")

    with pytest.raises(InputError, match="must be there"):
        write_table(tmp_path / f"c{ending}", Blocks((7, 2), values.dtype, stopped()))
    assert not list(tmp_path.glob("*c.*"))


def test_the_text_of_a_written_table(tmp_path):
    write_table(tmp_path / "a.csv", np.array([[0.1, NAN], [1e300, -0.0]]))
    assert (tmp_path / "a.csv").read_bytes() == b"x1,x2\n0.1,\n1e+300,-0.0\n"
    write_table(tmp_path / "b.csv", np.eye(2, dtype=bool), row_names=[1, 2])
    assert (tmp_path / "b.csv").read_text() == "id,x1,x2\n1,1,0\n2,0,1\n"
    write_table(tmp_path / "c.csv", [[NAN], [1]])
    assert (tmp_path / "c.csv").read_text() == 'x1\n""\n1.0\n'


def test_blocks_of_a_written_table(tmp_path):
    values = np.arange(2500.0)[:, None]
    write_table(tmp_path / "a.csv", values, row_names=range(2500))
    file = read_data(tmp_path / "a.csv")
    assert np.array_equal(file.values, values)
    assert file.row_names == [str(i) for i in range(2500)]


def test_nothing_is_overwritten_unless_asked(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("mine")
    with pytest.raises(StorageError, match=r"is there already\. Pass --overwrite"):
        write_table(path, MATRIX)
    assert path.read_text() == "mine"
    write_table(path, MATRIX, overwrite=True)
    assert path.read_text().startswith("x1,x2,x3\n")


def test_what_fails_while_writing_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("mine")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="cannot be written: No space left on device"):
        write_table(path, MATRIX, overwrite=True)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_places_where_nothing_can_be_written(tmp_path):
    with pytest.raises(StorageError, match="there is no such folder"):
        write_table(tmp_path / "none" / "rows.csv", MATRIX)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(StorageError, match="is a folder"):
        write_table(tmp_path / "folder.csv", MATRIX, overwrite=True)
    with pytest.raises(StorageError, match="cannot be written"):
        write_table(tmp_path / ("x" * 500 + ".csv"), MATRIX)
    with pytest.raises(StorageError, match="cannot be written"):
        write_table(tmp_path / "a\0b.csv", MATRIX)
    with pytest.raises(InputError, match=r"must end in \.csv, \.npy, \.npz, \.parquet"):
        write_table(tmp_path / "rows.xlsx", MATRIX)


@pytest.mark.parametrize(
    ("values", "names", "message"),
    [
        ([1, 2], {}, r"values must be a matrix of real numbers, but got shape \(2,\)"),
        ([[1], [2, 3]], {}, "values must be a matrix of real numbers, but got list"),
        ([["a"]], {}, "values must be a matrix of real numbers"),
        ([[np.inf]], {}, "values must be finite"),
        (MATRIX, {"dim_names": ["a"]}, "dim_names must be 3 names, but got 1"),
        (MATRIX, {"row_names": ["a"]}, "row_names must be 2 names, but got 1"),
        (MATRIX, {"dim_names": ["a", "b", "a "]}, "dim_names must differ"),
        (MATRIX, {"dim_names": ["a", "b", " "]}, "dim_names must differ"),
        (MATRIX, {"dim_names": ["a", "id", "b"], "row_names": "xy"}, "must differ, and from 'id'"),
        (MATRIX, {"dim_names": ["Name", "a", "b"]}, "must read back as names"),
        (MATRIX, {"dim_names": ["0", "1", "2"]}, "must read back as names"),
        (MATRIX, {"dim_names": ["a", "1", "2"]}, "must read back as names"),
        (MATRIX, {"dim_names": ["a", "b", "\ud800"]}, "must be valid Unicode"),
    ],
)
def test_tables_that_cannot_be_written(tmp_path, values, names, message):
    with pytest.raises(InputError, match=message):
        write_table(tmp_path / "rows.csv", values, **names)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_numbers_beside_names_of_rows(tmp_path):
    write_table(tmp_path / "a.csv", MATRIX, dim_names=range(3), row_names="xy")
    assert read_data(tmp_path / "a.csv").dim_names == ["0", "1", "2"]
