"""Names that mean harm pass through files and terminals as what they are: text."""

import csv

import numpy as np
import pytest

from tests.helpers.hostile_names import hostile_names

pytestmark = [pytest.mark.jit, pytest.mark.usefixtures("short_searches")]

ROWS, COLUMNS = hostile_names(200), hostile_names(40)[20:]
QUICK = ["--chains", "1", "--warmup", "3", "--draws", "6", "--max-features", "4", "--seed", "1"]


@pytest.fixture
def table(tmp_path):
    """Write 200 rows with such names, also of labels and columns."""
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(0, 4, 200)] @ rng.normal(0, 3, (4, 20)) + rng.normal(size=(200, 20))
    path = tmp_path / "hostile.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["=who", "-label", *COLUMNS])
        writer.writerows(
            [name, name[::-1], *map("{:.3f}".format, x)] for name, x in zip(ROWS, X, strict=True)
        )
    return path


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_two_hundred_of_them_through_every_command(ribp, table, tmp_path):
    run, rows, features = (tmp_path / name for name in ("run", "rows.csv", "features.csv"))
    choice = ["--id", "=who", "--label", "-label", "--counts", "exactly(1)"]
    said = []
    for words in (
        ["fit", table, *choice, "--out", run, *QUICK],
        ["name", run, "0==1+1", "1=<b>@bold</b>"],
        ["summary", run],
        ["features", run, "--out", features],
        ["transform", run, table, "--decode", "--out", rows],
        ["report", run],
        ["fit", table, *choice, "--exclude", COLUMNS[6], "--out", tmp_path / "other", *QUICK],
        ["fit", table, "--counts", f"column:{ROWS[6]}", "--out", tmp_path / "no"],
    ):
        code, out, err = ribp(*words)
        said += [out, err]
        assert code == (1 if words[-1] == tmp_path / "no" else 0), err
    assert all(one.isprintable() or one in "\n\t" for text in said for one in text)
    assert [line[0] for line in read(rows)[1:]] == [name.strip() for name in ROWS]
    assert [line[1] for line in read(rows)[1:]] == [name[::-1].strip() for name in ROWS]
    assert {line[1] for line in read(features)[1:]} == {name.strip() for name in COLUMNS}
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.count("<script>") == 1
    assert "<img src=x" not in page
    assert not {"\x1b", "\u202e"} & set(page)
