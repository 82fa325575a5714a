"""The object around the tree: what it says of a fit, and what it hands to ArviZ."""

import builtins
import re
import sys
import types

import numpy as np
import pytest

from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.errors import InputError, Notice, StorageError
from ribp.results import Result
from tests.helpers.result_cases import MODELS, prior_tree, settings_of

# ArviZ divides by the variance of what never changes.
quiet = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


@pytest.mark.parametrize("name", MODELS)
def test_the_model_comes_back(name):
    model = MODELS[name]
    found = Result(prior_tree(name)).model
    assert type(found) is type(model)
    for key, value in vars(model).items():
        assert getattr(found, key) == value
    assert isinstance(found, BuffetModel) == ("buffet" in name)


def test_save_and_load(tmp_path):
    result, path = Result(prior_tree()), tmp_path / "result.nc"
    result.save(path)
    assert Result.load(path) == result
    with pytest.raises(StorageError, match="is there already"):
        result.save(path)
    result.save(path, overwrite=True)


def test_results_of_different_times_are_equal():
    early, late = prior_tree(), prior_tree()
    late.attrs["created"] = "2099-01-01T00:00:00+00:00"
    assert Result(early) == Result(late)
    assert late.attrs["created"].startswith("2099")


@pytest.mark.parametrize("ask", ["sample", "posterior_predictive"])
def test_more_than_memory_holds_is_refused(ask):
    with pytest.raises(InputError, match=r"n_\w+ must be at most \d+ .* memory.*got 1000000000000"):
        getattr(Result(prior_tree()), ask)(np.random.default_rng(0), 10**12)


def test_what_it_knows():
    result = Result(
        prior_tree(n_chains=3, interrupted=True, warnings=[Notice("look", "Look out.")])
    )
    assert (result.n_chains, result.n_draws, result.interrupted) == (3, 7, True)
    assert result.warnings == [Notice("look", "Look out.")]
    assert result.settings == settings_of(MODELS["noise per column"], n_chains=3)
    assert result != Result(prior_tree(n_chains=3, seed=2))
    assert result != 3
    with pytest.raises(TypeError):
        hash(result)


def test_a_tree_of_something_else_is_refused():
    tree = prior_tree()
    del tree["laws"]
    with pytest.raises(InputError, match="the group laws is missing"):
        Result(tree)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_warnings", [0, 2, 9])
def test_display(name, n_warnings):
    texts = [f"Number {n}\nof something long: " + "x" * 90 for n in range(n_warnings)]
    warnings = [Notice("n", text) for text in texts]
    result = Result(prior_tree(name, n_chains=3, interrupted=n_warnings > 0, warnings=warnings))
    lines = repr(result).split("\n")
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80
    assert "6 rows x 3 dims" in lines[0]
    assert "3 chains x 7, features of 4 stored" in lines[1]
    assert ("interrupted" in lines[1]) == (n_warnings > 0)
    used = result.tree["posterior"]["active_features"].to_numpy()
    assert f"{np.median(used):g} ({used.min()} to {used.max()})" in lines[2]
    assert ("at most 10" in lines[2]) == ("buffet" not in name)
    assert re.search(r"R-hat +\d\.\d{3} log joint", lines[4])
    assert sum("Number" in line for line in lines) == min(n_warnings, 3)
    assert ("and 6 more" in lines[-1]) == (n_warnings == 9)


def test_display_of_a_single_draw():
    assert "nan log joint" in repr(Result(prior_tree(n_chains=1, n_draws=1)))


@quiet
@pytest.mark.parametrize("name", ["noise per column", "shared noise", "counts", "buffet"])
def test_arviz_gets_all_draws(name):
    import arviz as az

    result = Result(prior_tree(name, n_chains=2, n_draws=30, row_names=list("abcdef")))
    found, posterior = result.to_arviz(), result.tree["posterior"].to_dataset()
    np.testing.assert_array_equal(found["sample_stats"]["lp"], posterior["log_joint"])
    for key in set(posterior.data_vars) - {"count_log_probs"}:
        assert found["posterior"][key].dims == posterior[key].dims
        np.testing.assert_array_equal(found["posterior"][key], posterior[key])
    if "count_log_probs" in posterior:
        probs = np.exp(posterior["count_log_probs"])
        np.testing.assert_array_equal(found["posterior"]["count_probs"], probs)
    table = az.summary(found, round_to="none")
    mean = posterior["feature_scale"].mean().item()
    assert table.loc["feature_scale", "mean"] == pytest.approx(mean, rel=1e-12)
    assert "log_likelihood" not in found


@quiet
def test_arviz_gets_the_log_likelihood_of_kept_draws():
    import arviz as az

    result = Result(prior_tree(n_chains=4, n_draws=200, thin=2, row_names=list("abcdef")))
    rng = np.random.default_rng(1)
    values = rng.uniform(-3.1, -3.0, (4, 100, 6))
    found = result.to_arviz(values)
    np.testing.assert_array_equal(found["log_likelihood"]["x"], values)
    assert found["log_likelihood"]["x"].dims == ("chain", "draw", "row")
    assert found["log_likelihood"]["row"].to_numpy().tolist() == list("abcdef")
    for group in ("posterior", "sample_stats", "log_likelihood"):
        assert found[group]["draw"].to_numpy().tolist() == list(range(0, 200, 2))
    mass = result.tree["posterior"]["mass"][:, ::2]
    np.testing.assert_array_equal(found["posterior"]["mass"], mass)
    held_out = az.loo(found)
    elpd = held_out.elpd_loo if hasattr(held_out, "elpd_loo") else held_out.elpd
    # Leaving a row out, its density is the harmonic mean over draws.
    exact = -np.log(np.exp(-values).mean(axis=(0, 1))).sum()
    assert float(elpd) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("version", ["0.23.4", "1.3.0", "2.0.0rc1"])
def test_each_arviz_is_called_in_its_own_way(monkeypatch, version):
    calls = []
    fake = types.SimpleNamespace(
        __version__=version, from_dict=lambda *args, **kwargs: calls.append((args, kwargs))
    )
    monkeypatch.setitem(sys.modules, "arviz", fake)
    Result(prior_tree()).to_arviz(np.zeros((2, 4, 6)))
    ((args, kwargs),) = calls
    groups = {"posterior", "sample_stats", "log_likelihood"}
    if version.startswith("0"):
        assert args == ()
        assert set(kwargs) == groups | {"coords", "dims"}
    else:
        assert set(args[0]) == groups
        assert set(kwargs) == {"coords", "dims"}
    assert kwargs["dims"]["noise_scale"] == ["dim"]
    assert kwargs["coords"]["draw"].tolist() == [0, 2, 4, 6]


def test_a_log_likelihood_of_other_draws_is_refused():
    with pytest.raises(InputError, match=r"\(2, 4, 6\), but got shape \(2, 7, 6\)"):
        Result(prior_tree()).to_arviz(np.zeros((2, 7, 6)))


def test_without_arviz_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def fail(name, *args, **kwargs):
        if name == "arviz":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(ImportError, match=r"pip install 'ribp\[arviz\]'"):
        Result(prior_tree()).to_arviz()
