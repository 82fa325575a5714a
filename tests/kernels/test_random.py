"""Counter-based random numbers: published vectors, keys, range and uniformity."""

import numpy as np
import pytest
from scipy import stats

from ribp.kernels.random import philox, uniform_pair
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates

# Known answers of Philox-4x32-10 from its authors: counter, key, result.
VECTORS = [
    ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS)
def test_published_vectors(counter, key, expected):
    words = philox(*(np.uint64(value) for value in counter + key))
    assert [int(word) for word in words] == expected


def test_every_part_of_the_key_matters():
    base = (5, 6, 7, 8)
    seen = {uniform_pair(*base)}
    for part in range(4):
        for change in (1, 2**31):
            changed = list(base)
            changed[part] += change
            seen.add(uniform_pair(*changed))
    seen.add(uniform_pair(5, 6, 7 + 2**40, 8))
    seen.add(uniform_pair(np.uint64(5 + 2**40), 6, 7, 8))
    assert len(seen) == 11


def test_uniform_and_unrelated():
    def p_values(n, seed, *, twice=False):
        pairs = np.array([uniform_pair(np.uint64(seed), 2, row, 0) for row in range(n)])
        assert (pairs > 0).all()
        assert (pairs < 1).all()
        one, other = (pairs[:, 0], pairs[:, 0] if twice else pairs[:, 1])
        products = [(one - 0.5) * (other - 0.5), (one[1:] - 0.5) * (one[:-1] - 0.5)]
        uniform = stats.kstest(pairs.ravel(), "uniform").pvalue
        return [uniform, *(mean_p_value(product, 0.0) for product in products)]

    assert holds(p_values, replicates(2000))
    assert is_caught(lambda n, seed: p_values(n, seed, twice=True), 2000)
