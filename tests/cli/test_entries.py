"""Entries that count, as a person types them: a fit, its report, decoded rows, refusals."""

import numpy as np
import pytest

from tests.helpers.marks import whatever_is_found

pytestmark = [pytest.mark.jit, whatever_is_found]
SUMS = ["--method", "gibbs-rows", "--entries", "poisson", "--restrict", "sum"]
QUICK = ["--chains", "2", "--warmup", "10", "--draws", "10", "--seed", "1", "--max-features", "6"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.multinomial(3, [0.25] * 4, size=50)
    values = rows @ rng.normal(0, 2, (4, 8)) + 0.2 * rng.normal(size=(50, 8))
    np.save(tmp_path / "x.npy", values)
    return tmp_path / "x.npy"


def test_from_a_fit_to_a_report_and_decoded_rows(ribp, table, tmp_path):
    run, out = tmp_path / "run", tmp_path / "rows.csv"
    code, said, err = ribp(
        "fit", table, "--counts", "exactly(3)", *SUMS, *QUICK, "--holdout", "0.05", "--out", run
    )
    assert code == 0, err
    assert "Held out" in said
    assert ribp("report", run)[0] == 0
    page = (run / "report.html").read_text()
    assert "units a row, on average" in page
    assert "entries that count (poisson, the sum restricted)" in page
    assert ribp("transform", run, table, "--decode", "--out", out)[0] == 0
    lines = out.read_text().splitlines()[1:]
    assert all(sum(map(int, line.split(","))) == 3 for line in lines)


def test_what_cannot_be_is_refused(ribp, table, tmp_path):
    given = ["fit", table, "--counts", "exactly(3)", *QUICK, "--out", tmp_path / "run"]
    code, _, err = ribp(*given, "--restrict", "sum")
    assert code == 2
    assert "restrict" in err
    code, _, err = ribp(*given, "--entries", "poisson")
    assert code == 2
    assert "gibbs-rows" in err
