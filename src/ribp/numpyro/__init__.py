"""The law of a row for models written in NumPyro, with a step that samples rows beside NUTS.

An extra: ``pip install 'ribp[numpyro]'``. `RestrictedBernoulli` is `ribp.RestrictedBernoulli` as a
NumPyro distribution (the mixture), and `row_kernel` a block for NumPyro's `Gibbs`.
"""

try:
    import numpyro  # noqa: F401
except ImportError as error:
    raise ImportError(
        "ribp.numpyro needs NumPyro and JAX. Install them with: pip install 'ribp[numpyro]'."
    ) from error

from ribp.numpyro.row_kernel import row_kernel
from ribp.numpyro.row_law import RestrictedBernoulli

__all__ = ["RestrictedBernoulli", "row_kernel"]
