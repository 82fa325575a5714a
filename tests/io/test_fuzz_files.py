"""Whatever bytes a file has and whatever an option says: an answer, or one of two errors."""

import gzip
import io
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ribp.checks import LARGEST
from ribp.counts import RowCounts
from ribp.errors import InputError, StorageError
from ribp.io import array_files, data_file, parquet_files
from ribp.io.column_choice import ColumnChoice
from ribp.io.count_options import count_columns, counts_from
from ribp.io.data_file import ROW_NAME_HEADERS, DataFile, is_missing, number
from ribp.io.formats import read_data
from ribp.io.write_files import write_table

ENDINGS = [".csv", ".tsv", ".txt", ".csv.gz", ".npy", ".npz", ".mtx", ".mtx.gz", ".parquet"]
EXPECTED = (InputError, StorageError)


@pytest.fixture(autouse=True, scope="module")
def small_machine():
    """Refuse matrices that would make the tests slow: damaged files claim any size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_file, "memory", lambda: 10**8)
        yield


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def check(file):
    """What every table that is read must fulfil."""
    n_rows, n_dims = file.values.shape
    assert min(n_rows, n_dims) > 0
    assert file.values.dtype == np.float64
    assert not np.isinf(file.values).any()
    assert file.dim_names is None or len(set(file.dim_names)) == n_dims
    assert file.row_names is None or len(file.row_names) == n_rows
    assert file.lines is None or (len(file.lines) == n_rows and (np.diff(file.lines) > 0).all())
    assert all(len(column) == n_rows for column in file.columns.values())


def attempt(path, content, exclude=()):
    path.write_bytes(content)
    try:
        check(read_data(path, choice=ColumnChoice(aside=tuple(exclude))))
    except EXPECTED as error:
        text = str(error)
        assert path.name in text or exclude
        assert len(text) < 1500


@pytest.mark.parametrize("ending", ENDINGS)
@given(content=st.binary(max_size=200))
@settings(max_examples=40)
def test_any_bytes(folder, ending, content):
    attempt(folder / f"data{ending}", content)


CELLS = st.sampled_from(
    ["", "0", "1", "2", "-1.5", "1e999", "nan", "NA", "?", "x", "id", "1_0", '"', '"a"', '"a\nb"']
)
LINES = st.lists(
    st.tuples(st.lists(CELLS | st.text(max_size=3), max_size=4), st.sampled_from([",", ";", "\t"])),
    max_size=6,
)


@given(lines=LINES, end=st.sampled_from(["\n", "\r\n", "\r"]), exclude=st.lists(CELLS, max_size=2))
@settings(max_examples=400)
@example(lines=[(["id", "x"], ","), (["1.5", "1"], ",")], end="\n", exclude=[])
@example(lines=[(["", "0", "1", "2"], ","), (["", "", "", ""], ",")], end="\r", exclude=[])
def test_any_text(folder, lines, end, exclude):
    text = end.join(separator.join(cells) for cells, separator in lines)
    attempt(folder / "data.csv", text.encode("utf-8", "surrogatepass"), exclude)


VALUES = np.array([[1.5, 0.0, np.nan], [0.0, -2.0, 3.25], [1.0, 1.0, 0.0], [7.0, 0.0, 0.5]])


def content_of(writer, *arguments, **options):
    content = io.BytesIO()
    writer(content, *arguments, **options)
    return content.getvalue()


def parquet():
    names = pl.Series("id", ["p", "q", "r", "s"])
    frame = pl.DataFrame(VALUES, schema=["a", "b", "c"]).insert_column(0, names)
    return content_of(lambda file: frame.write_parquet(file))


TEXT = b'id,a,b,c\np,1.5,0,NA\n"q, r",0,-2,3.25\n\xc3\xa9,1,1,0\ns,7,0,.5\n'
VALID = {
    "csv": (".csv", lambda: TEXT),
    "csv.gz": (".csv.gz", lambda: gzip.compress(TEXT, mtime=0)),
    "npy": (".npy", lambda: content_of(np.save, VALUES)),
    "npz": (".npz", lambda: content_of(np.savez, X=VALUES)),
    "npz-deflated": (".npz", lambda: content_of(np.savez_compressed, X=VALUES)),
    "npz-sparse": (
        ".npz",
        lambda: content_of(scipy.sparse.save_npz, scipy.sparse.csr_array(VALUES), compressed=False),
    ),
    "mtx": (".mtx", lambda: content_of(scipy.io.mmwrite, VALUES)),
    "mtx-sparse": (".mtx", lambda: content_of(scipy.io.mmwrite, scipy.sparse.coo_array(VALUES))),
    "mtx.gz": (".mtx.gz", lambda: gzip.compress(content_of(scipy.io.mmwrite, VALUES), mtime=0)),
    "parquet": (".parquet", parquet),
}
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["set", "cut", "insert", "delete", "repeat"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=4) | st.sampled_from([b"9", b"-", b"\xff\xff\xff\x7f"]),
    ),
    min_size=1,
    max_size=3,
)


def changed(content, changes):
    for how, where, new in changes:
        at = int(where * len(content))
        if how == "cut":
            content = content[:at]
        elif how == "set":
            content = content[:at] + new + content[at + len(new) :]
        elif how == "insert":
            content = content[:at] + new + content[at:]
        elif how == "delete":
            content = content[:at] + content[at + len(new) :]
        else:
            content = content[:at] + content[max(0, at - 8 * len(new)) :]
    return content


@pytest.mark.parametrize("kind", VALID)
def test_what_is_changed_below_was_valid(folder, kind):
    ending, content = VALID[kind]
    (folder / f"data{ending}").write_bytes(content())
    np.testing.assert_array_equal(read_data(folder / f"data{ending}").values, VALUES)


@pytest.mark.parametrize("kind", [kind for kind in VALID if kind != "parquet"])
@given(changes=CHANGES)
@settings(max_examples=120)
def test_damaged_files(folder, kind, changes):
    ending, content = VALID[kind]
    attempt(folder / f"data{ending}", changed(content(), changes))


@given(changes=CHANGES)
@settings(max_examples=10)
def test_damaged_parquet(folder, changes):
    attempt(folder / "data.parquet", changed(parquet(), changes))  # a process each: few of them


def test_the_fuzz_would_see_other_errors(folder, monkeypatch):
    monkeypatch.setattr(array_files, "cannot_read", lambda path, error: error)
    monkeypatch.setattr(parquet_files, "cannot_read", lambda path, error: error)
    content = VALID["npz"][1]()
    with pytest.raises(Exception, match=r"zip|EOF|magic") as caught:
        attempt(folder / "data.npz", content[: len(content) // 2])
    assert not isinstance(caught.value, EXPECTED)


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
NAMES = WORDS.map(str.strip).filter(lambda name: number(name) is None and not is_missing(name))


@st.composite
def tables(draw):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 4)))
    numbers = st.floats(-LARGEST, LARGEST) | st.just(np.nan)
    values = draw(arrays(np.float64, shape, elements=numbers))
    dims = draw(st.lists(NAMES, min_size=shape[1], max_size=shape[1], unique=True))
    rows = draw(st.none() | st.lists(NAMES, min_size=shape[0], max_size=shape[0], unique=True))
    return values, dims, rows


@pytest.mark.parametrize("ending", [".csv", ".npy", ".npz"])
@given(table=tables())
@settings(max_examples=80)
def test_tables_read_back_as_they_were_written(folder, ending, table):
    read_back(folder, ending, table)


@given(table=tables())
@settings(max_examples=10)
def test_parquet_reads_back_as_it_was_written(folder, table):
    read_back(folder, ".parquet", table)


def read_back(folder, ending, table):
    values, dims, rows = table
    path = folder / f"table{ending}"
    if dims[0].lower() in ROW_NAME_HEADERS or "id" in dims:
        return  # refused; see test_tables_that_cannot_be_written
    write_table(path, values, dim_names=dims, row_names=rows, overwrite=True)
    file = read_data(path)
    np.testing.assert_array_equal(file.values, values)
    assert np.array_equal(np.signbit(file.values), np.signbit(values), equal_nan=True) or (
        np.isnan(values).any()
    )
    if ending in (".csv", ".parquet"):
        assert (file.dim_names, file.row_names) == (dims, rows)


OPTIONS = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="exactlyuniform(),.*+-0123456789 :", max_size=30),
    st.builds(
        "{}{}".format,
        st.sampled_from(["column:", "file:", "Column:", "col:", " column:"]),
        st.text(max_size=8)
        | st.lists(st.sampled_from(["k", "lo", "hi", '"', "", "z"])).map(",".join),
    ),
)
COUNT_CELLS = st.none() | st.sampled_from(
    ["0", "3", "-1", "2.5", "1e400", "exactly(2)", "uniform(1, 4)", "exactly(", "x", "9" * 50]
)


@given(
    option=OPTIONS,
    columns=st.lists(st.tuples(COUNT_CELLS, COUNT_CELLS, COUNT_CELLS), min_size=1, max_size=3),
    n_rows=st.integers(0, 3),
)
@settings(max_examples=400)
def test_any_option(option, columns, n_rows):
    k, lo, hi = (list(column) for column in zip(*columns, strict=True))
    file = DataFile(Path("d.csv"), np.zeros((len(k), 1)), ["z"], None, {"k": k, "lo": lo, "hi": hi})
    with suppress(*EXPECTED):
        count_columns(option)
    with suppress(*EXPECTED):
        counts = counts_from(option, file, n_rows)
        assert isinstance(counts, RowCounts)
        assert len(counts) == n_rows


ENTRIES = st.sampled_from(
    [
        "0",
        "3",
        "-1",
        "2.5",
        "",
        "NA",
        "id",
        "exactly(2)",
        "uniform(1, 4)",
        '"uniform(1,4)"',
        "(",
        '"',
    ]
)


@given(
    lines=st.lists(st.lists(ENTRIES | st.text(max_size=4), min_size=1, max_size=3), max_size=4),
    n_rows=st.integers(0, 4),
)
@settings(max_examples=300)
def test_any_file_of_counts(folder, lines, n_rows):
    path = folder / "counts.csv"
    text = "\n".join(",".join(cells) for cells in lines)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with suppress(*EXPECTED):
        assert len(counts_from(f"file:{path}", None, n_rows)) == n_rows


@given(content=st.binary(max_size=200), changes=CHANGES)
@settings(max_examples=60)
def test_any_array_of_counts(folder, content, changes):
    path = folder / "counts.npy"
    for bytes_ in (content, changed(content_of(np.save, np.array([1, 2, 3])), changes)):
        path.write_bytes(bytes_)
        with suppress(*EXPECTED):
            assert len(counts_from(f"file:{path}", None, 3)) == 3
