"""The option --counts: laws, columns and files, and errors that name place, value and remedy."""

import gzip

import numpy as np
import pytest

from ribp.counts import by_row, exactly, learned, poisson, uniform
from ribp.counts.finite import free_law
from ribp.errors import InputError, StorageError
from ribp.io.column_choice import ColumnChoice
from ribp.io.count_options import count_columns, counts_from, missing_law
from ribp.io.formats import read_data


@pytest.fixture
def columns(tmp_path):
    """Read counts from columns of a text."""

    def counts(text, option):
        (tmp_path / "data.csv").write_text(text)
        file = read_data(tmp_path / "data.csv", ColumnChoice(aside=count_columns(option)))
        return counts_from(option, file, len(file.values))

    return counts


@pytest.fixture
def from_file(tmp_path):
    """Read counts from a file with a content."""

    def counts(content, n_rows, name="counts.csv"):
        path = tmp_path / name
        if isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return counts_from(f"file:{path}", None, n_rows)

    return counts


def test_one_law_for_all_rows():
    counts = counts_from(" 0.5*exactly(1) + 0.5*exactly(3) ", None, 4)
    assert len(counts) == 4
    assert str(counts[2]) == "0.5*exactly(1) + 0.5*exactly(3)"


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("exactly(3)", ()),
        ("file:a,b.csv", ()),
        ("column:k", ("k",)),
        ("column: lo , hi", ("lo", "hi")),
        ('column:"a,b"', ("a,b",)),
        ('column:"a,b",c', ("a,b", "c")),
        ('column:a "quoted" name', ('a "quoted" name',)),
        ("column:file:x", ("file:x",)),
    ],
)
def test_columns_that_an_option_names(option, names):
    assert count_columns(option) == names


@pytest.mark.parametrize("option", ["column:", "column: ", "column:a,", "column:a,b,c", "column:,"])
def test_options_that_name_no_columns(option):
    with pytest.raises(InputError, match=r"--counts must name one column, or two"):
        count_columns(option)


def test_an_option_with_open_quotes():
    with pytest.raises(InputError, match="--counts must close its quotes, but got"):
        count_columns('column:"a')


COLUMNS = [
    ("a,k\n1,3\n1,0\n1,3.0\n", "column:k", [exactly(3), exactly(0), exactly(3)]),
    ("a,k\n1,9007199254740993\n", "column:k", [exactly(9007199254740993)]),
    ("a,k\n1,1e2\n", "column:k", [exactly(100)]),
    ("k,a,m\n1,5,4\n2,5,2\n", "column:k,m", [uniform(1, 4), exactly(2)]),
    ("a;k\n1;uniform(1, 4)\n1; 3\n", "column:k", [uniform(1, 4), exactly(3)]),
    ('a,k\n1,"uniform(1, 4)"\n1,poisson(2)\n', "column:k", [uniform(1, 4), poisson(2)]),
    ("id,a\n3,1\n2,1\n", "column:id", [exactly(3), exactly(2)]),
]


@pytest.mark.parametrize(("text", "option", "laws"), COLUMNS, ids=range(len(COLUMNS)))
def test_columns_of_the_data(columns, text, option, laws):
    assert columns(text, option) == by_row(laws)


def test_missing_counts(columns, tmp_path):
    text = "a,k,hi\n1,2,3\n1,,\n1,NA,?\n1,nan,nan\n1,4,4\n"
    assert list(columns(text, "column:k")) == [exactly(2), *[free_law()] * 3, exactly(4)]
    assert list(columns(text, "column:k,hi"))[1:] == [*[free_law()] * 3, exactly(4)]
    (tmp_path / "k.csv").write_text("2\nNA\n4\n")
    np.save(tmp_path / "k.npy", np.array([2, np.nan, 4]))
    for name in ("k.csv", "k.npy"):
        laws = counts_from(f"file:{tmp_path / name}", None, 3, missing_law("uniform(1, 9)"))
        assert list(laws) == [exactly(2), uniform(1, 9), exactly(4)]
    for wrong in ("column:k", "unifrm(1, 2)"):
        with pytest.raises(InputError, match="--counts-missing"):
            missing_law(wrong)
    assert missing_law(None) is None


def test_rows_with_one_learned_law_share_it(columns):
    counts = columns('a,k\n1,"learned(1,1)"\n1,"learned(1, 1)"\n1,"learned(1,1)"\n', "column:k")
    assert set(counts.laws) == {learned([1, 1])}
    assert counts[0] == counts[2]


WRONG_COLUMNS = [
    ("1,-2", "column:k", "in line 2, column 'k' the count '-2', .*must be at least 0"),
    ("1,2.5", "column:k", "in line 2, column 'k' the count '2.5', .*must be a whole number"),
    ("NA,3", "column:a,k", "in line 2, columns 'a' and 'k' the count.*a range must have two ends"),
    ("1,inf", "column:k", "the count 'inf', .*whole number"),
    ("1,1e30", "column:k", "the count '1e30', .*whole number"),
    ("1,99999999999999999999999", "column:k", "the count '9*', .*2\\*\\*63|between"),
    ("1,exacly(3)", "column:k", "the count 'exacly.3.', .*Unknown count law.*Did you mean exactly"),
    ("1,three", "column:k", "the count 'three', .*Unknown count law"),
    ("5,2", "column:a,k", "line 2, columns 'a' and 'k' the count '5', '2', .*hi must be at least"),
    ("1,x", "column:a,k", "the count '1', 'x', .*two whole numbers"),
    ("1," + "truncated(" * 3000, "column:k", "nested too deeply"),
]


@pytest.mark.parametrize(("row", "option", "message"), WRONG_COLUMNS, ids=range(len(WRONG_COLUMNS)))
def test_what_is_wrong_with_a_column(columns, row, option, message):
    with pytest.raises(StorageError, match=f"data.csv has (in line 2, .*|in )?({message})"):
        columns(f"a,k,z\n{row},0\n", option)


def test_columns_that_are_not_there(columns):
    with pytest.raises(InputError, match=r"got 'kk'\. Did you mean 'k'"):
        columns("a,k\n1,2\n", "column:kk")
    with pytest.raises(InputError, match="--counts must be a law or file:PATH here"):
        counts_from("column:k", None, 3)


def test_a_column_that_was_not_set_aside(tmp_path):
    (tmp_path / "data.csv").write_text("a,k\n1,2\n")
    file = read_data(tmp_path / "data.csv")
    with pytest.raises(InputError, match="must be a column"):
        counts_from("column:k", file, 1)
    with pytest.raises(InputError, match=r"must be a law, but got 'k'. Write column:k\."):
        counts_from("k", file, 1)


FILES = [
    ("3\n1\n3\n", [exactly(3), exactly(1), exactly(3)]),
    ("count\n3\n1\n", [exactly(3), exactly(1)]),
    ("lo,hi\n1,2\n3,3\n", [uniform(1, 2), exactly(3)]),
    ("1;2\n3;3\n", [uniform(1, 2), exactly(3)]),
    ("uniform(1, 4)\n3\n0.5*exactly(1)+0.5*exactly(2)\n", None),
    ('"uniform(1, 4)"\nuniform(0,1)\n', [uniform(1, 4), uniform(0, 1)]),
    (",0\n0,3\n1,2\n", [exactly(3), exactly(2)]),
    ("id,lo,hi\na,1,2\na,3,3\n", [uniform(1, 2), exactly(3)]),
    ("Name,law\na,uniform(1, 4)\nb,2\n", [uniform(1, 4), exactly(2)]),
    ("id\n3\n", [exactly(3)]),
]


@pytest.mark.parametrize(("text", "laws"), FILES, ids=range(len(FILES)))
def test_files_of_text(from_file, text, laws):
    if laws is None:
        assert [str(law) for law in from_file(text, 3)] == [
            "uniform(1, 4)",
            "exactly(3)",
            "0.5*exactly(1) + 0.5*exactly(2)",
        ]
    else:
        assert from_file(text, len(laws)) == by_row(laws)


def test_compressed_files(from_file):
    counts = from_file(gzip.compress(b"3\n1\n"), 2, "counts.txt.gz")
    assert counts == by_row([exactly(3), exactly(1)])


@pytest.mark.parametrize(
    ("array", "laws"),
    [
        (np.array([3, 1]), [exactly(3), exactly(1)]),
        (np.array([[3.0], [1.0]]), [exactly(3), exactly(1)]),
        (np.array([[1, 2], [3, 3]], dtype=np.uint8), [uniform(1, 2), exactly(3)]),
    ],
)
def test_files_of_numbers(from_file, array, laws):
    assert from_file(array, 2, "counts.npy") == by_row(laws)


WRONG_FILES = [
    ("counts.csv", "3\n1\n", "has counts for 2 rows, from line 1 on, but the data have 3"),
    ("counts.csv", "two\n3\n1\n", "from line 2 .line 1, 'two', is read as a header. on, but the"),
    ("counts.csv", "", "is empty"),
    ("counts.csv", "\n\n", "has no counts"),
    ("counts.csv", "count\n", "has no counts"),
    ("counts.csv", "1\n\n2\n3\n", "one column and a blank line, 2"),
    ("counts.csv", "3\n1\nx\n", "in line 3 the count 'x'"),
    ("counts.csv", "3\n1\n-1\n", "in line 3 the count '-1'"),
    ("counts.csv", "exacly(3)\n1\n2\n", "in line 1 the count 'exacly.3.', .*Did you mean"),
    ("counts.csv", "1,2,3\n1,2,3\n1,2,3\n", "has 3 cells in line 1, where counts have one or two"),
    ("counts.csv", "1,2\n3,2\n1,1\n", "in line 2 the count '3', '2', .*at least lo = 3"),
    ("counts.csv", b"\xff\xfe3\n", "UTF-16"),
    ("counts.npy", b"3\n1\n", "is not a .npy file"),
    ("counts.npy", np.zeros((3, 3)), r"shape \(3, 3\) and type float64, not counts"),
    ("counts.npy", np.zeros(()), r"shape \(\)"),
    ("counts.npy", np.array(["a"] * 3), "type <U1, not counts"),
    ("counts.npy", np.array([1, 2.5, 3]), "in row 2 the count '2.5'"),
    ("counts.npy", np.array([1, 2.5, 3]), "in row 2 the count '2.5', .*a count must be a whole"),
    ("counts.npy", np.zeros(0, dtype=int), "has no counts|is damaged"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG_FILES, ids=range(len(WRONG_FILES)))
def test_what_is_wrong_with_a_file(from_file, name, content, message):
    with pytest.raises(StorageError, match=f"(?s){name} .*({message})"):
        from_file(content, 3, name)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(StorageError, match="does not exist"):
        counts_from(f"file:{tmp_path}/none.csv", None, 3)
    with pytest.raises(InputError, match="must name a file after file:"):
        counts_from("file: ", None, 3)
    for name in ("counts", "counts.xlsx"):
        with pytest.raises(InputError, match=r"--counts must name a \.csv, \.tsv, \.txt or \.npy"):
            counts_from(f"file:{name}", None, 3)
    with pytest.raises(InputError, match=r"--counts must name a \.csv, \.tsv, \.txt or \.npy"):
        counts_from("file:counts.mtx", None, 3)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("", "--counts: Expected a law"),
        ("3", "--counts: Expected .*\n.*\n.*\nFor the one count 3 write exactly.3."),
        ("exacly(3)", "--counts: Unknown count law 'exacly'"),
        ("col:k", "--counts must be a law or begin with column: or file:, but got 'col:k'"),
        ("Column:k", "--counts must be a law or begin with column: or file:"),
        ("truncated(" * 3000, "--counts must not be nested so deeply"),
    ],
)
def test_options_that_are_no_laws(option, message):
    with pytest.raises(InputError, match=message):
        counts_from(option, None, 3)
