"""One sweep over the rows of arrays, given the features: block by block, as a row store does it."""

import numpy as np

from ribp.blocks import sum_blocks
from ribp.likelihoods.data import Data
from ribp.likelihoods.poisson_sweeps import poisson_work
from ribp.likelihoods.row_sweeps import RowPrior, gaussian_work


def sweep_gaussian(
    seed, number, data, observed, rows, features, offset, noise_scale, theta, tables, which, whole,
    *, n_threads=1, **options,
):  # fmt: skip
    """Return new rows of x_n ~ N(offset + z_n A, diag(s^2)), and their sums."""
    prior = RowPrior(theta, tables, whole, np.bincount(which, minlength=len(tables)))
    work = gaussian_work(seed, number, features, offset, noise_scale, prior, **options)
    return _swept(work, data, observed, which, rows, n_threads)


def sweep_poisson(
    seed, number, data, observed, rows, features, offset, theta, tables, which, whole,
    *, n_threads=1, **options,
):  # fmt: skip
    """Return new rows of x_nd ~ Poisson(offset_d + sum_i z_ni A_id), and how their counts split."""
    prior = RowPrior(theta, tables, whole, np.bincount(which, minlength=len(tables)))
    work = poisson_work(seed, number, features, offset, prior, **options)
    return _swept(work, data, observed, which, rows, n_threads)


def _swept(work, data, observed, which, rows, n_threads):
    new = rows.copy()

    def block(at):
        return work(at.start, Data(data, observed).rows(at), which[at], new[at])

    return new, sum_blocks(block, len(rows), n_threads, block(slice(0, 0)))
