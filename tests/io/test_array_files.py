"""Arrays that users bring: NumPy, sparse, MatrixMarket; what is wrong with them, and its place."""

import gzip
import io
import os
import zipfile
from itertools import product

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from ribp.errors import InputError, StorageError
from ribp.io import data_file
from ribp.io.column_choice import ColumnChoice
from ribp.io.formats import read_data

NAN = float("nan")


def npy(array, **options):
    content = io.BytesIO()
    np.save(content, array, **options)
    return content.getvalue()


def npz(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def packed(content):
    """The same bytes at every time: names of tests are made of them."""
    return gzip.compress(content, mtime=0)


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
        ("data.mtx.gz", packed(mtx(scipy.sparse.coo_array(MATRIX)))),
    ],
)
def test_arrays(read, name, content):
    file = read(content, name)
    np.testing.assert_array_equal(file.values, MATRIX)
    assert file.values.flags.c_contiguous
    assert file.dim_names is None
    assert file.place(0) == "row 1"


@pytest.mark.parametrize(
    ("symmetry", "field", "sparse"),
    [
        *product(["general", "symmetric", "skew-symmetric"], ["real", "integer"], [False, True]),
        *product(["general", "symmetric"], ["pattern"], [True]),
    ],
)
def test_matrix_market_as_scipy_reads_it(read, symmetry, field, sparse):
    square = np.random.default_rng(1).integers(0, 3, (5, 5))
    if symmetry != "general":
        square = square + square.T if symmetry == "symmetric" else square - square.T
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
    ("data.csv", packed(b"1,2"), "those of a file compressed by gzip"),
    ("data.csv.gz", b"1,2\n", "is not a .gz file"),
    ("data.csv.gz", packed(b"1,2\n" * 99)[:-9], "is damaged"),
    ("data.csv.gz", packed(b"1,2\n" * 99)[:-8] + b"12345678", "is damaged: CRC check"),
    ("data.mtx.gz", packed(mtx(MATRIX))[:-9], "is damaged"),
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


def test_columns_without_names(read):
    with pytest.raises(InputError, match="no columns with names"):
        read(npy(MATRIX), "data.npy", choice=ColumnChoice(aside=("a",)))


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


def test_an_archive_larger_than_memory(read, monkeypatch):
    file = io.BytesIO()
    np.savez_compressed(file, x=np.zeros((9, 9)))
    monkeypatch.setattr(data_file, "memory", lambda: 100)
    with pytest.raises(StorageError, match="GB, more than this machine has"):
        read(file.getvalue(), "data.npz")


@pytest.mark.parametrize("error", [AttributeError, ValueError, OSError])
def test_systems_that_do_not_tell_their_memory(monkeypatch, error):
    def untold(name):
        raise error

    assert 2**28 < data_file.memory() < 2**50
    monkeypatch.setattr(os, "sysconf", untold)
    assert data_file.memory() == 2**40


def test_memory_that_runs_out(read, monkeypatch):
    def too_much(path, choice):
        raise MemoryError

    monkeypatch.setitem(read_data.__globals__["_WITH_NAMES"], "csv", too_much)
    with pytest.raises(StorageError, match="does not fit into memory"):
        read("1,2\n")
    monkeypatch.setattr(np, "load", lambda *_, **__: too_much(0, 0))
    with pytest.raises(StorageError, match="does not fit into memory"):
        read(npy(MATRIX), "data.npy")
