"""Keys for the random numbers of rows: a hash of the seed and of what was observed of a row.

With w_d the 64 bits of entry d, or a NaN's if it is missing,

    h_0 = mix(seed),    h_{d+1} = (h_d xor w_d) p mod 2^64, its upper half folded into its lower,

and the key is mix(h_D). An entry changes h at once, and no later one can undo that: each step is
one to one in h. `mix` is the end of SplitMix64, which spreads every bit over the whole word.
"""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_MISSING = np.uint64(0x7FF8000000000000)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_HALF = np.uint64(32)


@jit
def mix(word):
    """Return another word, a one-to-one function of it that looks like chance."""
    word = (word ^ (word >> _SHIFTS[0])) * _FIRST
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND
    return word ^ (word >> _SHIFTS[2])


@jit
def row_keys(seed, words, observed, keys):
    """Fill the key of every row; `words` are the bits of its entries, shape (rows, dims)."""
    first = mix(seed + _PRIME)
    for n in range(words.shape[0]):
        key = first
        for d in range(words.shape[1]):
            word = words[n, d] if observed[n, d] else _MISSING
            key = (key ^ word) * _PRIME
            key ^= key >> _HALF
        keys[n] = mix(key)
