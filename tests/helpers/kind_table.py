"""A small table with columns of every kind, for sums over its rows."""

import numpy as np

from ribp.kernels.kind_terms import LEVELS
from tests.helpers.kind_cases import KINDS, VALUES, table

NAMES = [*KINDS, "ordinal", "binary"]
LAW = table(NAMES)
PLACES = LAW.places
N = 7
RNG = np.random.default_rng(5)
ROWS = RNG.integers(0, 2, (N, 3)).astype(np.int8)
GIVEN = LAW.draw_prior(RNG, 3, len(NAMES))
X = np.array(
    [
        [VALUES[name][k] for name, k in zip(NAMES, line, strict=True)]
        for line in [[RNG.integers(len(VALUES[name])) for name in NAMES] for _ in range(N)]
    ]
)
OWN = RNG.gamma(2.0, 0.5, N)
SEEN = {"all": np.ones(X.shape, bool), "most": RNG.random(X.shape) < 0.7}
COLUMNS = PLACES.columns(GIVEN.own)
LEVEL = np.where(COLUMNS.form == LEVELS, 1, 0)
