"""From a model to a result: kills, resumption, interruption, growth, errors at the door."""

import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.errors import FitWarning, InputError, StorageError
from ribp.fitting import fit, resume
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.model import Model
from ribp.running.checkpoint import Checkpoint
from ribp.testing.goodness import replicates
from tests.helpers import ROOT
from tests.helpers.marks import whatever_is_found

pytestmark = [pytest.mark.jit, pytest.mark.usefixtures("ctrl_c_is_heard")]


RNG = np.random.default_rng(0)
TRUTH = np.eye(4)[RNG.integers(4, size=60)]
X = TRUTH @ RNG.normal(0, 2, (4, 8)) + 0.3 * RNG.normal(size=(60, 8))
MODEL = Model(counts.as_row_counts("exactly(1)", 60), 6, LinearGaussian())
SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 12, "progress": False, "seed": 3}


def same(one, other):
    """Return whether two results have the same draws."""
    return all(one.tree[group].identical(other.tree[group]) for group in one.tree.children)


def test_a_fit_finds_the_features():
    result = fit(MODEL, complete(X), n_chains=2, n_warmup=50, n_draws=50, progress=False, seed=1)
    assert result.n_chains == 2
    assert result.n_draws == 50
    assert not result.interrupted
    assert (result.tree["posterior"]["active_features"] == 4).mean() > 0.9


@whatever_is_found
def test_same_seed_same_draws():
    one, two = fit(MODEL, complete(X), **SHORT), fit(MODEL, complete(X), n_jobs=1, **SHORT)
    assert same(one, two)
    assert not same(one, fit(MODEL, complete(X), **{**SHORT, "seed": 4}))
    assert not same(fit(MODEL, complete(X), **{**SHORT, "seed": None}), one)


@whatever_is_found
@pytest.mark.parametrize(
    ("method", "model"),
    [("buffet", BuffetModel(60, LinearGaussian())), ("augmented", None), ("gibbs-rows", MODEL)],
)
def test_every_method_gives_a_result(method, model, tmp_path):
    model = model or Model(MODEL.counts, 8, LinearGaussian(), mass=1.5)
    result = fit(model, complete(X), method, checkpoint=tmp_path / "run", **SHORT)
    assert result.settings["method"] == method
    assert same(resume(tmp_path / "run", complete(X), progress=False), result)


def test_the_model_can_grow():
    rows = np.random.default_rng(1).random((200, 20)) < 0.15
    data = rows @ np.random.default_rng(2).normal(0, 2, (20, 30))
    data += 0.2 * np.random.default_rng(3).normal(size=data.shape)
    law = counts.as_row_counts(counts.poisson(3.0), 200)
    result = fit(Model(law, 16, LinearGaussian()), complete(data), grow=True, **SHORT)
    assert result.settings["n_features"] >= 24


# Stopped and resumed


@whatever_is_found
def test_resumed_with_more_draws(tmp_path):
    run = tmp_path / "run"
    fit(MODEL, complete(X), checkpoint=run, **SHORT)
    longer = fit(MODEL, complete(X), thin=1, **{**SHORT, "n_draws": 30})
    assert same(resume(run, complete(X), n_draws=30, progress=False), longer)
    assert same(resume(run, complete(X), progress=False), longer)  # it is remembered
    with pytest.raises(InputError, match="n_draws"):
        resume(run, complete(X), n_draws=5)


@whatever_is_found
def test_ctrl_c_returns_what_there_is(tmp_path):
    presses = [1]

    def press_ctrl_c(event):
        if presses and event.phase == "draws":
            presses.pop()
            signal.raise_signal(signal.SIGINT)

    long = {**SHORT, "n_draws": 10**5, "progress": press_ctrl_c, "thin": 1}
    with pytest.warns(FitWarning, match="Stopped before"):
        result = fit(MODEL, complete(X), checkpoint=tmp_path / "run", **long)
    assert result.interrupted
    assert 0 < result.n_draws < 10**5
    assert "interrupted" in repr(result)


@whatever_is_found
def test_ctrl_c_before_the_first_draw(tmp_path):
    presses = [1]

    def at_once(event):
        if presses and event.phase != "search":
            presses.pop()
            signal.raise_signal(signal.SIGINT)
            time.sleep(1.0)  # the main thread looks up five times a second

    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt, match="resumed"):
        fit(MODEL, complete(X), checkpoint=run, **{**SHORT, "progress": at_once})
    assert same(resume(run, complete(X), progress=False), fit(MODEL, complete(X), **SHORT))


@whatever_is_found
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_during_the_search(tmp_path, n_jobs):
    """Nothing is lost, since nothing was begun: the same folder can be used again."""
    presses = [1]

    def at_once(event):
        assert event.phase == "search"
        if presses:
            presses.pop()
            signal.raise_signal(signal.SIGINT)

    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        fit(MODEL, complete(X), checkpoint=run, **{**SHORT, "progress": at_once, "n_jobs": n_jobs})
    assert not [one for one in threading.enumerate() if one.name.startswith("ribp-search")]
    assert same(fit(MODEL, complete(X), checkpoint=run, **SHORT), fit(MODEL, complete(X), **SHORT))


@whatever_is_found
def test_what_resume_refuses(tmp_path):
    run = tmp_path / "run"
    fit(MODEL, complete(X), checkpoint=run, **SHORT)
    with pytest.raises(InputError, match="must be those of the run"):
        resume(run, complete(X + 1))
    with pytest.raises(StorageError, match="not empty"):
        fit(MODEL, complete(X), checkpoint=run, **SHORT)
    settings = json.loads((run / "settings.json").read_text())
    del settings["settings"]["laws"]
    (run / "settings.json").write_text(json.dumps(settings))
    with pytest.raises(StorageError, match="make no sense"):
        resume(run, complete(X))
    with pytest.raises(StorageError, match="holds no run"):
        resume(tmp_path / "nowhere", complete(X))


@pytest.mark.parametrize(
    "wrong",
    [{"n_chains": 0}, {"n_draws": 0}, {"n_warmup": -1}, {"thin": 0}, {"n_jobs": 0}, {"seed": -1}],
)
def test_bad_arguments(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        fit(MODEL, complete(X), **{**SHORT, **wrong})


def test_bad_data_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="counts"):
        fit(MODEL, complete(X[:5]), checkpoint=tmp_path / "run", **SHORT)
    assert not (tmp_path / "run").exists()


# Killed at any moment

CHILD = """
import os, signal, sys
import numpy as np
from ribp.running import checkpoint, run
run.CHECKPOINT_SWEEPS, run.CHECKPOINT_SECONDS = 2, 0.0
write, calls = checkpoint.write_atomically, []

def deadly(path, how):
    calls.append(path)
    if len(calls) == {fatal}:
        def half(file):
            how(file)
            file.flush()
            os.truncate(file.fileno(), file.tell() // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        write(path, half)
    write(path, how)

checkpoint.write_atomically = deadly
from tests.test_fitting import MODEL, X, KILLED, complete, fit
print("ready", flush=True)
fit(MODEL, complete(X), checkpoint={folder!r}, **KILLED)
"""
KILLED = {"n_chains": 2, "n_warmup": 100, "n_draws": 400, "progress": False, "seed": 8}


@pytest.fixture(scope="module")
def undisturbed():
    return fit(MODEL, complete(X), **KILLED)


@pytest.mark.parametrize("moment", range(replicates(2)))
def test_killed_runs_resume_to_the_same_bits(moment, undisturbed, tmp_path):
    rng = np.random.default_rng(moment)
    inside = moment % 2 == 0  # killed half-way through writing a checkpoint, or from outside
    fatal = int(rng.integers(1, 300)) if inside else -1
    folder = tmp_path / "run"
    code = CHILD.format(folder=str(folder), fatal=fatal)
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    if not inside:
        while not Checkpoint(folder).exists() and child.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 2.0))
        child.kill()
    assert child.wait(60) == -signal.SIGKILL
    child.stdout.close()
    if not Checkpoint(folder).exists():  # killed before there was a run: begin again
        assert same(fit(MODEL, complete(X), checkpoint=folder, **KILLED), undisturbed)
    else:
        assert same(resume(folder, complete(X), progress=False), undisturbed)


@whatever_is_found
def test_missing_entries_and_names():
    holes = X.copy()
    holes[3, :2] = np.nan
    names = {"dim_names": list("abcdefgh"), "row_names": [f"r{n}" for n in range(60)]}
    result = fit(MODEL, with_missing(holes), **SHORT, **names)
    assert result.tree["features"]["dim"].to_numpy().tolist() == list("abcdefgh")
