"""What the tests of count laws share: a goodness-of-fit test, and laws of every kind."""

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from ribp import counts
from ribp.testing.goodness import frequencies_p_value


def counts_p_value(draws, law):
    """Return the p-value of draws that come from a count law."""
    k_max = int(draws.max())
    return frequencies_p_value(
        np.append(np.bincount(draws), 0), np.append(law.probs(k_max), law.tail(k_max))
    )


def dirichlet_p_values(tables, shape):
    """Return p-values of each entry of tables having its law under Dirichlet(shape).

    Entries of shape zero must be zero.
    """
    if tables[:, shape == 0].any():
        return [0.0]
    rest = shape.sum() - shape
    return [
        stats.kstest(tables[:, k], stats.beta(shape[k], rest[k]).cdf).pvalue
        for k in np.flatnonzero(shape)
    ]


_small = st.integers(0, 40)
_real = st.floats(0, 50, allow_subnormal=False)
_weights = st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(lambda p: sum(p) > 0.1)
_unbounded = st.one_of(
    st.builds(counts.poisson, _real),
    st.builds(counts.negative_binomial, _real, st.floats(1e-6, 100)),
)

simple_laws = st.one_of(
    _unbounded,
    st.builds(counts.exactly, st.one_of(_small, st.integers(0, 2**63 - 1))),
    st.builds(lambda lo, more: counts.uniform(lo, lo + more), _small, _small),
    st.builds(counts.window, _real, st.floats(0.5, 9)),
    st.builds(lambda p: counts.table(np.array(p) / sum(p)), _weights),
    st.builds(counts.empirical, st.lists(_small, min_size=1)),
    st.builds(
        lambda law, lo, more: counts.truncated(law, lo * (law.mean > 0), more and lo + more),
        _unbounded,
        _small,
        st.one_of(st.none(), st.integers(1, 40)),
    ),
)


def _mixture(parts):
    total = sum(weight for weight, _ in parts)
    return counts.mixture([(weight / total, law) for weight, law in parts])


mixtures = st.lists(st.tuples(st.floats(1e-9, 1), simple_laws), min_size=1, max_size=4).map(
    _mixture
)
nested = st.builds(lambda a, b: counts.mixture([(0.3, a), (0.7, b)]), mixtures, simple_laws)
cut = nested.map(lambda law: counts.truncated(law, law.smallest + (law.largest is None)))
learned = st.lists(st.floats(0, 1e6), min_size=1, max_size=8).filter(any).map(counts.learned)

all_laws = st.one_of(simple_laws, mixtures, nested, cut, learned)
