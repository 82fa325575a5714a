"""Which row has which law: making, splitting and drawing."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ribp.counts import (
    RowCounts,
    as_row_counts,
    by_group,
    by_row,
    exactly,
    fill,
    learned,
    poisson,
    table,
    truncated,
    uniform,
)
from ribp.counts.finite import free_law
from ribp.errors import InputError
from ribp.testing.goodness import holds, is_caught, replicates
from tests.helpers.count_law_cases import counts_p_value, simple_laws

LAWS = [exactly(3), poisson(2), exactly(3), uniform(0, 2), poisson(2), exactly(3)]


@pytest.fixture
def rows():
    return by_row(LAWS)


class TestStorage:
    def test_each_law_once_in_order_of_use(self, rows):
        assert rows.laws == (exactly(3), poisson(2), uniform(0, 2))
        assert rows.law_of_row.tolist() == [0, 1, 0, 2, 1, 0]
        assert rows.law_of_row.dtype == np.int64
        assert not rows.law_of_row.flags.writeable

    def test_sequence(self, rows):
        assert len(rows) == 6
        assert rows.shape == (6,)
        assert list(rows) == LAWS
        assert [rows[n] for n in range(6)] == LAWS
        assert rows[-1] == rows[np.int64(5)] == rows[np.array(5)] == exactly(3)

    def test_ends(self, rows):
        assert (rows.smallest, rows.largest) == (0, None)
        assert (rows[[0, 3]].smallest, rows[[0, 3]].largest) == (0, 3)
        assert (rows[:0].smallest, rows[:0].largest) == (0, 0)

    def test_log_probs(self, rows):
        expected = np.array([law.log_probs(5) for law in rows.laws])
        np.testing.assert_array_equal(rows.log_probs(5), expected)
        assert rows[:0].log_probs(5).shape == (0, 6)

    def test_equality(self, rows):
        assert rows == by_row(tuple(LAWS))
        assert rows == RowCounts((poisson(2), uniform(0, 2), exactly(3)), [2, 0, 2, 1, 0, 2])
        assert rows == RowCounts((*LAWS, exactly(9)), np.arange(6))
        assert rows != rows[:5]
        assert rows != by_row(LAWS[::-1])
        assert rows != LAWS
        with pytest.raises(TypeError, match="unhashable"):
            hash(rows)

    def test_repr(self, rows):
        assert repr(rows) == (
            "<RowCounts of 6 rows: 3 x exactly(3), 2 x poisson(2), 1 x uniform(0, 2)>"
        )
        many = as_row_counts(np.arange(10), 10)
        assert repr(many).endswith("1 x exactly(5), and 4 more laws>")

    @pytest.mark.parametrize("law_of_row", [[0, 1], [[0]], [-1], [0.5], ["a"]], ids=repr)
    def test_wrong_law_of_row(self, law_of_row):
        with pytest.raises(InputError, match="law_of_row must"):
            RowCounts((exactly(1),), law_of_row)

    def test_wrong_laws(self):
        with pytest.raises(InputError, match="laws must be count laws, but got 3"):
            RowCounts((3,), [0])


class TestIndexing:
    @given(st.lists(simple_laws, min_size=1, max_size=8), st.data())
    def test_like_a_list(self, laws, data):
        rows = by_row(laws)
        n = len(laws)
        key = data.draw(
            st.one_of(
                st.slices(n),
                st.lists(st.integers(-n, n - 1)),
                st.lists(st.booleans(), min_size=n, max_size=n),
            )
        )
        picked = rows[key]
        if isinstance(key, slice):
            expected = laws[key]
        elif key and isinstance(key[0], bool):
            expected = [law for law, keep in zip(laws, key, strict=True) if keep]
        else:
            expected = [laws[n] for n in key]
        assert picked == by_row(expected)
        assert picked == rows[key, ...]
        if not isinstance(key, slice):
            assert picked == rows[np.array(key, dtype=int if not key else None)]

    def test_unused_laws_are_dropped(self, rows):
        assert rows[[0, 2]].laws == (exactly(3),)
        assert rows[3:5].laws == (uniform(0, 2), poisson(2))

    @pytest.mark.parametrize(
        "key",
        [True, None, "a", 1.0, [0.5], [True, False], [[0]], (0, 1), np.zeros((1, 6), bool), ...],
        ids=repr,
    )
    def test_wrong_keys(self, rows, key):
        with pytest.raises(InputError, match=r"rows must be an integer, .* There are 6 rows\."):
            rows[key]

    @pytest.mark.parametrize("key", [6, -7, [6]], ids=repr)
    def test_out_of_range(self, rows, key):
        with pytest.raises(IndexError):
            rows[key]


class TestSampling:
    def test_every_row_has_its_law(self):
        laws = [uniform(4, 6), poisson(2), exactly(3)]

        def p_values(n, seed, shift=0):
            draws = by_row(laws * n).sample(np.random.default_rng(seed))
            assert draws.dtype == np.int64
            assert draws.shape == (3 * n,)
            return [counts_p_value(draws[j::3], laws[(j + shift) % 3]) for j in range(3)]

        assert holds(p_values, replicates(5000))
        assert is_caught(lambda n, seed: [max(p_values(n, seed, shift=1))], 1000)
        assert by_row([]).sample(np.random.default_rng(0)).shape == (0,)

    def test_seeds(self, rows):
        with pytest.raises(InputError, match="rng must be"):
            rows.sample(None)
        np.testing.assert_array_equal(
            rows.sample(np.random.default_rng(1)), rows.sample(np.random.default_rng(1))
        )

    def test_rows_of_one_learned_law_share_a_table(self):
        def p_values(n, seed, law):
            rng, rows = np.random.default_rng(seed), as_row_counts(law, 100)
            totals = np.array([rows.sample(rng).sum() for _ in range(n)])
            return [counts_p_value(totals, uniform(0, 100))]

        # a uniform f(1) makes the total uniform on 0..100, a fixed f = 1/2 binomial
        assert holds(partial(p_values, law=learned([1, 1])), replicates(2000))
        assert is_caught(partial(p_values, law=table([0.5, 0.5])), 500)

    def test_groups_have_tables_of_their_own(self):
        law = learned([1, 1])
        rows = by_group({"a": law, "b": law, "c": exactly(0), "d": exactly(0)}, list("aabbcd"))
        assert rows.laws == (law, law, exactly(0))
        assert rows.law_of_row.tolist() == [0, 0, 1, 1, 2, 2]
        assert rows[2:].laws == (law, exactly(0))
        assert by_row([law, law]).laws == (law,)


class TestByGroup:
    def test_labels(self):
        laws = {"chord": exactly(3), "note": exactly(1), "rest": exactly(0)}
        rows = by_group(laws, ["note", "chord", "note"])
        assert list(rows) == [exactly(1), exactly(3), exactly(1)]
        assert by_group(laws, np.array(["note", "chord", "note"])) == rows
        assert list(by_group({0: exactly(3), "x": poisson(1)}, ["x", 0])) == [
            poisson(1),
            exactly(3),
        ]
        assert by_group({1: exactly(3)}, np.array([1, 1])) == by_row([exactly(3)] * 2)

    @pytest.mark.parametrize(
        ("laws", "labels", "message"),
        [
            ({"a": exactly(1)}, ["a", "b"], "labels must be among 'a', but got 'b'. Give that"),
            ({"a": exactly(1)}, [math.nan], "labels must be among 'a', but got nan."),
            ({"a": exactly(1)}, "aaa", "labels must hold one label a row, but got 'aaa'"),
            ({"a": exactly(1)}, [["a"]], "labels must be a flat list of labels"),
            ({"a": exactly(1)}, 3, "labels must be a flat list of labels, but got 3"),
            ({"a": 1}, ["a"], "laws must be count laws, but got 1."),
        ],
    )
    def test_errors(self, laws, labels, message):
        with pytest.raises(InputError) as caught:
            by_group(laws, labels)
        assert str(caught.value).startswith(message)

    def test_by_row_wants_laws(self):
        with pytest.raises(InputError, match="laws must be count laws, but got 'exactly"):
            by_row(["exactly(3)"])


class TestAsRowCounts:
    def test_one_law(self):
        assert as_row_counts(poisson(3), 4) == by_row([poisson(3)] * 4)
        assert as_row_counts("truncated(poisson(3), 1)", 2) == by_row(
            [truncated(poisson(3), 1)] * 2
        )
        assert as_row_counts(poisson(3), 0) == by_row([])

    def test_row_counts_pass_through(self, rows):
        assert as_row_counts(rows, 6) is rows

    def test_exact_counts(self):
        expected = by_row([exactly(3), exactly(0), exactly(3)])
        assert as_row_counts([3, 0, 3], 3) == expected
        assert as_row_counts(np.array([3.0, 0.0, 3.0]), 3) == expected
        assert as_row_counts(np.array([3, 0, 3], dtype=np.uint8), 3) == expected
        assert as_row_counts([], 0) == by_row([])

    def test_intervals(self):
        rows = as_row_counts([[1, 3], [2, 2], [0, 3], [1, 3]], 4)
        assert list(rows) == [uniform(1, 3), exactly(2), uniform(0, 3), uniform(1, 3)]
        assert len(rows.laws) == 3
        assert as_row_counts(np.empty((0, 2), dtype=int), 0) == by_row([])

    def test_a_million_rows(self):
        rng = np.random.default_rng(0)
        lo = rng.integers(0, 30, 10**6)
        rows = as_row_counts(np.stack([lo, lo + rng.integers(0, 9, 10**6)], axis=1), 10**6)
        assert len(rows.laws) == 270
        draws = rows.sample(rng)
        assert (draws >= lo).all()

    @pytest.mark.parametrize(
        ("counts", "message"),
        [
            ([1, 2], "counts must have an entry for each of the 3 rows, but got 2 entries."),
            (by_row([exactly(1)]), "counts must have an entry for each of the 3 rows, but got 1"),
            ([1, 2, -1], "counts must be at least 0"),
            ([1, 2.5, 3], "counts must hold whole numbers"),
            ([1, None, 2.5], "counts must hold whole numbers"),
            ([[1, 2], [None, 2], [1, 1]], "counts must have a lowest and a highest count in every"),
            ([True, False, True], "counts must be a count law or whole numbers"),
            (None, "counts must be a count law or whole numbers, but got None. Pass a law"),
            ([exactly(1)] * 3, "counts must be a count law or whole numbers, but got [exactly(1)"),
            (3, "counts must have shape (rows,) or (rows, 2), but got ()."),
            (np.ones((3, 3), int), "counts must have shape (rows,) or (rows, 2), but got (3, 3)."),
            (np.ones((3, 2, 1), int), "counts must have shape (rows,) or (rows, 2)"),
            ([[1, 2], [3], [4]], "counts must be rectangular"),
            ([[0, 1], [3, 2], [0, 0]], "counts must have lo <= hi in every row, but got [3, 2] in"),
            ("exacly(3)", "Unknown count law 'exacly'."),
        ],
        ids=range(15),
    )
    def test_errors(self, counts, message):
        with pytest.raises(InputError) as caught:
            as_row_counts(counts, 3)
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize(
        "counts",
        [
            [1.0, math.nan, 3.0],
            [1, None, 3],
            np.ma.array([1, 2, 3], mask=[False, True, False]),
            pd.Series([1, None, 3], dtype="Int64"),
            pd.Series([1, None, 3]),
            pd.array([1, None, 3], dtype="Int64"),
            [[1, 1], [None, None], [3, 3]],
            np.array([[1, 1], [math.nan, math.nan], [3, 3]]),
            pd.DataFrame({"lo": [1, None, 3], "hi": [1, None, 3]}),
        ],
        ids=range(9),
    )
    def test_missing_counts(self, counts):
        rows = as_row_counts(counts, 3)
        assert list(rows) == [exactly(1), free_law(), exactly(3)]
        assert list(fill(counts, "uniform(1, 3)")) == [exactly(1), uniform(1, 3), exactly(3)]
        assert list(fill(counts, poisson(2)))[1] == poisson(2)

    def test_a_law_that_is_not_known_reaches_as_far_as_the_others(self):
        assert as_row_counts([30, None], 2)[1].largest == 30
        assert as_row_counts([10**9, None], 2)[1].largest == 1000
        assert as_row_counts([None, None], 2).laws == (free_law(),)

    def test_nothing_to_fill(self, rows):
        assert fill(rows) is rows
        assert fill("exactly(2)") == exactly(2)
        assert fill(exactly(2), uniform(0, 1)) == exactly(2)
        assert list(fill([1, 2])) == [exactly(1), exactly(2)]
        with pytest.raises(InputError, match="law must be count laws"):
            fill([1, None], 3)

    def test_wrong_number_of_rows(self):
        with pytest.raises(InputError, match="n_rows must be at least 0"):
            as_row_counts(exactly(3), -1)
