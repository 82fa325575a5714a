"""Shared settings: property tests are reproducible and have no deadline (kernels compile).

Linear algebra stays on one thread, as in fits: matrices are small, and workers share the cores.
"""

import numpy as np  # noqa: F401  (loads a library that is to be limited)
import scipy.linalg  # noqa: F401  (the same)
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

settings.register_profile(
    "ribp", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ribp")
threadpool_limits(limits=1, user_api="blas")
