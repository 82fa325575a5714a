"""Entries that count, and exposures, as a person types them: fits, reports, rows, refusals."""

import json

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


def test_multiplicities_are_compared_with_the_unrestricted_buffet(ribp, table, tmp_path):
    given = ["--counts", "exactly(3)", *SUMS, *QUICK, "--holdout", "0.05"]
    code, said, err = ribp("compare", table, *given, "--json")
    assert code == 0, err
    models = json.loads(said)["models"]
    assert models["restricted"]["log_density"] > models["unrestricted"]["log_density"] - 1.0
    run = tmp_path / "run"
    assert ribp("fit", table, *given, "--out", run)[0] == 0
    code, said, err = ribp("compare", run)
    assert code == 0, err
    assert "unrestricted" in said


def test_what_cannot_be_is_refused(ribp, table, tmp_path):
    given = ["fit", table, "--counts", "exactly(3)", *QUICK, "--out", tmp_path / "run"]
    code, _, err = ribp(*given, "--restrict", "sum")
    assert code == 2
    assert "restrict" in err
    code, _, err = ribp(*given, "--entries", "poisson")
    assert code == 2
    assert "gibbs-rows" in err


COUNTED = ["--method", "gibbs-rows", "--likelihood", "poisson", "--background", "off"]


@pytest.fixture
def words(tmp_path):
    rng = np.random.default_rng(1)
    own = rng.gamma(2.0, 0.5, 40) + 0.2
    rows = np.eye(4)[rng.integers(4, size=40)]
    values = rng.poisson(own[:, None] * (rows @ rng.gamma(0.4, 9.0, (4, 6))))
    names = [f"w{j}" for j in range(6)]
    lines = [",".join(["id", "length", *names])]
    lines += [f"t{n},{own[n]:.6f},{','.join(map(str, values[n]))}" for n in range(40)]
    path = tmp_path / "words.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("exposure", ["column:length", "learn"])
@pytest.mark.parametrize("entries", ["binary", "strengths"])
def test_exposures_from_a_fit_to_a_report_and_decoded_rows(
    ribp, words, tmp_path, exposure, entries
):
    run, out = tmp_path / "run", tmp_path / "rows.csv"
    given = ["--exclude", "length"] if exposure == "learn" else []
    code, said, err = ribp(
        "fit", words, "--counts", "exactly(1)", "--exposure", exposure, "--entries", entries,
        *given, *COUNTED, *QUICK, "--holdout", "0.05", "--out", run,
    )  # fmt: skip
    assert code == 0, err
    assert "Held out" in said
    code, _, err = ribp("report", run)
    assert code == 0, err
    page = (run / "report.html").read_text()
    assert "Exposures of rows" in page
    assert f"--exposure {exposure}" in page
    code, _, err = ribp("transform", run, words, "--decode", "--out", out)
    assert code == 0, err
    assert len(out.read_text().splitlines()) == 41
    code, _, err = ribp("resume", run, "--draws", "12")
    assert code == 0, err


def test_exposures_that_cannot_be_are_refused(ribp, words, tmp_path):
    given = ["fit", words, "--counts", "exactly(1)", *QUICK, "--out", tmp_path / "run"]
    for option in ("length", "column:", "column:a,b", 'column:"a'):
        code, _, err = ribp(*given, *COUNTED, "--exposure", option)
        assert code == 1
        assert "--exposure" in err
    code, _, err = ribp(*given, *COUNTED, "--exposure", "column:w0")
    assert code == 1
    assert "positive number" in err
    assert "line 2" in err
    code, _, err = ribp(*given, *COUNTED, "--exposure", "column:nothing")
    assert code == 1
    assert "nothing" in err
    code, _, err = ribp("compare", words, "--exclude", "length", *COUNTED, *QUICK)
    assert code == 2  # its unrestricted buffet knows no counts
    assert "gaussian" in err
    code, _, err = ribp(*given, "--exposure", "column:length")
    assert code == 1
    assert "poisson" in err
