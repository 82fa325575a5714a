"""The row law on which steps as printed are compared with the right ones."""

import numpy as np

from ribp import counts

THETA = np.array([0.8, 0.0, -0.4, -1.4, -2.2])
LAW = counts.table([0.05, 0.5, 0.05, 0.2, 0.1, 0.1])
CODE = 1 << np.arange(5)
