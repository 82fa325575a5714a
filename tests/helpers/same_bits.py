"""Comparisons bit for bit: of states, of what chains recorded, of results."""

import numpy as np


def assert_same_states(first, second):
    """Compare two states, or any tuples of tuples and arrays."""
    for one, other in zip(first, second, strict=True):
        if isinstance(one, tuple):
            assert_same_states(one, other)
        else:
            np.testing.assert_array_equal(one, other)


def assert_same_chains(first, second):
    """Compare what two chains recorded, and its types."""
    for one, other in zip(first.draws, second.draws, strict=True):
        assert len(one) == len(other)
        for here, there in zip(one, other, strict=True):
            assert here.keys() == there.keys()
            for key in here:
                np.testing.assert_array_equal(here[key], there[key])
                assert np.asarray(here[key]).dtype == np.asarray(there[key]).dtype


def assert_same_results(one, other):
    """Compare the draws of two results."""
    for group in ("posterior", "features", "warmup"):
        here, there = (r.tree.children[group].dataset for r in (one, other))
        assert set(here) == set(there)
        for name in here:
            np.testing.assert_array_equal(here[name].to_numpy(), there[name].to_numpy(), name)
