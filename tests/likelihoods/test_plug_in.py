"""A likelihood of another package, that of the documentation: it goes wherever ours go."""

import importlib.util
import re
import subprocess
import sys
from importlib.metadata import EntryPoint

import dask.array as da
import distributed
import numpy as np
import pytest

import ribp
from ribp import fitting
from ribp.errors import InputError, StorageError
from ribp.likelihoods import LIKELIHOODS, LinearGaussian, register
from ribp.likelihoods.validation import as_data
from tests.helpers import ROOT
from tests.helpers.dask_cases import ON_DASK, local_cluster
from tests.helpers.marks import short_of_convergence
from tests.helpers.same_bits import assert_same_results

pytestmark = [*ON_DASK, short_of_convergence]
SETTINGS = {"max_features": 3, "counts": "uniform(1, 2)", "likelihood": "yes-no"}
SETTINGS |= {"background": False, "n_chains": 2, "n_warmup": 4, "n_draws": 8, "random_state": 1}


def source():
    """Return the code of the page, the class and what it needs, without its examples."""
    page = (ROOT / "docs" / "developer" / "adding-a-likelihood.md").read_text()
    block = re.search(r"```python\n(>>> from dataclasses.*?)```", page, re.S)[1]
    return "".join(line[4:] + "\n" for line in block.splitlines() if line)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Install the likelihood as a package with an entry point, on the path of this test."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "yes_no.py").write_text(source())
    info = folder / "yes_no-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: yes-no\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ribp.likelihoods]\nyes-no = yes_no:YesNo\n")
    return folder


@pytest.fixture
def named(package, monkeypatch):
    """Let this process know it as if it were installed; other processes find its entry point."""
    found = importlib.util.spec_from_file_location("yes_no", package / "yes_no.py")
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "yes_no", module)
    found.loader.exec_module(module)
    monkeypatch.setenv("PYTHONPATH", str(package), prepend=":")
    point = EntryPoint("yes-no", "yes_no:YesNo", "ribp.likelihoods")
    monkeypatch.setitem(LIKELIHOODS.__dict__, "_installed", {"yes-no": point})


def table(n_rows=200):
    rng = np.random.default_rng(0)
    rows = rng.permuted(np.arange(3) < rng.integers(1, 3, (n_rows, 1)), axis=1)
    said = rows @ np.repeat(np.eye(3), 3, axis=1) > 0
    X = (said ^ (rng.random(said.shape) < 0.05)).astype(float)
    return np.where(rng.random(X.shape) < 0.05, np.nan, X)


def fit(X, **options):
    return ribp.RestrictedIBP("gibbs-rows", **SETTINGS | {"progress": False} | options).fit(X)


def test_memory_file_and_cluster_give_the_same(named, package, tmp_path):
    X = table()
    np.save(tmp_path / "x.npy", X)
    whole = fit(X, checkpoint=tmp_path / "run")
    assert whole.result_.settings["likelihood"]["name"] == "yes-no"
    mapped = fit(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert_same_results(whole.result_, mapped.result_)
    with local_cluster(2) as cluster, distributed.Client(cluster) as client:
        with pytest.raises(InputError, match="workers with YesNo installed"):
            fit(da.from_array(X, chunks=(70, 9)))
        client.upload_file(str(package / "yes_no.py"))
        there = fit(da.from_array(X, chunks=(70, 9)))
    assert_same_results(whole.result_, there.result_)
    longer = fitting.resume(tmp_path / "run", as_data(X), n_draws=12, progress=False)
    assert_same_results(fit(X, n_draws=12).result_, longer)


def test_a_fit_is_read_as_any_other(named, tmp_path):
    X = table()
    model = fit(X)
    probs = model.transform(X)
    assert probs.shape == (200, 3)
    assert np.isfinite(model.score(X))
    assert set(np.unique(model.decode(X).sum(axis=1))) <= {1, 2}
    assert set(np.unique(model.sample(20, random_state=0))) <= {0.0, 1.0}
    model.save(tmp_path / "fit.nc")
    again = ribp.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(again.transform(X), probs)
    assert model.result_.judgement is not None


def test_the_command_line_fits_resumes_and_reports(named, tmp_path):
    X, run = table(), tmp_path / "run"
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header=",".join("abcdefghi"), comments="")
    common = ["--max-features", "3", "--chains", "2", "--warmup", "3", "--seed", "1"]
    for arguments in (
        ["fit", tmp_path / "x.csv", "--counts", "uniform(1,2)", "--method", "gibbs-rows",
         "--likelihood", "yes-no", "--background", "off", *common, "--draws", "5", "--out", run],
        ["resume", run, "--draws", "7"],
        ["report", run],
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "ribp", *map(str, arguments)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert "yes and no" in (run / "report.html").read_text()


def test_what_is_missing_is_named(named, tmp_path, monkeypatch):
    fit(table()).save(tmp_path / "fit.nc")
    monkeypatch.setitem(LIKELIHOODS.__dict__, "_installed", {})
    with pytest.raises((InputError, StorageError), match=r"yes-no.*[Ii]nstall"):
        ribp.load(tmp_path / "fit.nc")
    with pytest.raises(InputError, match="one of gaussian, poisson"):
        fit(table())


def test_what_it_has_no_use_for_it_refuses(named):
    with pytest.raises(InputError, match="noise_scale must be left alone where data are"):
        fit(table(), noise_scale=1.0)
    with pytest.raises(InputError, match='"gibbs-rows"'):
        ribp.RestrictedIBP("gibbs", **SETTINGS).fit(table())
    with pytest.raises(InputError, match="must be yes and no"):
        fit(table() + 0.5)


def test_names_are_for_classes_and_given_once():
    register("gaussian", LinearGaussian)
    with pytest.raises(InputError, match="must not be taken"):
        register("poisson", LinearGaussian)
    with pytest.raises(InputError, match="inherits from Likelihood"):
        register("other", int)
