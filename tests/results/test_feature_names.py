"""Names of features: what is taken, what is refused, and where they go."""

import json

import numpy as np
import pytest

from ribp.errors import InputError
from ribp.results import feature_names
from ribp.results.feature_names import all_names, carried, changed, from_text, to_text

HOSTILE = ["", "  ", "a\nb", "a\x1b[31mred", "a\u202eb", "a\0", "x" * 101, None, 3]


def test_names_by_number_or_in_order():
    assert all_names({}, 2) == ["feature0", "feature1"]
    assert changed({}, {1: " loud C "}, 3) == {1: "loud C"}
    assert changed({1: "loud C"}, {1: "feature1", 0: "a"}, 3) == {0: "a"}
    assert changed({2: "z"}, ["a", "b", "feature2"], 3) == {0: "a", 1: "b"}
    assert changed({}, {np.int64(0): "a"}, 1) == {0: "a"}


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_names_that_cannot_be_shown(name):
    with pytest.raises(InputError, match="names must be texts of 1 to 100 characters"):
        changed({}, {0: name}, 2)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({2: "a"}, "features from 0 to 1"),
        ({-1: "a"}, "features from 0 to 1"),
        ({"0": "a"}, "features from 0 to 1"),
        ({0: "a", 1: "a"}, "must differ"),
        ({0: "feature1"}, "must differ"),
        (["a"], "must be 2, one a feature"),
        ("ab", "must be a list or a mapping"),
    ],
)
def test_names_that_do_not_suit(names, message):
    with pytest.raises(InputError, match=message):
        changed({}, names, 2)


def test_names_are_stored_as_text():
    names = {0: "loud C", 3: "<b>=1+1"}
    assert from_text(to_text(names)) == names
    assert from_text(None) == {}
    for wrong in ("{", "[]", '{"a": "b"}', '{"0": ""}', json.dumps({"0": 3})):
        with pytest.raises(InputError, match="feature_names must be names"):
            from_text(wrong)


def test_features_that_are_the_same_keep_their_names():
    rng = np.random.default_rng(0)
    rows = rng.random((50, 3)) < 0.4
    before, after = rows.astype(float), rows[:, [2, 0, 1]].astype(float)
    assert carried({0: "a", 2: "c"}, before, after) == {1: "a", 0: "c"}
    after[:, 1] = rng.random(50) < 0.4  # another feature in the place of a
    assert carried({0: "a", 2: "c"}, before, after) == {0: "c"}
    assert feature_names.carried({}, before, after) == {}
