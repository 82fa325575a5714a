"""The commands as a person types them: what they print, write and refuse, and with which code."""

import inspect
import io
import json
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ribp.testing.goodness import replicates
from ribp.version import __version__
from tests.helpers.marks import whatever_is_found

pytestmark = pytest.mark.jit

QUICK = ["--chains", "2", "--warmup", "20", "--draws", "20", "--seed", "1", "--max-features", "6"]


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """Write a CSV with names of rows, eight columns of data and one of counts."""
    rng = np.random.default_rng(0)
    ones = rng.integers(1, 3, 60)
    rows = np.array([rng.permutation(np.arange(4) < k) for k in ones])
    X = rows @ rng.normal(0, 2, (4, 8)) + 0.3 * rng.normal(size=(60, 8))
    path = tmp_path_factory.mktemp("data") / "data.csv"
    lines = ["id," + ",".join(f"m{i}" for i in range(8)) + ",k"]
    lines += [
        f"p{n}," + ",".join(f"{v:.4f}" for v in x) + f",{k}"
        for n, (x, k) in enumerate(zip(X, ones, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def made(table, tmp_path_factory):
    """Return the folder of a finished run."""
    run = tmp_path_factory.mktemp("runs") / "run"
    command = [sys.executable, "-m", "ribp", "fit", table, "--counts", "column:k", "--out", run]
    done = subprocess.run(
        [*command, "--holdout", "0.05", *QUICK], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Held out" in done.stdout
    return run


@pytest.fixture
def run(made, tmp_path):
    """Return a copy of a finished run."""
    return shutil.copytree(made, tmp_path / "run")


def test_version(ribp):
    code, out, _ = ribp("--version")
    assert code == 0
    assert out == f"ribp {__version__}\n"


def test_summary(ribp, run):
    code, out, _ = ribp("summary", run)
    assert code == 0
    assert "4 in" in out
    assert "Held out" in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = ribp("summary", run, "--json")
    found = json.loads(out)
    assert len(found["features"]) == 4
    assert found["held_out"]["entries"] > 0
    verdict = found["verdict"]
    assert verdict["level"] in ("good", "careful", "bad")
    assert verdict["agree"]["question"] == "Do the chains agree?"
    reasons = verdict["worth"]["reasons"]
    assert f"{found['held_out']['entries']} entries hidden from the fit" in reasons[0]["text"]
    assert found["settings"]["n_draws"] == 20
    assert (run / "log.txt").read_text().count("done") == 1


def test_transform(ribp, run, table, tmp_path):
    out = tmp_path / "rows.csv"
    code, said, _ = ribp("transform", run, table, "--counts", "column:k", "--decode", "--out", out)
    assert (code, said) == (0, f"60 rows, 4 features: {out}\n")
    lines = out.read_text().splitlines()
    assert lines[0] == "id,feature0,feature1,feature2,feature3"
    counts = [int(line.rsplit(",", 1)[1]) for line in table.read_text().splitlines()[1:]]
    assert [sum(map(int, line.split(",")[1:])) for line in lines[1:]] == counts
    code, _, err = ribp("transform", run, table, "--counts", "column:k", "--out", out)
    assert code == 1
    assert "--overwrite" in err
    code, out_json, _ = ribp(
        "transform", run, table, "--counts", "uniform(1, 2)", "--out", tmp_path / "p.npy", "--json"
    )
    assert code == 0  # columns are found by name
    code, out_json, _ = ribp(
        "transform", run, table, "--counts", "column:k", "--out", tmp_path / "p.npy", "--json",
        "--overwrite",
    )  # fmt: skip
    assert json.loads(out_json)["features"] == 4
    assert np.load(tmp_path / "p.npy").shape == (60, 4)


def test_names_and_tables_of_features(ribp, run, table, tmp_path):
    code, out, _ = ribp("name", run, "1=loud C", "3 = <b>|=1+1</b>")
    assert code == 0
    assert "   1  loud C" in out
    code, out, _ = ribp("name", run, "1=", "--json")
    assert json.loads(out)["names"][:2] == ["feature0", "feature1"]
    assert ribp("name", run, "1=loud C")[0] == 0
    for wrong, code in (("loud", 2), ("9=far", 2), ("1=\x1b[31m", 2), ("1=feature0", 2)):
        assert ribp("name", run, wrong)[0] == code
    path = tmp_path / "features.csv"
    code, out, _ = ribp("features", run, "--out", path)
    assert (code, out) == (0, f"4 features, 8 columns: {path}\n")
    lines = path.read_text().splitlines()
    assert lines[0] == "feature,column,mean,5%,95%"
    assert lines[9].startswith("loud C,m0,")
    assert len(lines) == 33
    assert ribp("features", run, "--out", path)[0] == 1
    assert json.loads(ribp("features", run, "--out", path, "--overwrite", "--json")[1]) == {
        "out": str(path), "features": 4, "columns": 8,
    }  # fmt: skip
    assert "loud C" in ribp("summary", run)[1]
    rows = tmp_path / "rows.csv"
    assert ribp("transform", run, table, "--counts", "column:k", "--decode", "--out", rows)[0] == 0
    assert rows.read_text().splitlines()[0] == "id,feature0,loud C,feature2,<b>|=1+1</b>"
    assert ribp("resume", run, "--draws", "30")[0] == 0
    assert "loud C" in ribp("summary", run)[1]


def test_resume_makes_a_run_longer(ribp, run):
    code, out, _ = ribp("resume", run, "--draws", "30", "--json")
    assert code == 0
    assert json.loads(out)["settings"]["n_draws"] == 30
    assert json.loads(ribp("summary", run, "--json")[1])["settings"]["n_draws"] == 30


def test_resume_after_a_stop_at_any_moment(ribp, run):
    whole = json.loads(ribp("summary", run, "--json")[1])
    (run / "result.nc").unlink()
    code, _, err = ribp("summary", run)
    assert code == 1
    assert "ribp resume" in err
    assert ribp("resume", run)[0] == 0
    assert json.loads(ribp("summary", run, "--json")[1])["features"] == whole["features"]
    (run / "result.nc").unlink()
    shutil.rmtree(run / "checkpoints")
    assert ribp("resume", run)[0] == 0
    assert json.loads(ribp("summary", run, "--json")[1])["features"] == whole["features"]


@whatever_is_found
def test_a_stochastic_fit(ribp, table, tmp_path):
    run = tmp_path / "run"
    command = ["fit", table, "--counts", "column:k", "--method", "stochastic", "--out", run]
    assert ribp(*command, *QUICK)[0] == 0
    code, out, _ = ribp("summary", run)
    assert code == 0
    assert "stochastic" in out


@whatever_is_found
def test_nothing_is_overwritten_unasked(ribp, run, table, tmp_path):
    code, _, err = ribp("fit", table, "--counts", "column:k", "--out", run, *QUICK)
    assert code == 1
    assert "--overwrite" in err
    assert ribp("fit", table, "--counts", "column:k", "--out", run, "--overwrite", *QUICK)[0] == 0
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("mine")
    code, _, err = ribp("fit", table, "--out", other, "--overwrite", *QUICK)
    assert code == 1
    assert "not a run of ribp" in err
    assert (other / "chapter.txt").read_text() == "mine"
    code, _, err = ribp("fit", table, "--out", table, *QUICK)
    assert code == 1
    assert "is a file" in err


def test_simulate(ribp, tmp_path):
    out = tmp_path / "rows.csv"
    code, said, _ = ribp(
        "simulate", "--rows", "20", "--counts", "exactly(2)", "--seed", "3", "--out", out
    )
    assert code == 0
    assert "20 rows" in said
    body = out.read_text().splitlines()[1:]
    assert all(sum(map(int, line.split(","))) == 2 for line in body)
    code, said, _ = ribp(
        "simulate", "--rows", 5, "--counts", "poisson(1)", "--out", tmp_path / "r.npz", "--json"
    )
    assert json.loads(said)["tv_bound_row"] < 1e-9


def test_compare(ribp, table):
    arguments = ["compare", table, "--counts", "column:k", "--holdout", "0.05"]
    code, out, _ = ribp(*arguments, *QUICK, "--json")
    assert code == 0
    found = json.loads(out)["models"]
    assert found["restricted"]["features"] == 4
    assert set(found) == {"restricted", "unrestricted"}


def test_compare_a_run_and_report_it(ribp, made, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(made, run)
    code, out, _ = ribp("compare", run)
    assert code == 0
    shown, _, advice = out.partition("Stored in")
    assert f"ribp report {run}" in advice
    assert "unrestricted" in shown
    assert max(map(len, shown.splitlines())) <= 80
    found = json.loads((run / "compare.json").read_text())["models"]
    assert set(found) == {"restricted", "unrestricted"}
    held_out = json.loads(ribp("summary", run, "--json")[1])["held_out"]
    assert found["restricted"]["log_density"] == pytest.approx(held_out["mean"])
    code, out, _ = ribp("report", run)
    assert code == 0
    assert str(run / "report.html") in out
    page = (run / "report.html").read_text(encoding="utf-8")
    assert f"{held_out['mean']:.3f}" in page
    assert "unrestricted" in page
    assert "--counts column:k" in page
    assert ">p0" in page or " p0" in page or "p1" in page


def test_reports_elsewhere_without_rows_or_data(ribp, made, table, tmp_path):
    target = tmp_path / "page.html"
    said = json.loads(ribp("report", made, "--out", target, "--no-data", "--json")[1])
    assert said["report"] == str(target)
    assert said["warnings"] == []
    assert "rows that show it best" not in target.read_text(encoding="utf-8")
    code, _, err = ribp("report", made, "--out", target)
    assert code == 1
    assert "--overwrite" in err
    run = tmp_path / "moved"
    shutil.copytree(made, run)
    config = json.loads((run / "config.json").read_text())
    config["source"]["path"] = str(tmp_path / "gone.csv")
    (run / "config.json").write_text(json.dumps(config))
    code, out, _ = ribp("report", run, "--shape", "2x4")
    assert code == 0
    assert "gone.csv" in out
    code, _, err = ribp("report", run, "--shape", "3x3")
    assert code == 2
    assert "--shape" in err


def test_data_that_have_changed_since_the_run(ribp, made, table, tmp_path):
    run, other = tmp_path / "run", tmp_path / "data.csv"
    shutil.copytree(made, run)
    other.write_text(table.read_text().replace("p0,", "p0,1"))
    config = json.loads((run / "config.json").read_text())
    config["source"]["path"] = str(other)
    (run / "config.json").write_text(json.dumps(config))
    for command in ("compare", "resume"):
        code, _, err = ribp(command, run)
        assert code == 1
        assert "has changed since" in err


# What goes wrong


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["fit", "DATA"], 2, "--out"),
        (["fit", "nowhere.csv", "--out", "OUT"], 1, "nowhere.csv"),
        (["fit", "DATA", "--out", "OUT", "--counts", "column:kk"], 1, "'k'"),
        (["fit", "DATA", "--out", "OUT", "--counts", "exactly(three)"], 2, "exactly(three)"),
        (["fit", "DATA", "--out", "OUT", "--counts", "exactly(9)", "--max-features", "4"], 1, "9"),
        (["fit", "DATA", "--out", "OUT", "--method", "vb"], 2, "method"),
        (["fit", "DATA", "--out", "OUT", "--max-features", "few"], 2, "--max-features must"),
        (["fit", "DATA", "--out", "OUT", "--max-features", "-3"], 2, "--max-features must"),
        (["fit", "DATA", "--out", "OUT", "--holdout", "2"], 2, "--holdout"),
        (["fit", "DATA", "--out", "OUT", "--chains", "none"], 2, "--chains"),
        (["fit", "DATA", "--out", "OUT", "--likelihood", "poisson"], 2, "gibbs-rows"),
        (["fit", "DATA", "--out", "OUT", "--seed", "-1"], 2, "--seed"),
        (["fit", "DATA", "--out", "OUT", "--mass", "heavy"], 2, "--mass must"),
        (["fit", "DATA", "--out", "OUT", "--background", "maybe"], 2, "--background must"),
        (["fit", "DATA", "--out", "OUT", "--columns", "z*"], 1, "'z*'"),
        (["fit", "DATA", "--out", "OUT", "--id", "who"], 1, "'who'"),
        (["fit", "DATA", "--out", "OUT", "--jobs", "0"], 2, "--jobs must"),
        (["fit", "DATA", "--out", "OUT", "--fixed-components", "no.csv"], 1, "no.csv"),
        (["fit", "DATA", "--out", "OUT", "--counts-missing", "most"], 2, "--counts-missing"),
        (["summary", "nowhere"], 1, "not a run"),
        (["report", "nowhere"], 1, "not a run"),
        (["compare", ".", "--counts", "exactly(1)"], 2, "--counts"),
        (["resume", "nowhere"], 1, "not a run"),
        (["transform", "nowhere", "DATA", "--out", "z.csv"], 1, "not a run"),
        (["simulate", "--rows", "3", "--counts", "exactly(2)", "--out", "r.txt"], 2, "--out"),
        (["simulate", "--rows", "3", "--counts", "ex(2)", "--out", "r.csv"], 2, "law"),
        (["simulate", "--rows", "0", "--counts", "exactly(2)", "--out", "r.csv"], 2, "--rows"),
        (["compare", "DATA", "--holdout", "0"], 2, "--holdout"),
        (["compare", "DATA", "--likelihood", "poisson"], 2, "fit --holdout 0.1 for each model"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_mistakes(ribp, table, tmp_path, monkeypatch, arguments, code, says):
    monkeypatch.chdir(tmp_path)
    given = [str(table) if a == "DATA" else a for a in arguments]
    found, _, err = ribp(*given)
    assert found == code
    assert says in err
    assert not (tmp_path / "OUT").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n1,2\n3,x\n", "line 3"),
        ("a,a\n1,2\n", "'a'"),
        ("a,b\n1,2,3\n", "line 2"),
        ("a,b\n1,inf\n", "line 2"),
        ("", "bad.csv"),
    ],
)
def test_bad_tables(ribp, tmp_path, content, says):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    code, _, err = ribp("fit", path, "--out", tmp_path / "run", *QUICK)
    assert code == 1
    assert says in err
    assert not (tmp_path / "run").exists()


def test_ctrl_c(ribp, table, tmp_path, monkeypatch):
    from ribp import fitting

    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "run", pressed)
    code, _, err = ribp("fit", table, "--out", tmp_path / "run", *QUICK)
    assert code == 130
    assert "ribp resume" in err


def test_nothing_stands_between_a_command_and_the_fit(ribp, table, tmp_path, monkeypatch):
    from ribp import fitting

    names = []

    def stopped(*_, **__):
        frames = inspect.stack()[1:]
        names.extend(frame.function for frame in frames if "/ribp/cli/" in frame.filename)
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "run", stopped)
    ribp("fit", table, "--out", tmp_path / "run", *QUICK)
    assert names == ["fit", "main"]
    names.clear()
    ribp("resume", tmp_path / "run")  # which has no checkpoint yet
    assert names == ["resume", "main"]


def test_resume_before_the_first_checkpoint(ribp, run):
    (run / "result.nc").unlink()
    shutil.rmtree(run / "checkpoints")
    code, out, _ = ribp("resume", run, "--draws", "25", "--json")
    assert code == 0
    assert json.loads(out)["settings"]["n_draws"] == 25
    assert (run / "checkpoints" / "settings.json").exists()


def test_ctrl_c_after_some_draws(ribp, run, monkeypatch):
    from ribp.running import run as running

    wait, presses = running._wait, [1]

    def stopped(*arguments):
        if presses:
            presses.pop()
            raise KeyboardInterrupt
        wait(*arguments)

    monkeypatch.setattr(running, "_wait", stopped)
    code, out, err = ribp("resume", run, "--draws", "100000")
    assert code == 130
    assert "interrupted" in out
    assert "ribp resume" in err


FILES = ["config.json", "result.nc", "holdout.npz", "checkpoints/settings.json"]
FILES += ["checkpoints/arrays.npz", "checkpoints/chain-0.npz", "checkpoints/chain-1-draws-0000.npz"]


@whatever_is_found
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("how", ["empty", "cut", "noise", "other", "folder"])
def test_damaged_runs_are_never_a_traceback(ribp, run, file, how):
    path = run / file
    raw = path.read_bytes()
    if how == "folder":
        path.unlink()
        path.mkdir()
    elif how == "noise":
        rng = np.random.default_rng(len(raw))
        spoilt = np.frombuffer(raw, np.uint8).copy()
        at = rng.integers(spoilt.size, size=max(3, spoilt.size // 50))
        spoilt[at] = rng.integers(256, size=at.size)
        path.write_bytes(spoilt.tobytes())
    else:
        path.write_bytes({"empty": b"", "cut": raw[: len(raw) // 2], "other": b"[1, 2]"}[how])
    for command in (["summary", run], ["resume", run]):
        code, _, err = ribp(*command)
        assert code in (0, 1)
        assert (code == 0) or err.startswith("ribp: ")


TOO_MUCH = {
    "a negative seed": ("config.json", "source", {"seed": -1}),
    "a seed of 200 bits": ("config.json", "source", {"seed": 2**200}),
    "a seed that is no number": ("config.json", "source", {"seed": [{}]}),
    "a negative seed of chains": ("checkpoints/settings.json", "settings", {"seed": [-1]}),
    "many chains": ("checkpoints/settings.json", "settings", {"n_chains": 10**8}),
    "many features": ("checkpoints/settings.json", "settings", {"n_features": 10**12}),
    "many laws": ("checkpoints/settings.json", "settings", {"laws": ["exactly(1)"] * 100_000}),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_runs_that_ask_for_too_much_are_refused_at_once(ribp, run, what):
    file, part, values = TOO_MUCH[what]
    known = json.loads((run / file).read_text())
    known[part] |= values
    (run / file).write_text(json.dumps(known))
    code, _, err = ribp("resume", run)
    assert code == 1
    assert next(iter(values)) in err


def test_hidden_entries_that_claim_to_be_very_many(ribp, run):
    with zipfile.ZipFile(run / "holdout.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("rows", "columns", "values"):
            file = io.BytesIO()
            np.save(file, np.zeros(10**6))
            archive.writestr(f"{name}.npy", file.getvalue())
    code, _, err = ribp("summary", run)
    assert code == 1
    assert "holdout.npz is damaged" in err


def test_python_m_ribp():
    done = subprocess.run(
        [sys.executable, "-m", "ribp", "--help"], capture_output=True, text=True, check=True
    )
    assert "Find the features" in done.stdout


@whatever_is_found
@settings(max_examples=replicates(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    file=st.sampled_from(["config.json", "checkpoints/settings.json", "checkpoints/chain-0.npz"]),
    at=st.floats(0, 1),
    cut=st.integers(0, 12),
    put=st.binary(max_size=12) | st.sampled_from([b"null", b"[]", b'"x"', b"-1", b"1e999", b"{}"]),
)
def test_any_damage_to_a_run_is_a_message(ribp, made, tmp_path_factory, file, at, cut, put):
    run = shutil.copytree(made, tmp_path_factory.mktemp("fuzz") / "run")
    path = run / file
    raw = path.read_bytes()
    place = int(at * len(raw))
    path.write_bytes(raw[:place] + put + raw[place + cut :])
    (run / "result.nc").unlink()
    for command in (["summary", run], ["resume", run]):
        code, _, err = ribp(*command)
        assert code in (0, 1, 2)
        assert code == 0 or err.startswith("ribp: ")
