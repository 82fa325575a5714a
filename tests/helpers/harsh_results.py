"""Results at the edge of what can be shown."""

import numpy as np

from ribp.likelihoods import LinearGaussian, PoissonCounts
from tests.helpers.plot_cases import made, popular_rows

RNG = np.random.default_rng(0)
NAMES = [
    "price_$", "<b>goal</b>", "$x^2$ and $y_1$", "_hidden", "a very long name " * 20,
    "\n\ttab", "音楽🎹", "", r"back\slash $\frac{", "%s {} %",
]  # fmt: skip


def case(rows, features, dims, used=None, **options):
    truth = popular_rows(RNG, rows, features, used)
    return made(truth, RNG.normal(0.0, 3.0, (features, dims)), **options)


def other_modes():
    truth = popular_rows(RNG, 40, 5, 4)
    swapped = truth.copy()
    swapped[:20, :2] = swapped[:20, 1::-1]
    chains = [truth, swapped, truth, truth[RNG.permutation(40)]]
    return made(truth, RNG.normal(0.0, 3.0, (5, 6)), rows_of_chain=chains)


CASES = {
    "one feature": lambda: case(20, 1, 5, laws="uniform(0, 1)"),
    "one column": lambda: case(20, 3, 1),
    "one row": lambda: case(1, 3, 4, flips=0.0),
    "200 features": lambda: case(120, 200, 3, flips=0.001, n_draws=2, laws="uniform(0, 9)"),
    "5000 columns": lambda: case(20, 3, 5000, n_draws=4),
    "features nobody has": lambda: case(20, 4, 5, 0, constant=True),
    "one chain, shared noise": lambda: case(
        20, 3, 5, rows_of_chain=[popular_rows(RNG, 20, 3)], likelihood=LinearGaussian(shared=True)
    ),
    "one draw": lambda: case(20, 3, 5, n_draws=1),
    "constant traces": lambda: case(20, 3, 5, constant=True),
    "other modes": other_modes,
    "names": lambda: case(
        20, 3, len(NAMES), dim_names=NAMES, row_names=[NAMES[i % 10] for i in range(20)]
    ),
    "poisson": lambda: case(20, 3, 5, likelihood=PoissonCounts()),
    "buffet": lambda: case(20, 3, 5, laws=None),
    "empty buffet": lambda: case(20, 0, 5, laws=None),
    "many chains": lambda: case(20, 3, 5, n_draws=5, rows_of_chain=[popular_rows(RNG, 20, 3)] * 12),
}
