"""Terms of a row: they add up to the laws of the kinds."""

import numpy as np
import pytest

from ribp.kernels import kind_terms as kernel
from tests.helpers.kind_cases import KINDS, VALUES, table

LAW = table(list(KINDS))
X = np.array([VALUES[name][1] for name in KINDS])
OWN = np.array([2.5])
SEEN = {"all": np.ones(8, bool), "some": np.arange(8) % 3 > 0, "none": np.zeros(8, bool)}


def terms_of(x, seen):
    terms = kernel.new_terms(8)
    terms.real[:] = 9.0  # another row was there before
    columns = LAW.places.columns(LAW.places.start)
    kernel.fill_terms(LAW.places.numbers(x[None])[0], seen, np.log(OWN[0]), *columns, *terms)
    return terms


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("value", range(4))
def test_terms_add_up_to_the_laws_but_for_a_constant(value, seen):
    rng = np.random.default_rng(0)
    x = np.array([VALUES[name][value % len(VALUES[name])] for name in KINDS])
    mask = SEEN[seen]
    terms = terms_of(x, np.zeros(0, bool) if mask.all() else mask)
    given = LAW.first_guess(None, 1)
    found, expected = [], []
    for _ in range(4):
        eta = rng.normal(0, 2, LAW.places.n_latent)
        found.append(kernel.log_likelihood(eta, *terms, np.empty(eta.size)))
        expected.append(LAW.log_density(x[None], LAW.exposed(eta[None], OWN), given)[0][mask].sum())
    np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=1e-12)


def test_eta_is_a_sum_of_features():
    rng = np.random.default_rng(0)
    features, background, eta = rng.normal(size=(3, 4)), rng.normal(size=4), np.empty(4)
    z = np.array([1, 0, 1], np.int8)
    kernel.fill_eta(z, features, background, eta)
    np.testing.assert_allclose(eta, background + features[0] + features[2])


@pytest.mark.parametrize("v", [-800.0, -3.0, 0.0, 2.0, 900.0])
def test_functions_of_one_number(v):
    p, q = kernel.share_of(v)
    assert p + q == pytest.approx(1.0)
    assert kernel.softplus(v) == pytest.approx(np.logaddexp(0.0, v))
    assert 0.0 < kernel.bounded_exp(v) < np.inf or v == -800.0
