"""Strange columns are named, and honest ones are not."""

import re

import numpy as np
import pytest

from ribp.likelihoods.validation import as_data
from ribp.rows import column_notices as module
from ribp.rows.column_notices import column_notices
from ribp.rows.local import in_memory


def table(n_rows=40, n_dims=3, scale=1.0, seed=0):
    return scale * np.random.default_rng(seed).normal(size=(n_rows, n_dims))


def codes(X, **names):
    return {notice.code: notice.text for notice in column_notices(in_memory(as_data(X)), **names)}


@pytest.mark.parametrize(("scale", "code"), [(1e-3, -9999.0), (1.0, 1e30), (1e100, -1e120)])
def test_a_code_for_missing_is_named_by_row_and_column(scale, code):
    X = table(scale=scale)
    X[7, 1] = code
    text = codes(X)["absurd-cell"]
    assert f"{code:g} in row 7, column 1" in text
    assert "Use NaN" in text
    named = codes(X, dim_names=["a", "b", "c"], row_names=[f"r{n}" for n in range(40)])
    assert f"{code:g} in row 'r7', column 'b'" in named["absurd-cell"]


def test_many_absurd_cells_are_counted():
    X = table(n_rows=200)
    X[:15, 0] = -1e9
    assert codes(X)["absurd-cell"].count("column 0") == 3
    assert "and 12 more" in codes(X)["absurd-cell"]


def test_the_first_few_are_named_however_rows_are_read(monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 2)
    X = table(n_rows=200)
    X[:15, 0] = -1e9
    assert codes(X)["absurd-cell"].count("column 0") == 3
    assert "and 12 more" in codes(X)["absurd-cell"]


def test_limits_are_far_from_quartiles():
    low, high = module._limits(in_memory(as_data([[0.0], [1.0], [2.0], [3.0], [4.0]])))
    assert (low[0], high[0]) == (2.0 - 2.0 * module.ABSURD, 2.0 + 2.0 * module.ABSURD)


def test_columns_far_from_zero_are_named():
    (notice,) = module.offset_notices(np.array([0.0, 1e6]), ["a", "b"])
    assert "column 'b'" in notice.text


@pytest.mark.parametrize(
    ("means", "top", "words"),
    [
        (
            [0.1, 0.2, 5.0],
            9,
            'X holds counts, and 2 of 3 columns .* likelihood="poisson".*, or noise',
        ),
        ([0.1, 0.2, 0.2], 1, 'zeros and ones, and 3 of 3 .* RestrictedIBP\\("gibbs-rows", lik'),
        ([0.1, 5.0, 5.0], 9, None),  # one column only
        ([0.5, 0.4, 0.2], 1, None),  # not that rare
    ],
)
def test_counts_of_rare_things_are_told(means, top, words):
    rng = np.random.default_rng(1)
    X = np.minimum(rng.poisson(means, (400, 3)), top).astype(float)
    said = module.rare_count_notices(in_memory(as_data(X)).look())
    assert [notice.code for notice in said] == ["rare-counts"] * (words is not None)
    if words:
        assert re.search(words, said[0].text)
        X[0, 0] = 0.5
        assert not module.rare_count_notices(in_memory(as_data(X)).look())
        X[:, :] = np.nan
        assert not module.rare_count_notices(in_memory(as_data(X)).look())


def test_all_of_a_few_rows_are_looked_at():
    """Without any one of the others the quartiles would be as far apart as that cell is."""
    assert "1e+15 in row 0, column 0" in codes([[1e15], [0.0], [0.0], [1.0], [1.0]])["absurd-cell"]


def test_they_are_found_among_many_rows():
    X = table(n_rows=60_000, n_dims=2)
    X[54_321, 1] = 1e12
    X[::7, 0] = np.nan
    assert "1e+12 in row 54321, column 1" in codes(X)["absurd-cell"]


@pytest.mark.parametrize(
    "X",
    [
        table(),
        table()[:1],
        np.random.default_rng(1).standard_cauchy((2000, 5)),
        np.exp(3 * np.random.default_rng(2).normal(size=(2000, 5))),
        np.random.default_rng(3).binomial(1, 0.05, (500, 4)) * 1e12,
        np.random.default_rng(4).poisson(0.3, (500, 4)),
        np.where(np.random.default_rng(5).random((50, 3)) < 0.3, np.nan, table(50)),
        1e9 + table(),
    ],
)
def test_honest_columns_are_not(X):
    assert codes(X) == {}


@pytest.mark.parametrize("value", [0.0, 3.0, -1e140])
def test_constant_columns(value):
    X = table()
    X[:, 2] = value
    assert "column 2 " in codes(X)["constant-column"]
    X[:, 2] = value * (1.0 + 1e-13 * np.arange(40))
    assert "column 'c'" in codes(X, dim_names=["a", "b", "c"])["constant-column"]
    X[:, 2] = 1e-160 * np.arange(40)
    assert "column 2" in codes(X)["constant-column"]


def test_missing_columns_and_missing_tables():
    X = table()
    X[:, 0] = np.nan
    assert set(codes(X)) == {"missing-column"}
    assert set(codes(np.full((4, 2), np.nan))) == {"nothing-observed"}
