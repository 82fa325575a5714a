"""Which columns are data, names of rows or labels: by name, by pattern, in every format."""

import numpy as np
import polars as pl
import pytest

from ribp.errors import InputError, StorageError
from ribp.io.column_choice import ColumnChoice, patterns
from ribp.io.formats import column_names, read_data
from ribp.io.input_options import InputOptions, known_features, read_input

COLUMNS = {
    "id": ["p", "q"], "site": ["A", "B"], "x1": [1.0, 2.0], "x2": [3.0, 4.0], "y[1]": [5.0, 6.0],
    "k": [1, 2],
}  # fmt: skip


@pytest.fixture(params=["csv", "parquet"])
def table(request, tmp_path):
    path = tmp_path / f"data.{request.param}"
    frame = pl.DataFrame(COLUMNS)
    if request.param == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


@pytest.mark.parametrize(
    ("choice", "dims"),
    [
        (ColumnChoice(exclude=("site",)), ["x1", "x2", "y[1]", "k"]),
        (ColumnChoice(labels=("s*",)), ["x1", "x2", "y[1]", "k"]),
        (ColumnChoice(columns=("x?",)), ["x1", "x2"]),
        (ColumnChoice(columns=("y[1]", "x1")), ["x1", "y[1]"]),
        (ColumnChoice(columns=("*",), exclude=("x*", "site")), ["y[1]", "k"]),
        (ColumnChoice(columns=("*",), labels=("site", "k")), ["x1", "x2", "y[1]"]),
        (ColumnChoice(dims=("y[1]", "x1")), ["y[1]", "x1"]),
        (ColumnChoice(dims=("x2",), labels=("site",), aside=("k",)), ["x2"]),
    ],
    ids=range(8),
)
def test_choosing_columns(table, choice, dims):
    file = read_data(table, choice)
    assert file.dim_names == dims
    assert file.values.T.tolist() == [COLUMNS[name] for name in dims]
    assert file.row_names == ["p", "q"]
    assert list(choice.labels_in(file)) == [name for name in ("site", "k") if name in file.columns
                                            and name not in choice.aside]  # fmt: skip


def test_names_of_rows_may_be_any_column(table):
    file = read_data(table, ColumnChoice(id="site", exclude=("id",)))
    assert file.row_names == ["A", "B"]
    assert file.dim_names == ["x1", "x2", "y[1]", "k"]


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        (ColumnChoice(columns=("z*",)), "z*"),
        (ColumnChoice(exclude=("sit",)), "sit"),
        (ColumnChoice(id="x?"), "x?"),
        (ColumnChoice(labels=("lab",)), "lab"),
        (ColumnChoice(aside=("x*",)), r"x\*"),
        (ColumnChoice(dims=("x1", "x3")), "x3"),
    ],
    ids=range(6),
)
def test_columns_that_are_not_there(table, choice, name):
    with pytest.raises(InputError, match="must be a column of") as caught:
        read_data(table, choice)
    assert name.replace("\\", "") in str(caught.value)


def test_columns_of_text_say_what_to_type(table):
    with pytest.raises(StorageError, match="Add --exclude site to leave it out, --label site to"):
        read_data(table)


def test_nothing_is_left(table):
    with pytest.raises(StorageError, match="has no columns of data"):
        read_data(table, ColumnChoice(columns=("id", "site"), exclude=("id", "site")))


def test_files_without_names(tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n3,4\n")
    assert column_names(tmp_path / "data.csv") is None
    assert column_names(tmp_path / "data.npy") is None
    with pytest.raises(InputError, match="no columns with names"):
        read_data(tmp_path / "data.csv", ColumnChoice(columns=("a",)))
    assert read_data(tmp_path / "data.csv", ColumnChoice(dims=("a",))).values.shape == (2, 2)


def test_names_of_columns(table):
    assert column_names(table) == list(COLUMNS)


def test_patterns():
    assert patterns("--columns", ["a, b*", '"c,d"']) == ("a", "b*", "c,d")
    assert patterns("--columns", None) == ()
    for wrong in ('"a', "a,,b", " "):
        with pytest.raises(InputError, match="--columns"):
            patterns("--columns", [wrong])


def test_reading_by_the_options_of_a_command(table):
    options = InputOptions("column:k", label=("s*",))
    file, counts, labels, _ = read_input(table, options)
    assert file.dim_names == ["x1", "x2", "y[1]"]
    assert [str(law) for law in counts] == ["exactly(1)", "exactly(2)"]
    assert labels == {"site": ["A", "B"]}
    new = InputOptions().with_defaults(options._replace(id="id"), ["id", "site", "x1"])
    assert (new.id, new.label) == ("id", ("s*",))
    assert InputOptions().with_defaults(options, ["x1"]) == InputOptions()


def test_known_features_are_found_by_name(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("name,x2,x1\nloud,2,1\n")
    assert known_features(str(path), ["x1", "x2"]) == [[1, 2]]
    assert known_features(None, ["x1"]) is None
    path.write_text("3,4\n")
    assert known_features(str(path), ["x1", "x2"]) == [[3, 4]]
    path.write_text("x1,x2\n3,\n")
    with pytest.raises(StorageError, match="missing entry in line 2"):
        known_features(str(path), ["x1", "x2"])


def test_known_features_without_names_go_with_data_without_names(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("3,4\n")
    assert known_features(str(path), None) == [[3, 4]]
    path.write_text("x2,x1\n4,3\n")
    words = "where the data have none, but got known.csv with 'x2', 'x1'. Save it"
    with pytest.raises(InputError, match=words):
        known_features(str(path), None)


def test_true_and_false_are_numbers_where_data_are_yes_and_no(tmp_path):
    path, yes_or_no = tmp_path / "data.csv", InputOptions("column:k", flags=True)
    path.write_text("a,b,k\ntrue, FALSE,1\nNA,True,2\n1,0,1\n")
    values = [[1, 0], [np.nan, 1], [1, 0]]
    np.testing.assert_array_equal(read_input(path, yes_or_no).file.values, values)
    path.write_text("a;b;k\n1;wahr;2\n")
    with pytest.raises(StorageError, match="text in column 'b', such as 'wahr'"):
        read_input(path, yes_or_no)
    path.write_text("true,false\nfalse,false\n")  # no header
    for choice in (ColumnChoice(flags=True), ColumnChoice(as_text=True)):
        assert read_data(path, choice).values.tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators(tmp_path, separator):
    path = tmp_path / "data.csv"
    path.write_text("\n".join(separator.join(row) for row in (["a", "b"], ["1", "2"], ["3", ""])))
    assert read_data(path).values[0].tolist() == [1, 2]


def test_decimal_commas(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("id;a;b\nx;1,5;2\ny;-,5;1,5e-3\nz;3,;\n")
    values = read_data(path).values
    assert values[:2].tolist() == [[1.5, 2], [-0.5, 0.0015]]
    assert values[2, 0] == 3
