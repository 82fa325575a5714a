"""Tables as users hold them: types of columns, kinds that follow, numbers and back."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from ribp import kinds
from ribp.errors import InputError
from ribp.kinds.choice import check_numbered, chosen, is_choice, unseen_columns
from ribp.kinds.coding import decoded, encoded
from ribp.kinds.given_columns import columns_of
from ribp.kinds.stored import from_json, to_json
from tests.helpers.kind_cases import KINDS

NAN = np.nan


def frame():
    return pd.DataFrame(
        {
            "age": [61.5, NAN, 40.25, 38.0],
            "smoker": [True, False, True, True],
            "asked": pd.array([True, None, False, True], dtype="boolean"),
            "sex": ["m", "f", None, "m"],
            "stage": pd.Categorical(["II", "I", "III", None], ["I", "II", "III"], ordered=True),
            "site": pd.Categorical(["skin", "lung", "skin", "liver"]),
            "drug": ["a", "b", "c", None],
            "visits": pd.array([0, 3, None, 7], dtype="Int64"),
            "small": np.array([0.5, 1.5, 2.5, 3.5], dtype="float32"),
        }
    )


EXPECTED = {
    "age": kinds.real(),
    "smoker": kinds.binary(["False", "True"]),
    "asked": kinds.binary(["False", "True"]),
    "sex": kinds.binary(["f", "m"]),
    "stage": kinds.ordinal(["I", "II", "III"]),
    "site": kinds.categorical(["liver", "lung", "skin"]),
    "drug": kinds.categorical(["a", "b", "c"]),
    "visits": kinds.negbin(),
    "small": kinds.real(),
}


def test_kinds_follow_from_types():
    X = frame()
    found = chosen({"visits": "negbin"}, columns_of(X))
    assert dict(zip(X.columns, found, strict=True)) == EXPECTED
    values = encoded(columns_of(X), found)
    np.testing.assert_array_equal(
        values,
        [
            [61.5, 1, 1, 1, 1, 2, 0, 0, 0.5],
            [NAN, 0, NAN, 0, 0, 1, 1, 3, 1.5],
            [40.25, 1, 0, NAN, 2, 2, 2, NAN, 2.5],
            [38, 1, 1, 1, NAN, 0, NAN, 7, 3.5],
        ],
    )
    back = decoded(values, found, X.columns, X.index)
    assert back["stage"].tolist()[:3] == ["II", "I", "III"]
    assert back["stage"].cat.ordered
    assert back["asked"].tolist() == [True, pd.NA, False, True]
    np.testing.assert_array_equal(encoded(columns_of(back), found), values)


def test_frames_of_polars():
    X = pl.DataFrame(
        {
            "age": [61.5, None, 40.25],
            "smoker": [True, None, True],
            "sex": ["m", "f", None],
            "stage": pl.Series(["b", "a", "c"], dtype=pl.Enum(["a", "b", "c"])),
            "visits": [1, 2, None],
            "nothing": pl.Series([None, None, None], dtype=pl.Float64),
        }
    )
    columns = columns_of(X)
    types = [column.type for column in columns]
    assert types == ["number", "bool", "text", "category", "integer", "number"]
    found = chosen({"visits": "log-poisson", "age": "real"}, columns)
    assert found[3] == kinds.categorical(["a", "b", "c"])
    expected = [[61.5, 1, 1, 1, 1, NAN], [NAN, NAN, 0, 0, 2, NAN], [40.25, 1, NAN, 2, NAN, NAN]]
    np.testing.assert_array_equal(encoded(columns, found), expected)


def test_arrays_and_lists():
    masked = np.ma.MaskedArray([[1.5, 2.0], [3.5, 4.0], [5.5, 7.0]], [[0, 1], [0, 0], [0, 0]])
    columns = columns_of(masked)
    assert chosen("auto", columns) == (kinds.real(), kinds.binary(["4", "7"]))
    np.testing.assert_array_equal(columns[1].values, [NAN, 4, 7])
    zeros = columns_of(sparse.csr_matrix(np.eye(3)))
    assert chosen("auto", zeros) == (kinds.binary(),) * 3
    listed = columns_of([["x", 1], ["y", None], ["z", 2.5]])
    assert [column.type for column in listed] == ["text", "number"]
    assert columns_of(np.array([["a"], ["b"]]))[0].type == "text"
    assert columns_of(np.array([[True], [False]]))[0].type == "bool"
    assert columns_of(np.array([[True], [None]], object))[0].type == "bool"
    assert columns_of(np.array([["2020-01-01"]], "datetime64[D]"))[0].type == "other"
    assert columns_of(pd.DataFrame({"a": [datetime.date(2020, 1, 1)]}))[0].type == "other"
    assert columns_of(pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}))[0].type == "other"
    for wrong in (np.zeros(3), np.zeros((0, 2))):
        with pytest.raises(InputError, match="must be a matrix"):
            columns_of(wrong)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match=r"different names, but got a"):
        columns_of(twice)


def test_integers_are_asked_for():
    X = pd.DataFrame({"age": [60, 61, 62], "codes": [1, 2, 3], "two": [5, 7, 5]})
    words = r"what columns of integers are.*auto for 'age', 'codes'\. Write .*\"age\": \"real\""
    with pytest.raises(InputError, match=words):
        chosen("auto", columns_of(X))
    with pytest.raises(InputError, match="--kind age=real"):
        chosen("auto", columns_of(X), as_options=True)
    many = pd.DataFrame(np.arange(15).reshape(3, 5))
    with pytest.raises(InputError, match="'0', '1', '2' and 2 more"):
        chosen("auto", columns_of(many))
    asked = {"age": "real", "codes": "ordinal"}
    assert chosen(asked, columns_of(X)) == (
        kinds.real(),
        kinds.ordinal(["1", "2", "3"]),
        kinds.binary(["5", "7"]),
    )


def test_one_kind_for_all_columns_and_columns_by_number():
    X = np.array([[0, 1], [1, 1], [1, 0]])
    assert chosen("binary", columns_of(X)) == (kinds.binary(), kinds.binary())
    assert chosen(kinds.binomial(3), columns_of(X)) == (kinds.binomial(3),) * 2
    assert chosen("binomial(2)", columns_of(X)) == (kinds.binomial(2),) * 2
    assert chosen({1: "negbin"}, columns_of(X)) == (kinds.binary(), kinds.negbin())
    named = columns_of(pd.DataFrame(X, columns=["a", "b"]))
    assert chosen({1: "negbin"}, named)[1] == kinds.negbin()


@pytest.mark.parametrize(
    ("X", "asked", "words"),
    [
        ({"a": ["x", "y", "z"]}, {"b": "real"}, "must name columns of X, but got 'b'. Columns are"),
        ({"a": ["x", "y", "z"]}, "ordinal", "order of the levels of column 'a'"),
        ({"a": ["x", "x"]}, "auto", "column 'a', but got a column that holds only 'x'"),
        ({"a": [None, None]}, "categorical", "holds nothing"),
        ({"a": list(map(str, range(60)))}, "auto", "more than 50 different values"),
        ({"a": ["x", "y", "z"]}, "binary", "two different values in column 'a'.*3: x, y, z"),
        ({"a": list("wxyz")}, "binary", "4: w, x, y, ..."),
        ({"a": [1j, 2j]}, "auto", "holds complex"),
        ({"a": [object(), object()]}, "categorical", "holds object"),
        ({"a": [1.5, 2.5]}, {"a": 3}, "must be a kind for column 'a'"),
        ({"a": [1.5, 2.5]}, {"a": "real", 0: "positive"}, "column 'a' once, but got 'a' and 0"),
        ({"a": [np.zeros(2), np.ones(2)]}, "categorical", "holds ndarray"),
        ({"a": [1.5, 2.5]}, "binomial", "kind of column 'a' must be.* trials in parentheses"),
        ({"a": [1, 2]}, {"a": "ordinal(x, x)"}, "levels of column 'a' must be at least two diff"),
        ({"a": [1, 2]}, {"a": "binomial(0)"}, "of column 'a' must be.*but got 0"),
    ],
)
def test_what_fits_no_kind_is_refused(X, asked, words):
    with pytest.raises(InputError, match=words):
        chosen(asked, columns_of(pd.DataFrame(X)))


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (["I", "IV"], kinds.ordinal(["I", "II"]), "levels I, II in column 'a'.*'IV' in row 1"),
        ([1, 3], kinds.ordinal(["1", "2"]), "'3' in row 1"),
        ([0.0, 2.0], kinds.categorical(["x", "y"]), "2 in row 1"),
        (["x", "1"], kinds.real(), "any numbers in column 'a', which is real, but got x in row 0"),
        ([1.0, -1.0], kinds.positive(), "positive numbers in column 'a'.*-1 in row 1"),
        ([0.0, 0.5], kinds.negbin(), "counts 0, 1, 2, .*0.5 in row 1"),
        ([True, False], kinds.binary(["True", "maybe"]), "'0' in row 1"),
        (["x"], kinds.categorical(list("abcdefghij")), "a, b, c, d, e, f, g, h, ... in"),
    ],
)
def test_entries_that_cannot_be_are_named(values, kind, words):
    with pytest.raises(InputError, match=words):
        encoded(columns_of(pd.DataFrame({"a": values})), (kind,))


def test_names_of_rows_are_in_messages_and_columns_are_counted():
    columns = columns_of(pd.DataFrame({"a": ["x", "z"]}))
    with pytest.raises(InputError, match="'z' in row 'second'"):
        encoded(columns, (kinds.binary(["x", "y"]),), ["first", "second"])
    with pytest.raises(InputError, match="2 columns of the fit, but got 1 columns"):
        encoded(columns, (kinds.real(),) * 2)


def test_numbers_and_flags_as_levels():
    flags = columns_of(np.array([[True], [False]]))
    np.testing.assert_array_equal(encoded(flags, (kinds.binary(["no", "yes"]),)), [[1], [0]])
    words = columns_of(np.array([["True"], ["False"]], object))
    named = (kinds.binary(["False", "True"]),)
    np.testing.assert_array_equal(encoded(words, named), [[1], [0]])
    numbers = columns_of(np.array([[0.0], [2.0], [NAN]]))
    levels = (kinds.ordinal(["low", "middle", "high"]),)
    np.testing.assert_array_equal(encoded(numbers, levels), [[0], [2], [NAN]])
    nothing = columns_of(pd.DataFrame({"a": ["x", None]}).iloc[1:])
    np.testing.assert_array_equal(encoded(nothing, (kinds.real(),)), [[NAN]])


def test_levels_are_named_by_what_columns_hold():
    answers = pd.DataFrame({"a": [1.0, 2.0, NAN, 3.0], "b": [True, False, True, True]})
    whole = kinds.ordinal(answers["a"].dropna().unique())
    assert whole == kinds.ordinal(["1", "2", "3"])
    np.testing.assert_array_equal(encoded(columns_of(answers[["a"]]), (whole,)).T, [[0, 1, NAN, 2]])
    for asked in ("ordinal", "categorical"):
        assert chosen(asked, columns_of(answers[["b"]]))[0].levels == ("False", "True")
    with pytest.raises(InputError, match="must be names of levels, but got None"):
        kinds.ordinal(None)


@pytest.mark.parametrize("dtype", [object, "string", "Float64"])
def test_columns_of_nothing_are_numbers_like_any_other(dtype):
    nothing = pd.DataFrame({"a": pd.array([None, None], dtype=dtype)})
    assert chosen("auto", columns_of(nothing)) == (kinds.real(),)


def test_columns_of_nothing_that_would_be_integers_are_asked_for():
    nothing = pd.DataFrame({"a": pd.array([None, None], dtype="Int64")})
    with pytest.raises(InputError, match="columns of integers"):
        chosen("auto", columns_of(nothing))


def test_columns_by_numbers_of_any_type():
    named = columns_of(pd.DataFrame({"a": [1.0, 2.5], "b": [2.0, 3.5]}))
    assert chosen({np.int64(1): "positive"}, named)[1] == kinds.positive()


def test_columns_that_are_not_in_memory():
    wide = unseen_columns(range(3), np.dtype(float))
    assert chosen("auto", wide) == (kinds.real(),) * 3
    assert chosen("binary", wide) == (kinds.binary(),) * 3
    assert chosen("auto", unseen_columns(["a"], np.dtype(bool))) == (EXPECTED["smoker"],)
    with pytest.raises(InputError, match="columns of integers"):
        chosen("auto", unseen_columns(["a"], np.dtype(int)))
    with pytest.raises(InputError, match="must name the levels of column 'a', which is not in mem"):
        chosen("ordinal", unseen_columns(["a"]))
    check_numbered([kinds.ordinal(["0", "1"]), kinds.ordinal(["low", "high"]), kinds.real()])
    with pytest.raises(InputError, match="named by their numbers from 0"):
        check_numbered([kinds.ordinal(["1", "2"])])


def test_what_is_a_choice():
    assert all(map(is_choice, ["auto", "real", "ordinal(a, b)", kinds.real(), {}, {"a": "real"}]))
    assert not any(map(is_choice, ["gaussian", "poisson", 3, None]))


@pytest.mark.parametrize("name", KINDS)
def test_kinds_as_json(name):
    assert from_json(to_json(KINDS[name])) == KINDS[name]


@pytest.mark.parametrize("stored", [None, {}, {"name": "ordinal"}, {"name": "real()"}, "real"])
def test_json_that_is_no_kind(stored):
    with pytest.raises(InputError):
        from_json(stored)
