"""Shared settings: property tests are reproducible and have no deadline (kernels compile)."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ribp", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ribp")
