"""Tables of kinds whose rows have exposures: from data to answers, and refusals."""

import numpy as np
import pandas as pd
import pytest

import ribp
from ribp.errors import InputError
from ribp.likelihoods.data import Data
from ribp.testing.recovery import f1
from tests.helpers.kind_cases import KINDS, table
from tests.helpers.marks import short_of_convergence
from tests.helpers.same_bits import assert_same_results

pytestmark = [pytest.mark.jit, short_of_convergence]
LENGTH = {"n_chains": 2, "n_warmup": 30, "n_draws": 20, "random_state": 0, "progress": False}
N, D = 150, 12
KIND = {f"c{d}": "negbin" if d % 2 else "log-poisson" for d in range(D)} | {"yes": "binary"}
FEW = slice(0, 4)


def visits():
    """Return counts of events in visits of different lengths, and whether something was seen."""
    rng = np.random.default_rng(5)
    rows = np.array([rng.permutation(np.arange(4) < k) for k in rng.integers(1, 3, N)])
    own = np.exp(rng.normal(0.0, 1.0, N))
    eta = 0.5 + rows @ rng.normal(0.0, 1.5, (4, D))
    counted = rng.poisson(own[:, None] * np.exp(eta))
    table = pd.DataFrame(counted, columns=[f"c{d}" for d in range(D)])
    return table.assign(yes=rows[:, 0]), rows, own


X, ROWS, OWN = visits()
COUNTS = ROWS.sum(axis=1)


def model(**settings):
    settings = {"likelihood": KIND, "method": "gibbs-rows", "max_features": 8, **settings}
    return ribp.RestrictedIBP(**settings, **LENGTH)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, counts=COUNTS, exposure=OWN)


def test_rows_are_found_by_their_exposures(fitted):
    assert f1((fitted.row_probs_ > 0.5).astype(np.int8), ROWS) > 0.97
    np.testing.assert_allclose(fitted.exposures_, OWN)
    without = model().fit(X, counts=COUNTS)
    assert fitted.score(X, counts=COUNTS, exposure=OWN) > without.score(X, counts=COUNTS) + 0.2


def test_all_that_takes_rows_takes_their_exposures(fitted, tmp_path):
    given = {"counts": COUNTS[FEW], "exposure": OWN[FEW]}
    np.testing.assert_array_equal(fitted.decode(X[FEW], **given).sum(axis=1), COUNTS[FEW])
    rebuilt = fitted.reconstruct(X[FEW], **given).iloc[:, :D].to_numpy(float)
    shown = X[FEW].iloc[:, :D].to_numpy(float)
    assert np.corrcoef(np.log1p([rebuilt.ravel(), shown.ravel()]))[0, 1] > 0.8
    long = fitted.sample(100, exposure=np.full(100, 100.0), random_state=1).iloc[:, :D].to_numpy()
    assert np.median(long) > 10 * np.median(X.iloc[:, :D])
    fitted.save(tmp_path / "fit.nc")
    again = ribp.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(
        again.transform(X[FEW], **given), fitted.transform(X[FEW], **given)
    )
    assert fitted.result_.judgement.gain.mean > 0.0
    with pytest.raises(InputError, match="exposure"):
        fitted.transform(X[FEW], COUNTS[FEW])


def test_the_unit_of_exposures_does_not_matter(fitted):
    again = model().fit(X, counts=COUNTS, exposure=1024 * OWN)
    assert_same_results(fitted.result_, again.result_)


def test_a_memory_map_gives_the_same_bits(tmp_path):
    counted = X.iloc[:, :D].to_numpy(float)
    np.save(tmp_path / "x.npy", counted)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    both = [
        model(likelihood="negbin").fit(values, counts=COUNTS, exposure=OWN).result_
        for values in (counted, mapped)
    ]
    assert_same_results(*both)


def test_what_cannot_have_exposures_is_refused():
    with pytest.raises(InputError, match="must be a number a row"):
        model().fit(X, counts=COUNTS, exposure="learn")
    with pytest.raises(InputError, match="no column counts events"):
        model(likelihood="binary").fit(X[["yes"]].to_numpy(), counts=COUNTS, exposure=OWN)


@pytest.mark.parametrize("name", ["log-poisson", "negbin"])
def test_columns_alone_know_of_exposures(name):
    """A column whose counts are as large as exposures is well foretold by them."""
    law, rng = table([name], exposure="given"), np.random.default_rng(0)
    own = np.exp(rng.normal(0.0, 1.5, 300))
    values = rng.poisson(20.0 * own)[:, None].astype(float)
    seen = np.zeros((0, 0), bool)
    known, unknown = Data(values, seen, own), Data(values, seen)
    for of in (lambda data: law.column_log_density(data, values), law.left_out_log_density):
        assert of(known).mean() > of(unknown).mean() + 1.0
    alike = Data(values, seen, np.ones(300))
    found = (law.column_log_density(data, values) for data in (alike, unknown))
    np.testing.assert_allclose(*found)
    np.testing.assert_allclose(
        law.left_out_log_density(alike), law.left_out_log_density(unknown), rtol=1e-6
    )
    one = Data(values[:1], seen, own[:1])
    assert np.isnan(law.left_out_log_density(one)).all()
    assert KINDS[name].has_rate
