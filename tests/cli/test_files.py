"""Tables that users bring, read and written: every format, and every error with its place."""

import gzip
import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse

from ribp.cli import data_file
from ribp.cli.files import read_data, write_table
from ribp.errors import InputError, StorageError

NAN = float("nan")


@pytest.fixture
def read(tmp_path):
    """Write content to a file and read it as data."""

    def write_and_read(content, name="data.csv", **arguments):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_data(path, **arguments)

    return write_and_read


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
    assert file.kind == "csv"


@pytest.mark.parametrize("name", ["data.TSV", "data.txt", "my.data.csv"])
def test_endings_of_text(read, name):
    assert read("a,b\n1,2\n", name).values.tolist() == [[1, 2]]


@pytest.mark.parametrize("name", ["data.csv.gz", "DATA.TSV.GZ"])
def test_compressed_text(read, name):
    assert read(gzip.compress(b"a,b\n1,2\n"), name).values.tolist() == [[1, 2]]


def test_columns_set_aside(read):
    text = 'id,a,k,group\nx,1,3,"one\n\ttwo"\ny,2,NA, b \n'
    file = read(text, exclude=["k", "group"])
    assert file.values.tolist() == [[1], [2]]
    assert file.dim_names == ["a"]
    assert file.column("k") == ["3", None]
    assert file.column("group") == ["one\n\ttwo", "b"]
    assert [file.place(0), file.place(1)] == ["line 2", "line 4"]
    with pytest.raises(InputError, match=r"must be a column of .* but got 'a'"):
        file.column("a")
    assert read(text, exclude=["id", "group", "k"]).row_names is None


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
    ("a;b\n1,5;2\n", "'1,5'. Write decimal points"),
    ("a,b\nTrue,False\n", "'True'. Write 1 and 0"),
    ("a,b\n1_000,2\n", "has text in line 2, column 'a': '1_000'"),
    ("1 2\n3 4\n", "'3 4'. Separate cells by commas"),
    ("0,1,2\n1,2,3\n", "begins with the line '0,1,2', which may be names or data"),
    (",0\n7,1\n", "begins with the line ',0', which may be names or data"),
    ("1.5,x,2\n1,2,3\n", "names, such as 'x', and of numbers, such as '1.5'"),
    ("id,a\nx,1\ny,2\nx,3\n", "row name 'x' twice, in lines 2 and 4"),
    ("x\n1\n\n3\n", "one column and a blank line, 3,"),
    ('a,b\n1,2\n"3,4\n5,6\n', "row that begins in line 3.*" + CHECK_QUOTES),
    ('a,b\n1,2\n"3"3,4\n', "row that begins in line 3.*" + CHECK_QUOTES),
    ('a,b\n"' + "x" * 200_000 + '",1\n', "row that begins in line 2"),
    ("a,b\n1," + "x" * 5000 + "\n", "column 'b': 'x{57}\\.\\.\\.'"),
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
    file = read(f"id;a,b;c\n{cell};1;2\n", exclude=["id"])
    assert file.dim_names == ["a,b", "c"]
    assert file.values.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("exclude", "message"),
    [(["group", "kk"], r"got 'kk'. Did you mean 'k'\?|Its columns are"), (["zzz"], "'a', 'k'")],
)
def test_columns_that_are_not_there(read, exclude, message):
    with pytest.raises(InputError, match=message):
        read("a,k,group\n1,2,x\n", exclude=exclude)


@pytest.mark.parametrize("name", ["data.csv", "data.npy"])
def test_columns_without_names(read, name):
    content = io.BytesIO()
    np.save(content, np.ones((2, 2)))
    with pytest.raises(InputError, match="no columns with names"):
        read(b"1,2\n" if name.endswith("csv") else content.getvalue(), name, exclude=["a"])


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2\n")
    path.chmod(0)
    with pytest.raises(StorageError, match="Permission denied"):
        read_data(path)


def npy(array, **options):
    content = io.BytesIO()
    np.save(content, array, **options)
    return content.getvalue()


def npz(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def mtx(matrix):
    content = io.BytesIO()
    scipy.io.mmwrite(content, matrix)
    return content.getvalue()


MATRIX = np.array([[1.0, 0.0, NAN], [0.0, -2.5, 3.0]])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.npy", npy(MATRIX)),
        ("data.npy", npy(np.asfortranarray(MATRIX).astype(">f4"))),
        ("data.npz", npz(X=MATRIX)),
        ("data.mtx", mtx(MATRIX)),
        ("data.mtx", mtx(scipy.sparse.coo_array(MATRIX))),
        ("data.mtx.gz", gzip.compress(mtx(scipy.sparse.coo_array(MATRIX)))),
    ],
)
def test_arrays(read, name, content):
    file = read(content, name)
    np.testing.assert_array_equal(file.values, MATRIX)
    assert file.values.flags.c_contiguous
    assert file.dim_names is None
    assert file.place(0) == "row 1"


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("sparse", [False, True])
def test_matrix_market_as_scipy_reads_it(read, symmetry, field, sparse):
    square = np.random.default_rng(1).integers(0, 3, (5, 5))
    if symmetry != "general":
        square = square + square.T if symmetry == "symmetric" else square - square.T
    if field == "pattern" and (not sparse or symmetry == "skew-symmetric"):
        pytest.skip("there are no such files")
    content = io.BytesIO()
    matrix = scipy.sparse.coo_array(square) if sparse else square
    matrix = matrix.astype(float) if field == "real" else matrix
    scipy.io.mmwrite(content, matrix, comment="a\nb", field=field, symmetry=symmetry)
    file = read(content.getvalue(), "data.mtx")
    expected = scipy.io.mmread(io.BytesIO(content.getvalue()))
    expected = expected.toarray() if sparse else expected
    np.testing.assert_array_equal(file.values, expected)
    assert np.array_equal(expected, square != 0 if field == "pattern" else square)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("make", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
def test_sparse_matrices_as_scipy_saves_them(tmp_path, layout, make):
    scipy.sparse.save_npz(tmp_path / "data.npz", make(MATRIX).asformat(layout))
    np.testing.assert_array_equal(read_data(tmp_path / "data.npz").values, MATRIX)


def test_whole_numbers_and_booleans_are_numbers(read):
    for array in (np.eye(2, dtype=bool), np.eye(2, dtype=np.uint64)):
        assert read(npy(array), "data.npy").values.tolist() == [[1, 0], [0, 1]]


def sparse_npz(**changes):
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "data": np.ones(2),
        "indices": np.array([0, 1]),
        "indptr": np.array([0, 1, 2]),
    }
    return npz(**(parts | changes))


MM = b"%%MatrixMarket matrix "
WRONG_ARRAYS = [
    ("data.npy", b"", "is empty"),
    ("data.npy", b"1,2\n", "is not a .npy file, or is damaged"),
    ("data.npy", npz(X=MATRIX), "is not a .npy file: its first bytes are those of a zip archive"),
    ("data.csv", npy(MATRIX), "is not a csv file: its first bytes are those of a NumPy array"),
    ("data.csv", gzip.compress(b"1,2"), "those of a file compressed by gzip"),
    ("data.csv.gz", b"1,2\n", "is not a .gz file"),
    ("data.csv.gz", gzip.compress(b"1,2\n" * 99)[:-9], "is damaged"),
    ("data.csv.gz", gzip.compress(b"1,2\n" * 99)[:-8] + b"12345678", "is damaged: CRC check"),
    ("data.mtx.gz", gzip.compress(mtx(MATRIX))[:-9], "is damaged"),
    ("data.npy", npy(MATRIX)[:-1], "is damaged"),
    ("data.npy", npy(np.array([[None]]), allow_pickle=True), "holds Python objects"),
    ("data.npz", npz(X=np.array([[None]])), "holds Python objects"),
    ("data.npy", npy(MATRIX + 1j), "holds an array of type complex128"),
    ("data.npy", npy(np.array([["a"]])), "holds an array of type <U1"),
    ("data.npy", npy(np.zeros((2, 2), dtype=[("a", "f8")])), r"type \[\('a', '<f8'\)\]"),
    ("data.npy", npy(np.zeros(3)), r"shape \(3,\), not a matrix.*X\[:, None\]"),
    ("data.npy", npy(np.zeros((1, 1, 1))), "not a matrix"),
    ("data.npy", npy(np.zeros((0, 3))), "has no rows"),
    ("data.npy", npy(np.zeros((3, 0))), "has no columns"),
    ("data.npy", npy(np.array([[1, 2], [3, -np.inf]])), "infinite value '-inf' in row 2, column 2"),
    ("data.npy", npy(np.array([[np.longdouble("1e4000")]])), "infinite value"),
    ("data.npz", npz(X=MATRIX, Y=MATRIX), "holds several arrays: 'X', 'Y'"),
    ("data.npz", npz(), "holds no array"),
    ("data.npz", npz(X=MATRIX)[:-30], "is damaged"),
    ("data.npz", sparse_npz(indices=np.array([0, 99])), "is damaged"),
    ("data.npz", sparse_npz(indices=np.array([0, -99])), "is damaged"),
    ("data.npz", sparse_npz(indices=np.array([0.5, 1])), "is damaged: its array indices"),
    ("data.npz", sparse_npz(indptr=np.array([0, 2, 1])), "is damaged"),
    ("data.npz", sparse_npz(data=np.ones(2) + 1j), "type complex128"),
    ("data.npz", sparse_npz(format=np.array(b"bsr")), "layout 'bsr'.*tocsr"),
    ("data.npz", sparse_npz(shape=np.array([10**7, 10**7])), "more than this machine has memory"),
    ("data.npz", sparse_npz(shape=np.array([2])), "is damaged"),
    ("data.npz", sparse_npz(shape=np.array([-2, -2])), "is damaged|more than"),
    ("data.mtx", b"1 2\n", "is not a .mtx file"),
    ("data.mtx", MM + b"array complex general\n1 1\n1 2\n", "line 1 has 'complex' where real or"),
    ("data.mtx", MM + b"array real\n1 1\n1\n", "line 1 has 4 words, not 5"),
    ("data.mtx", MM + b"array pattern general\n1 1\n", "line 1 says that an array is a pattern"),
    ("data.mtx", MM + b"array real general\n% comment\n", "has no line of sizes"),
    ("data.mtx", MM + b"array real general\n% c\n1 -1\n", "line 3 must hold 2 sizes: '1 -1'"),
    ("data.mtx", MM + b"array real symmetric\n1 2\n1\n", "line 2 gives .* that is not square"),
    ("data.mtx", MM + b"array real general\n2 2\n1\n", "has 1 entries, but .* says 4"),
    ("data.mtx", MM + b"array real general\n1 1\nx\n", "line 3 holds text: 'x'"),
    ("data.mtx", MM + b"array real general\n1 1\n1_0\n", "line 3 must hold 1 numbers: '1_0'"),
    ("data.mtx", MM + b"array real general\n1 1\ninf\n", "infinite value 'inf' in row 1, column 1"),
    ("data.mtx", MM + b"coordinate real general\n2 2 1\n3 1 5\n", "line 3 names a place outside"),
    ("data.mtx", MM + b"coordinate real general\n2 2 1\n1.5 1 5\n", "line 3 names a place"),
    ("data.mtx", MM + b"coordinate real general\n2 2 1\n1 1\n", "line 3 must hold 3 numbers"),
    ("data.mtx", MM + b"coordinate real general\n9 9 9\n1 1 5\n", "has 1 entries, but .* says 9"),
    ("data.mtx", MM + b"coordinate real general\n9999999 9999999 1\n1 1 5\n", "has memory"),
    ("data.mtx", MM + b"coordinate real general\n0 0 0\n", "has no rows"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG_ARRAYS, ids=range(len(WRONG_ARRAYS)))
def test_what_is_wrong_with_arrays(read, name, content, message):
    with pytest.raises(StorageError, match=f"(?s){name} .*({message})"):
        read(content, name)


def test_a_zip_without_arrays(read):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("sheet.xml", "<a/>")
    with pytest.raises(StorageError, match="is damaged: it does not hold an array"):
        read(content.getvalue(), "data.npz")


def test_a_matrix_larger_than_memory(read, monkeypatch):
    monkeypatch.setattr(data_file, "memory", lambda: 100)
    with pytest.raises(StorageError, match="has 5 rows and 5 columns: 2e-07 GB"):
        read(npy(np.zeros((5, 5))), "data.npy")


@pytest.mark.parametrize("error", [AttributeError, ValueError, OSError])
def test_systems_that_do_not_tell_their_memory(monkeypatch, error):
    def untold(name):
        raise error

    assert 2**28 < data_file.memory() < 2**50
    monkeypatch.setattr(os, "sysconf", untold)
    assert data_file.memory() == 2**40


def test_memory_that_runs_out(read, monkeypatch):
    def too_much(path, exclude):
        raise MemoryError

    monkeypatch.setitem(read_data.__globals__["_WITH_NAMES"], "csv", too_much)
    with pytest.raises(StorageError, match="does not fit into memory"):
        read("1,2\n")
    monkeypatch.setattr(np, "load", lambda *_, **__: too_much(0, 0))
    with pytest.raises(StorageError, match="does not fit into memory"):
        read(npy(MATRIX), "data.npy")


def test_parquet(tmp_path):
    pl = pytest.importorskip("polars")
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
    file = read_data(path, exclude=["k", "law"])
    np.testing.assert_array_equal(file.values, [[1, 1, NAN, NAN], [NAN, 0, 0.5, NAN]])
    assert file.dim_names == ["a", "b", "c", "none"]
    assert file.row_names == ["x", "y"]
    assert file.columns == {"k": ["3", None], "law": ["exactly(3)", None]}
    assert file.kind == "parquet"
    assert file.place(1) == "row 2"


@pytest.mark.parametrize(
    ("first", "rows", "n_dims"),
    [
        ({"Row": [7, 7]}, ["7", "7"], 1),
        ({"index": [1.5, 2.5]}, None, 2),
        ({"other": [1, 2]}, None, 2),
    ],
)
def test_the_first_column_of_parquet(tmp_path, first, rows, n_dims):
    pl = pytest.importorskip("polars")
    pl.DataFrame(first | {"a": [1.0, 2.0]}).write_parquet(tmp_path / "data.parquet")
    file = read_data(tmp_path / "data.parquet")
    assert file.row_names == rows
    assert file.values.shape == (2, n_dims)


def test_parquet_of_pandas_with_its_index(tmp_path):
    pytest.importorskip("polars")
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"]).to_parquet(path)
    file = read_data(path)
    assert file.values.tolist() == [[1], [2]]
    assert file.row_names == ["x", "y"]
    kept = read_data(path, exclude=["__index_level_0__"])
    assert kept.row_names is None
    assert kept.columns == {"__index_level_0__": ["x", "y"]}


def test_what_is_wrong_with_parquet(tmp_path, read):
    pl = pytest.importorskip("polars")
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
        read_data(path, exclude=["z"])
    content = path.read_bytes()
    for damaged in (content[:-5], content[: len(content) // 2], b"PAR1" * 5):
        with pytest.raises(StorageError, match="is damaged"):
            read(damaged, "data.parquet")


def test_polars_that_panics(tmp_path, monkeypatch):
    pl = pytest.importorskip("polars")
    (tmp_path / "data.parquet").write_bytes(b"PAR1")

    def panic(file):
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(StorageError, match="is damaged: index out of bounds"):
        read_data(tmp_path / "data.parquet")


def test_parquet_without_polars(tmp_path, read, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(StorageError, match=r"pip install 'ribp\[polars\]'"):
        read(b"PAR1", "data.parquet")
    with pytest.raises(StorageError, match=r"pip install 'ribp\[polars\]'"):
        write_table(tmp_path / "new.parquet", MATRIX)
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]


def test_reading_does_not_load_what_it_does_not_need():
    code = "import ribp.cli.files, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"polars", "pandas", "scipy.io", "scipy.sparse", "numba", "xarray"}


@pytest.mark.parametrize("ending", [".csv", ".npy", ".npz", ".parquet"])
@pytest.mark.parametrize("sparse", [False, True])
def test_written_tables_read_back(tmp_path, ending, sparse):
    if ending == ".parquet":
        pytest.importorskip("polars")
    path = tmp_path / f"rows{ending}"
    values = scipy.sparse.coo_matrix(MATRIX) if sparse else MATRIX
    write_table(path, values, dim_names=["a", "b,c", 'd"'], row_names=["x", "y"])
    file = read_data(path)
    np.testing.assert_array_equal(file.values, MATRIX)
    named = ending in (".csv", ".parquet")
    assert file.dim_names == (["a", "b,c", 'd"'] if named else None)
    assert file.row_names == (["x", "y"] if named else None)
    assert list(tmp_path.iterdir()) == [path]


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
