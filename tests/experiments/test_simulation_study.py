"""The simulation study runs, and what it reports of bounds and samplers holds."""

import json
import subprocess
import sys

import numpy as np
import pytest

import ribp
from experiments.simulation import bounds, tables
from tests.helpers import ROOT

SAMPLERS = ["collapsed", "lazy", "rejection", "esscher", "inclusion", "certified"]
PICTURES = ["rejections", "time", "probabilities-J5", "probabilities-J8", "bounds"]
QUICK_DRAWS, QUICK_LIMIT = 3, 10**5

pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    command = [sys.executable, "-m", "experiments.simulation.run", "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return out


def read(path):
    """Return results with numbers and times at the top."""
    whole = json.loads(path.read_text())
    times = whole["timing"]["compare"]
    found = {
        count: {name: one | times[count][name] for name, one in samplers.items()}
        for count, samplers in whole["numbers"]["compare"].items()
    }
    return whole | whole["numbers"] | {"compare": found}


@pytest.fixture(scope="module")
def quick(folder):
    return read(folder / "results.json")


@pytest.fixture(params=["quick", "full"])
def results(request):
    """Return what a quick run found now, and what is stored."""
    if request.param == "quick":
        return request.getfixturevalue("quick")
    return read(ROOT / "experiments/simulation/results/results.json")


def test_it_writes_results_and_pictures_and_nothing_else(folder):
    expected = {"results.json", *(f"{name}.png" for name in PICTURES)}
    assert {path.name for path in folder.iterdir()} == expected
    for name in PICTURES:
        written = (folder / f"{name}.png").read_bytes()
        assert written.startswith(b"\x89PNG")
        assert 5_000 < len(written) < 150_000


def test_stored_pictures_are_complete_and_small():
    stored = ROOT / "experiments/simulation/results"
    assert {path.stem for path in stored.glob("*.png")} == set(PICTURES)
    assert all(path.stat().st_size < 150_000 for path in stored.glob("*.png"))


def test_pages_show_every_picture():
    page = ROOT / "docs/evaluation/simulation.md"
    text = page.read_text()
    for name in PICTURES:
        link = f"../../experiments/simulation/results/{name}.png"
        assert link in text
        assert (page.parent / link).exists()


def test_tables_of_the_page_are_those_of_the_stored_results():
    text = (ROOT / "docs/evaluation/simulation.md").read_text()
    for table in tables.tables(json.loads(tables.RESULTS.read_text())):
        assert table in text


def test_every_sampler_and_count_has_all_its_draws(results):
    n_draws = QUICK_DRAWS if results["quick"] else 25
    assert list(results["compare"]) == ["2", "5", "8"]
    for found in results["compare"].values():
        assert list(found) == SAMPLERS
        for one in found.values():
            assert len(one["rejections"]) == len(one["seconds"]) == n_draws
            assert one["n_censored"] == sum(one["censored"])


def test_numbers_hold_no_times(results):
    assert "seconds" not in json.dumps(results["numbers"])


def test_quick_study_says_what_made_it(quick):
    assert quick["quick"]
    assert quick["setting"]["max_proposals"] == QUICK_LIMIT
    assert set(quick["versions"]) == {"python", "numpy", "scipy", "numba", "ribp"}
    assert 0 < quick["timing"]["minutes"] < 2


def test_censored_draws_are_at_the_limit_and_beyond_the_quartiles(results):
    limit = results["setting"]["max_proposals"]
    for found in results["compare"].values():
        for one in found.values():
            for rejections, cut in zip(one["rejections"], one["censored"], strict=True):
                assert limit - 100 < rejections <= limit if cut else rejections <= limit
            known = [quartile for quartile in one["rejections_quartiles"] if quartile is not None]
            finished = [r for r, c in zip(one["rejections"], one["censored"], strict=True) if not c]
            assert all(quartile in finished for quartile in known)


def test_inclusion_never_rejects_and_the_others_do(results):
    for found in results["compare"].values():
        for name, one in found.items():
            assert (max(one["rejections"]) == 0) == (name in ("inclusion", "certified"))


def test_feature_probabilities_add_up_to_the_count(results):
    for count, found in results["probabilities"].items():
        assert len(found) == 11
        for one in found.values():
            assert np.sum(one["mean"]) == pytest.approx(int(count), abs=2e-3)
            assert np.all(np.diff(one["mean"]) <= 1e-12)


def test_our_certificate_is_above_the_truth(results):
    for one in results["bounds"].values():
        assert np.all(np.array(one["true_tv"]) <= one["certificate"])
        assert one["summary"]["share_above_certificate"] == 0.0
        assert one["summary"]["true_over_certificate_largest"] > 0.05  # and not idle


def test_our_bound_on_average_is_above_the_mean_over_tails_and_half_of_it_is_not(results):
    for one in results["bounds"].values():
        stated, true = np.array(one["on_average"]), np.array(one["mean_tv"])
        error = np.array(one["mean_tv_standard_error"])
        assert np.all(true - 4 * error <= stated)
        assert np.any(true - 4 * error > stated / 2)


def test_our_bound_given_the_tail_is_above_the_truth_and_half_of_it_is_not(results):
    for one in results["bounds"].values():
        stated, true = np.array(one["given_tail"]), np.array(one["true_tv"])
        assert np.all(true <= stated * (1 + 2e-6))  # six digits are stored
        assert np.any(true > stated / 2)
        assert one["summary"]["true_over_given_tail_largest"] <= 1.0


def test_the_bound_on_average_says_nothing_of_a_single_tail(results):
    # E[T | head] stands for T: given the measure the truth lies on both sides of it.
    for one in results["bounds"].values():
        assert 0.1 < one["summary"]["share_above_on_average"] < 0.9


def test_no_probability_errs_by_more_than_the_total_variation(results):
    for one in results["bounds"].values():
        assert np.all(np.array(one["true_error"]) <= one["true_tv"])


def test_the_paper_s_bound_fails_in_the_example(results):
    found = results["failing_example"]
    kept, dropped, mass = 0.5, 0.49, 0.05
    none = np.exp(-mass * kept)
    assert found["lower_bound"] == pytest.approx(kept * none / (none * kept + 1 - none), abs=1e-5)
    odds = np.array([kept / (1 - kept), dropped / (1 - dropped)])
    assert found["true"] == pytest.approx(odds[0] / odds.sum(), abs=1e-5)
    assert found["lower_bound"] > 0.951
    assert found["true"] < 0.511


@pytest.mark.parametrize(("count", "kept"), [(2, 6), (5, 20), (8, 60)])
def test_the_study_s_certificate_is_the_library_s(count, kept):
    draw = ribp.simulate(
        3, n_rows=4, counts=f"exactly({count})", measure=bounds.MEASURE,
        truncation=ribp.SizeOrdered(kept),
    )  # fmt: skip
    head = np.sort(np.concatenate([draw.log_odds, draw.unused_log_odds]))[::-1]
    log_mean = float(bounds.MEASURE.log_expected_tail_odds(head[-1]))
    log_tail = bounds.log_upper_total(log_mean, float(head[-1]))
    assert bounds.certificate(head, count, log_tail) == pytest.approx(draw.tv_bound_row, rel=1e-9)


def test_true_losses_agree_with_direct_differences():
    deep = bounds.MEASURE.size_ordered(np.random.default_rng(0), 60)
    head, tail, count = deep[:12], deep[12:], 4
    found = bounds._at_level(head, tail, count)
    direct = 1 - np.exp(ribp.log_esp(head, count)[-1] - ribp.log_esp(deep, count)[-1])
    assert found["true_tv"] == pytest.approx(direct, abs=1e-9)
    whole = ribp.inclusion_probs(deep, count)
    gone = np.concatenate([ribp.inclusion_probs(head, count), np.zeros(tail.size)])
    assert found["true_error"] == pytest.approx(np.abs(whole - gone).max(), abs=1e-9)


def test_the_paper_s_interval_follows_its_formula():
    pi, mass, count = np.array([0.6, 0.3, 0.2]), 0.7, 2
    head = np.log(pi / (1 - pi))
    chosen = [ribp.PoissonBinomial(np.delete(head, i)).pmf(count - 1) for i in range(3)]
    s = ribp.PoissonBinomial(head).pmf(count)
    none = np.exp(-mass * pi[-1])
    lower, upper, width = bounds.paper_interval(
        head, count, ribp.inclusion_probs(head, count), mass
    )
    np.testing.assert_allclose(lower, pi * none * chosen / (none * s + 1 - none), rtol=1e-9)
    np.testing.assert_allclose(upper, pi * (none * np.array(chosen) + 1 - none) / (none * s))
    np.testing.assert_allclose(width, upper - lower)
