"""Every parameter of the estimator is an option: names, defaults, and what they become."""

import inspect
import json
import re

import numpy as np
import pytest
from typer.main import get_command

import ribp
from ribp.cli.main import app
from ribp.cli.parameters import ELSEWHERE, METHODS, PARAMETERS, as_options, estimator_arguments

pytestmark = pytest.mark.jit

QUICK = ["--chains", "1", "--warmup", "5", "--draws", "10", "--seed", "1", "--max-features", "6"]


def test_every_parameter_is_an_option_with_the_same_default():
    parameters = inspect.signature(ribp.RestrictedIBP).parameters
    assert set(parameters) == {*PARAMETERS, *ELSEWHERE}
    for name, one in PARAMETERS.items():
        assert one.default == parameters[name].default, name
        assert type(one.default) is type(parameters[name].default), name


def test_the_command_itself_has_an_option_for_every_parameter_of_both_estimators():
    options = {
        flag for one in get_command(app).commands["fit"].params for flag in (*one.opts, one.name)
    }
    for estimator in (ribp.RestrictedIBP, ribp.IndianBuffet):
        for name in inspect.signature(estimator).parameters:
            assert ELSEWHERE.get(name) in options or {name, PARAMETERS[name].flag} <= options, name
    assert set(METHODS) == set(ribp.RestrictedIBP._METHODS)


def test_options_become_the_defaults_of_the_estimator():
    arguments = estimator_arguments({})
    assert arguments == {name: one.default for name, one in PARAMETERS.items()}
    assert as_options(arguments) == []


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_features", "12", 12),
        ("mass", "2.5", 2.5),
        ("mass", "learn", "learn"),
        ("concentration", "learn", "learn"),
        ("background", "on", True),
        ("background", "off", False),
        ("progress", "off", False),
        ("noise", "shared", "shared"),
        ("n_jobs", -1, -1),
    ],
)
def test_what_options_become(name, text, value):
    found = estimator_arguments({name: text})[name]
    assert (found, type(found)) == (value, type(value))
    written = as_options({name: value})
    assert written == (
        [] if value == PARAMETERS[name].default else [PARAMETERS[name].flag, str(text)]
    )


def test_a_likelihood_that_nobody_knows_is_told_before_data_are_read(ribp, tmp_path):
    for text in ("noisy-or", "auto", "real", "ordinal(low, high)"):
        assert estimator_arguments({"likelihood": text})["likelihood"] == text
    for text, near in (("catagorical", "Did you mean 'categorical'?"), ("kinds", "Choose one")):
        words = ["--likelihood", text, "--out", tmp_path / "run"]
        code, _, wrong = ribp("fit", tmp_path / "none.csv", *words)
        assert code == 2
        assert "--likelihood must be one of gaussian, poisson, noisy-or, auto, real, " in wrong
        assert near in wrong


def test_the_help_has_every_option_and_six_to_begin_with(ribp):
    code, text, _ = ribp("fit", "--help")
    assert code == 0
    flags = [one.flag for one in PARAMETERS.values()]
    for flag in [*flags, *ELSEWHERE.values(), "--columns", "--exclude", "--id", "--label"]:
        assert f" {flag} " in text, flag
    first = text.split("Options ─")[1].split("╭")[0]
    assert sum(" --" in line[:8] for line in first.splitlines()) == 6  # with --help
    command = next(one for one in app.registered_commands if one.callback.__name__ == "compare")
    assert inspect.signature(command.callback).parameters["n_chains"].default == 2


def test_the_help_names_no_options_that_a_command_does_not_have(ribp):
    for name, command in get_command(app).commands.items():
        flags = {flag for one in command.params for flag in one.opts} | {"--help"}
        texts = " ".join(getattr(one, "help", None) or "" for one in command.params)
        assert set(re.findall(r"--[a-z][a-z-]*", texts)) <= flags, name


@pytest.fixture
def lab(tmp_path):
    """Write a table with semicolons and decimal commas, a label, and counts with gaps."""
    rng = np.random.default_rng(0)
    ones = rng.integers(1, 3, 40)
    rows = np.array([rng.permutation(np.arange(3) < k) for k in ones])
    X = rows @ rng.normal(0, 3, (3, 5)) + 0.3 * rng.normal(size=(40, 5))
    lines = ["sample;site;" + ";".join(f"m{j}" for j in range(5)) + ";k;comment"]
    for n, (x, k) in enumerate(zip(X, ones, strict=True)):
        numbers = ";".join(f"{v:.4f}".replace(".", ",") for v in x)
        lines.append(f"s{n};{'AB'[n % 2]};{numbers};{'' if n % 5 == 0 else k};fine")
    path = tmp_path / "lab.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_lab_table(ribp, lab, tmp_path):
    run = tmp_path / "run"
    choice = ["--id", "sample", "--label", "site", "--exclude", "comment", "--counts", "column:k"]
    code, _, err = ribp("fit", lab, "--id", "sample", "--counts", "column:k", "--out", run, *QUICK)
    assert code == 1
    assert "--label site,comment" in err
    code, out, err = ribp("fit", lab, *choice, "--out", run, *QUICK, "--noise", "shared",
                          "--mass", "2", "--jobs", "-1", "--json")  # fmt: skip
    assert code == 0, err
    settings = json.loads(out)["settings"]
    assert (settings["n_rows"], settings["n_dims"]) == (40, 5)
    assert any(law.startswith("learned") for law in settings["laws"])
    config = json.loads((run / "config.json").read_text())
    assert config["estimator"]["mass"] == 2
    assert ribp("report", run)[0] == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "--label site" in page
    assert "--noise shared" in page
    assert ribp("resume", run, "--draws", "12")[0] == 0

    header, *lines = lab.read_text().splitlines()
    turned = tmp_path / "turned.csv"  # other order of columns, other columns too
    order = [8, 7, 6, 5, 4, 3, 2, 1, 0]
    turned.write_text("\n".join(";".join(line.split(";")[j] for j in order)
                                for line in (header, *lines)))  # fmt: skip
    for path in (lab, turned):
        out = tmp_path / f"{path.stem}-rows.csv"
        arguments = ["--counts", "column:k", "--decode", "--out", out]
        assert ribp("transform", run, path, *arguments)[0] == 0
    one, two = (tmp_path / f"{name}-rows.csv" for name in ("lab", "turned"))
    assert one.read_text() == two.read_text()
    assert one.read_text().splitlines()[1].startswith("s0,A,")


def test_known_features_from_a_file(ribp, lab, tmp_path):
    known = tmp_path / "known.csv"
    known.write_text("m4,m3,m2,m1,m0\n4,3,2,1,0.5\n")
    choice = ["--columns", "m*", "--id", "sample", "--fixed-components", known, "--method",
              "gibbs-rows"]  # fmt: skip
    code, _, err = ribp("fit", lab, *choice, "--out", tmp_path / "run", *QUICK)
    assert code == 0, err
    model = __import__("ribp").load(tmp_path / "run" / "result.nc")
    assert model.components_[0].tolist() == [0.5, 1, 2, 3, 4]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["estimator"]["fixed_components"] == [[0.5, 1, 2, 3, 4]]
    assert ribp("resume", tmp_path / "run", "--draws", "12")[0] == 0
    code, out, err = ribp("compare", lab, *choice, "--holdout", "0.05", *QUICK, "--json")
    assert code == 0, err
    assert json.loads(out)["models"]["restricted"]["features"] >= 1
