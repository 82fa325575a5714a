"""The truncation rules: what they hold, and what they refuse."""

import dataclasses

import pytest

from ribp.errors import InputError
from ribp.measures import Certified, SizeOrdered, WeakLimit


@pytest.mark.parametrize("rule", [WeakLimit, SizeOrdered])
def test_number_of_features(rule):
    assert rule(20).n_features == 20
    assert rule(n_features=20.0) == rule(20)
    assert isinstance(rule(20.0).n_features, int)
    for wrong in (0, -3, 2.5, "many", None):
        with pytest.raises(InputError, match="n_features must be") as caught:
            rule(wrong)
        assert caught.value.argument == "n_features"


def test_certified_defaults_and_order():
    assert Certified() == Certified(1e-12, 100_000)
    assert Certified(1e-6, max_atoms=500).max_atoms == 500


@pytest.mark.parametrize("tol", [0.0, 1.0, -1e-3, float("nan"), "small"])
def test_certified_refuses_a_tolerance_that_is_no_probability(tol):
    with pytest.raises(InputError, match="tol must be"):
        Certified(tol)


def test_certified_refuses_no_atoms():
    with pytest.raises(InputError, match="max_atoms must be at least 1, but got 0"):
        Certified(max_atoms=0)


@pytest.mark.parametrize("rule", [WeakLimit(3), SizeOrdered(3), Certified()])
def test_rules_are_values(rule):
    assert hash(rule) == hash(dataclasses.replace(rule))
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.n_features = 4
