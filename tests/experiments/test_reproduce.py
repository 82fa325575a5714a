"""`ribp reproduce`, the registry, and what experiments share."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from experiments import quick, registry, shared
from experiments.one_inflated import run as one_inflated
from ribp.cli import reproduce
from tests.helpers import ROOT

pytestmark = pytest.mark.jit

PLAIN = ["recovery", "variational", "toy_features", "one_inflated", "printed_gibbs"]
FILES = {"results.json", "scores.png", "table.md"}


@pytest.fixture
def two(monkeypatch):
    """Put two experiments in place of all, of which one needs data; return what was run."""
    known = {
        "plain": registry.Experiment("Needs nothing", 1),
        "hungry": registry.Experiment("Needs a file", 2, ("food.npz",)),
    }
    asked = []

    def run(name, arguments):
        asked.append((name, arguments))
        out = Path(arguments[arguments.index("--out") + 1])
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.json").write_text("{}")

    monkeypatch.setattr(registry, "EXPERIMENTS", known)
    monkeypatch.setattr(registry, "run", run)
    monkeypatch.delenv("RIBP_DATA", raising=False)
    return asked


def test_every_experiment_is_complete():
    folders = {path.parent.name for path in (ROOT / "experiments").glob("*/run.py")}
    assert folders == set(registry.EXPERIMENTS)
    for name, experiment in registry.EXPERIMENTS.items():
        folder = ROOT / "experiments" / name
        assert "python -m experiments" in (folder / "README.md").read_text()
        stored = json.loads((folder / "results" / "results.json").read_text())
        rounded = stored["timing"]["minutes"] / experiment.minutes  # for a user to plan with
        assert 0.7 < rounded < 1.3
        for picture in folder.glob("results/*"):
            most = 250_000 if picture.suffix == ".json" else 150_000  # all ranks of a study
            assert picture.stat().st_size < most


@pytest.mark.parametrize("name", PLAIN)
def test_pages_show_every_picture_and_stored_results_say_what_made_them(name):
    page = (ROOT / "docs" / "evaluation" / f"{name}.md").read_text()
    results = ROOT / "experiments" / name / "results"
    for picture in results.glob("*.png"):
        assert f"../../experiments/{name}/results/{picture.name}" in page
    stored = json.loads((results / "results.json").read_text())
    always = ["quick", "seeds", "setting", "versions", "numbers", "timing"]
    assert [name for name in stored if name not in ("older", "verified")] == always
    assert not stored["quick"]
    assert set(stored["versions"]) == {"python", "numpy", "scipy", "numba", "ribp"}
    assert "seconds" not in json.dumps(stored["numbers"])
    assert stored["timing"]["minutes"] > 0


@pytest.mark.parametrize("name", PLAIN)
def test_tables_are_those_of_the_stored_results_and_stand_on_the_page(name):
    page = (ROOT / "docs" / "evaluation" / f"{name}.md").read_text()
    results = ROOT / "experiments" / name / "results"
    stored = json.loads((results / "results.json").read_text())
    run = importlib.import_module(f"experiments.{name}.run")
    made = run.tables(stored["numbers"])
    if hasattr(run, "timed"):
        made |= run.timed(stored["timing"])
    assert {path.name for path in results.glob("*.md")} == set(made)
    for file, lines in made.items():
        assert (results / file).read_text() == "\n".join(lines).rstrip() + "\n"
        assert f"```{{include}} ../../experiments/{name}/results/{file}\n```" in page


MADE_HERE = {"kinds": ["--part", "simulated", "--data", "."], "strengths": [], "tetraploids": []}


@pytest.mark.parametrize("name", MADE_HERE)
def test_a_study_that_is_over_writes_the_stored_tables_again(name, tmp_path, monkeypatch):
    results = ROOT / "experiments" / name / "results"
    stored = (results / "results.json").read_text()
    (tmp_path / "results.json").write_text(stored)
    monkeypatch.setattr(shared, "versions", lambda: json.loads(stored)["versions"])
    run = importlib.import_module(f"experiments.{name}.run")
    run.main(["--out", str(tmp_path), "--minutes", "-1", *MADE_HERE[name]])
    page = (ROOT / "docs" / "evaluation" / f"{name}.md").read_text()
    for table in results.glob("*.md"):
        assert (tmp_path / table.name).read_text() == table.read_text()
        assert f"experiments/{name}/results/{table.name}\n```" in page


def test_list(ribp):
    code, out, _ = ribp("reproduce", "--list")
    assert code == 0
    for name, experiment in registry.EXPERIMENTS.items():
        assert name in out
        assert experiment.title in out


def test_names_that_are_wrong(ribp):
    code, _, err = ribp("reproduce", "recovry")
    assert code == 2
    assert "Did you mean 'recovery'?" in err
    code, _, err = ribp("reproduce")
    assert code == 2
    assert "simulation" in err


def test_one_experiment(ribp, two, tmp_path):
    code, out, _ = ribp("reproduce", "plain", "--quick", "--out", tmp_path)
    assert code == 0
    assert two == [("plain", ["--out", str(tmp_path / "plain"), "--quick"])]
    assert "[1/1] plain: Needs nothing" in out
    assert "results.json" in out.splitlines()[-1]


def test_data_that_are_missing(ribp, two, tmp_path, monkeypatch):
    code, _, err = ribp("reproduce", "hungry", "--out", tmp_path / "a")
    assert code == 2
    assert "food.npz" in err
    assert "RIBP_DATA" in err
    code, out, _ = ribp("reproduce", "all", "--out", tmp_path / "b", "--data", tmp_path)
    assert code == 0
    assert [name for name, _ in two] == ["plain"]
    assert "skipped  no food.npz" in out
    (tmp_path / "food.npz").write_bytes(b"")
    monkeypatch.setenv("RIBP_DATA", str(tmp_path))
    code, out, _ = ribp("reproduce", "all", "--out", tmp_path / "c")
    assert code == 0
    assert two[-1] == ("hungry", ["--out", str(tmp_path / "c/hungry"), "--data", str(tmp_path)])


@pytest.mark.parametrize("error", [ValueError("no food"), SystemExit(0)], ids=["error", "exit"])
def test_one_that_fails_does_not_stop_the_others(ribp, two, tmp_path, monkeypatch, error):
    run = registry.run
    (tmp_path / "food.npz").write_bytes(b"")

    def fails(name, arguments):
        if name == "plain":
            raise error
        run(name, arguments)

    monkeypatch.setattr(registry, "run", fails)
    given = ("--data", tmp_path, "--out", tmp_path / "out")
    code, out, _ = ribp("reproduce", "all", *given)
    assert code == 1
    assert [name for name, _ in two] == ["hungry"]
    report, said = tmp_path / "out" / "plain" / "error.txt", f"{type(error).__name__}: {error}"
    assert f"failed  {said} ({report})" in out
    assert "results.json" in out
    assert out.endswith("\nFailed: plain\n")
    assert said in report.read_text()
    assert ribp("reproduce", "plain", *given)[0] == 1
    monkeypatch.setattr(registry, "run", run)
    assert ribp("reproduce", "plain", *given)[0] == 0
    assert not report.exists()


def test_searches_are_short_in_quick_runs_only(monkeypatch):
    def values():
        return [getattr(module, name) for module, name, _ in quick.SHORT]

    usual, found = values(), []
    monkeypatch.setattr(one_inflated, "main", lambda arguments: found.append(values()))
    for arguments in (["--quick"], []):
        registry.run("one_inflated", arguments)
        assert values() == usual
    assert found == [[short for *_, short in quick.SHORT], usual]


def test_without_the_source(ribp, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "__file__", str(tmp_path / "lib/ribp/cli/reproduce.py"))
    monkeypatch.chdir(tmp_path)
    code, _, err = ribp("reproduce", "--list")
    assert code == 1
    assert "Get the source of ribp" in err
    monkeypatch.chdir(ROOT)
    assert ribp("reproduce", "--list")[0] == 0


@pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
def test_a_run_gives_the_same_numbers_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(one_inflated, "QUICK", one_inflated.Scale((3.0,), 2, 40, 6))
    found = []
    for name in ("a", "b"):
        one_inflated.main(["--quick", "--out", str(tmp_path / name)])
        found.append(json.loads((tmp_path / name / "results.json").read_text()))
        assert {path.name for path in (tmp_path / name).iterdir()} == FILES
    first, second = found
    assert "| R-IBP against IBP |" in (tmp_path / "a" / "table.md").read_text()
    assert first["numbers"] == second["numbers"]
    assert len(first["numbers"]["runs"]["3"]["R-IBP"]) == 2
    assert "lambda 3, run 1" in capsys.readouterr().out


# What experiments share


def test_options(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("RIBP_DATA", raising=False)
    assert shared.parse("x", ["--out", str(tmp_path / "new")]).out.is_dir()
    with pytest.raises(SystemExit):
        shared.parse("x", ["--out", str(tmp_path)], data=True)
    assert "--data" in capsys.readouterr().err
    monkeypatch.setenv("RIBP_DATA", str(tmp_path))
    assert shared.parse("x", ["--out", str(tmp_path)], data=True).data == tmp_path
    given = shared.parse("x", ["--out", str(tmp_path), "--data", "there"], data=True)
    assert given.data == Path("there")


def test_results_are_plain_and_short(tmp_path):
    options = shared.parse("x", ["--out", str(tmp_path), "--quick"])
    numbers = {"a": np.array([1 / 3, np.nan]), "b": np.int64(4), 3: (True, "text", 2.0)}
    shared.write_results(
        options, seeds=[0], setting={"n": 1}, numbers=numbers, timing={"minutes": 0.1}
    )
    text = (tmp_path / "results.json").read_text()
    assert json.loads(text)["numbers"] == {"a": [0.333333, None], "b": 4, "3": [True, "text", 2.0]}
    assert '"a": [ 0.333333, null ]' in text
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
