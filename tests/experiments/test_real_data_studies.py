"""The studies on real data: their cases, their scores, and runs that stop and go on."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import poisson as poisson_law

from experiments import chains, study
from experiments.real_features import cases as real_cases
from experiments.real_features import methods as real_methods
from experiments.real_features import run as real_features
from experiments.rivals import masked, mofa
from experiments.tables import cases, methods, rivals, text
from experiments.tables import run as tables
from experiments.vague_counts import cases as vague_cases
from experiments.vague_counts import rivals as vague_rivals
from experiments.vague_counts import run as vague_counts
from ribp.counts.finite import Learned
from ribp.likelihoods import GaussianParameters, PoissonParameters
from ribp.model import State
from ribp.recording import pack_rows
from ribp.testing.recovery import f1
from tests.helpers import ROOT, stand_ins
from tests.helpers.stand_ins import REAL, STAND_IN, there
from tests.helpers.study_options import options

pytestmark = pytest.mark.jit

NO_FILES = ROOT / "no folder"  # chords come with the package


def a_state(rows, features, background, noise):
    parameters = GaussianParameters(
        np.asarray(features, float), np.asarray(background, float), np.asarray(noise, float), 1.0
    )
    z = np.asarray(rows, np.int8)
    return State(z, np.zeros(z.shape[1]), 1.0, 1.0, np.zeros((0, z.shape[1] + 1)), parameters)


STATES = [
    a_state([[1, 0], [1, 1]], [[1.0, 2.0], [0.5, -1.0]], [0.1, 0.2], [0.5, 2.0]),
    a_state([[0, 1], [1, 1]], [[1.5, 2.0], [0.4, -1.0]], [0.0, 0.2], [0.7, 1.0]),
]
VALUES = np.array([[1.2, 0.3], [2.0, 1.1]])
HIDDEN = np.array([[True, False], [False, True]])


def densities(state):
    """Return what SciPy says of all entries."""
    given = state.parameters
    return norm.logpdf(VALUES, state.rows @ given.features + given.background, given.noise_scale)


def test_densities_of_hidden_entries():
    state = STATES[0]
    found = chains.log_density(state, VALUES, HIDDEN)
    np.testing.assert_allclose(found, densities(state)[HIDDEN], rtol=1e-12)
    given = PoissonParameters(np.array([[1.0, 2.0], [0.5, 3.0]]), np.array([0.1, 0.2]), 1.0)
    counts = np.array([[1.0, 0.0], [2.0, 4.0]])
    found = chains.log_density(SimpleNamespace(rows=state.rows, parameters=given), counts, HIDDEN)
    rates = state.rows @ given.features + given.background
    np.testing.assert_allclose(found, poisson_law.logpmf(counts, rates)[HIDDEN], rtol=1e-12)


def test_the_largest_of_each_row():
    rows = chains.largest(np.array([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]]), np.array([2, 0]))
    assert rows.tolist() == [[0, 1, 1], [0, 0, 0]]


# Tables


def test_chords_with_and_without_twins():
    by_entry, by_row = (cases.load(f"chord, by {one}", NO_FILES) for one in ("entry", "row"))
    assert by_entry.values.shape == (1332, 100)
    assert len(np.unique(by_entry.values, axis=0)) == len(by_row.values) == 232
    assert np.bincount(by_entry.k).tolist() == [0, 12, 0, 1320]
    assert by_entry.values.std() == pytest.approx(1.0)
    hidden = by_row.hidden(1)
    assert hidden.sum() == 232
    assert (hidden != by_row.hidden(2)).any()
    laws = by_row.counts
    possible = np.isfinite(laws.log_probs(5)[laws.law_of_row])
    assert possible[by_row.k == 3].all(axis=0).tolist() == [False, False, True, True, True, False]


@pytest.mark.parametrize(
    ("source", "file", "name", "shape"),
    there(
        [
            (STAND_IN, "reuters_digest.npz", "digest", (40, 70)),
            (STAND_IN, "20news_w100.npz", "newsgroups", (50, 100)),
            (REAL, "reuters_digest.npz", "digest", (730, 1713)),
            (REAL, "20news_w100.npz", "newsgroups", (5000, 100)),
        ]
    ),
)
def test_texts(source, file, name, shape, tmp_path, monkeypatch):
    if source == STAND_IN:
        monkeypatch.setattr(cases, "POSTINGS", 50)
    case = cases.load(name, stand_ins.place(source, file, tmp_path, monkeypatch))
    assert case.values.shape == shape
    assert case.values.std() == pytest.approx(1.0)
    assert case.background
    assert set(case.k) == ({1, 5} if name == "digest" else set(range(1, 7)))
    assert case.part(30, 20).values.shape == (30, 20)


def test_scores_average_densities_not_their_logarithms():
    """With two kept draws: held out is log(mean density), training the mean log density."""
    left = iter([STATES[1], STATES[1], STATES[0], STATES[1]])

    def update(rng, seed, state, model, rows):
        state = next(left)
        return state, (0.0, SimpleNamespace(sizes=state.rows.sum(axis=0)))

    fake = SimpleNamespace(
        update=update,
        model=None,
        shown=lambda state: state,
        packed=lambda state, rows: pack_rows(state.rows),
    )
    starts = SimpleNamespace(
        task=SimpleNamespace(seed=0, case=SimpleNamespace(values=VALUES), data=None, hidden=HIDDEN),
        model=lambda method: None,
        begin=lambda rng, method: methods.Begun(STATES[0], 0.0, fake, None),
    )
    found = methods.run(starts, "Gibbs R-IBP", 4)
    a, b = densities(STATES[0]), densities(STATES[1])
    right = np.log(0.5 * (np.exp(a[HIDDEN]) + np.exp(b[HIDDEN]))).mean()
    assert found.held_out == found.median == pytest.approx(right, rel=1e-12)  # of two entries
    assert found.far == 0.0
    assert abs(found.held_out - 0.5 * (a + b)[HIDDEN].mean()) > 0.01  # the wrong average differs
    assert found.training == pytest.approx(0.5 * (a + b)[~HIDDEN].mean(), rel=1e-12)
    assert found.features == 2


def test_a_buffet_with_too_many_features_is_stopped(monkeypatch):
    monkeypatch.setattr(methods, "MOST_FEATURES", 0)
    case = cases.load("chord, by row", NO_FILES).part(30, 20)
    found = methods.run(methods.Starts(methods.task(case, "learned", 0)), "Gibbs IBP", 4)
    assert math.isnan(found.held_out)
    assert found.features > 0


@pytest.mark.parametrize("noise", methods.NOISES)
def test_buffets_of_texts_begin_with_nothing_or_with_annealing(noise):
    rng = np.random.default_rng(0)
    case = cases.Case(rng.normal(size=(30, 6)), np.ones(30, np.int64), 4, background=True)
    starts = methods.Starts(methods.task(case, noise, 0))
    assert starts.begin(rng, "Gibbs IBP").state.rows.shape == (30, 0)
    q = starts.begin(rng, "variational IBP").state.q
    assert q.nu.shape == (30, 4)
    if noise == "fixed":
        np.testing.assert_array_equal(q.parameters.noise_scale, methods.FIXED_NOISE)


def test_numbers_of_the_paper_per_entry():
    assert text.paper("Gibbs IBP", "chord, by row", "held_out") == pytest.approx(-2320 / 1332)
    assert text.paper("hybrid R-IBP", "newsgroups", "training") == pytest.approx(-1.449, abs=1e-3)
    assert text.paper("structured R-IBP", "digest", "seconds") is None


def test_cells_say_what_broke_down_and_what_was_stopped(tmp_path):
    found = study.Study(options(tmp_path), {})
    for seed, score in enumerate((-1e5, -2e5, math.nan)):
        numbers = {"held_out": score, "far": 0.25}
        found.add("digest", "learned", "Gibbs IBP", seed, numbers=numbers, seconds=1.0)
    cell = text._cell(found, "digest", "learned", "Gibbs IBP", "held_out")
    assert cell.startswith("breaks down: -1.5e+05 (-1.8e+05, -1.2e+05); 1 of 3 over 200 features [")
    assert text._cell(found, "digest", "learned", "Gibbs IBP", "far") == "25.00"
    assert text._cell(found, "digest", "learned", "Gibbs IBP", "training").startswith("over 200")
    assert text._cell(found, "digest", "fixed", "Gibbs IBP", "training") == "not run"


def test_a_run_of_the_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "QUICK", tables.Scale((1, 0, 0, 0), 2, 30, 12))
    monkeypatch.setattr(tables, "NOISES", ("learned",))
    monkeypatch.setattr(methods, "_STARTS", 1)
    arguments = ["--quick", "--out", str(tmp_path), "--data", str(NO_FILES)]
    tables.main(arguments)
    first = json.loads((tmp_path / "results.json").read_text())
    assert len(first["numbers"]) == 1 + len(methods.METHODS)
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "tables.md", "scores.png"}
    shown = (tmp_path / "tables.md").read_text()
    assert "| no features |" in shown
    assert "not run [-1.5" in shown
    capsys.readouterr()
    tables.main(arguments)
    assert capsys.readouterr().out == ""  # nothing was left to run


def test_other_models_have_noise_by_column(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "QUICK", tables.Scale((1, 0, 0, 0), 2, 60, 12))
    monkeypatch.setattr(tables, "NOISES", ("by column",))
    monkeypatch.setattr(tables, "METHODS", {})
    means = masked.Normal(np.zeros((60, 12)), np.ones(12))
    monkeypatch.setattr(
        mofa, "gaussian", lambda python, seed: lambda values, observed, number: means
    )
    asked = ["--quick", "--out", str(tmp_path), "--data", str(NO_FILES), "--others", "python"]
    tables.main(asked)
    found = json.loads((tmp_path / "results.json").read_text())["numbers"]
    assert list(found) == [
        f"chord, by row | {one} | 0"
        for one in ("no features", "by column | NMF", "by column | MOFA+")
    ]
    case = cases.load("chord, by row", NO_FILES).part(60, 12)
    of_normal = norm.logpdf(case.values[case.hidden(0)]).mean()
    found = [found[f"chord, by row | by column | {one} | 0"] for one in ("NMF", "MOFA+")]
    assert found[1]["held_out"] == pytest.approx(of_normal, rel=1e-5)
    assert found[0]["training"] > found[0]["held_out"]
    shown = (tmp_path / "tables.md").read_text()
    assert shown.count("| NMF |") == shown.count("| MOFA+ |") == 2  # training and held out
    assert rivals.names("by column", None) == ["NMF"]
    assert rivals.names("learned", NO_FILES) == []


# Features that are known


@pytest.mark.parametrize(
    ("source", "file", "name", "shape", "features"),
    there(
        [
            (STAND_IN, "reuters_mix.npz", "mix", (39, 50), 13),
            (STAND_IN, "reuters_digest.npz", "digest", (40, 70), 17),
            (STAND_IN, "emotions.npz", "emotions", (36, 20), 6),
            (STAND_IN, "medical.npz", "medical", (56, 29), 4),
            (REAL, "reuters_mix.npz", "mix", (1070, 200), 13),
            (REAL, "reuters_digest.npz", "digest", (730, 1713), 17),
            (REAL, "emotions.npz", "emotions", (593, 72), 6),
            (REAL, "medical.npz", "medical", (911, 374), 21),
        ]
    ),
)
def test_real_cases(source, file, name, shape, features, tmp_path, monkeypatch):
    case = real_cases.load(name, stand_ins.place(source, file, tmp_path, monkeypatch))
    assert case.k.min() >= 1
    assert case.positive.min() >= 0
    assert (case.word_counts is None) == (name == "emotions")
    assert case.data.shape == shape
    assert case.rows.shape[1] == features
    assert case.rows.sum(axis=0).min() > 5


def test_stored_results_are_those_of_the_real_sets():
    stored = json.loads((ROOT / "experiments/real_features/results/results.json").read_text())
    features = {"chords": 12, "mix": 13, "emotions": 6, "digest": 17, "medical": 21}
    for name, number in features.items():
        assert stored["numbers"][f"{name} | chance | 0"]["chance, features"] == number
    stored = json.loads((ROOT / "experiments/tables/results/results.json").read_text())
    assert stored["setting"]["postings"] == cases.POSTINGS == 5000
    assert stored["setting"]["n_rows"] is stored["setting"]["n_dims"] is None


def test_everybody_gives_rows_with_the_right_counts():
    case = real_cases.load("chords", NO_FILES).part(40, 30)
    for name, run in real_methods.METHODS.items():
        for who, rows in run(case, 0, 2).rows.items():
            if who != "IBP, Gibbs":
                np.testing.assert_array_equal(rows.sum(axis=1), case.k, err_msg=name)
            assert real_features.RUNS[who] == name
    words = np.random.default_rng(0).poisson(1.0, size=(12, 5)).astype(float)
    truth = np.eye(12, 3, dtype=np.int8) + np.eye(12, 3, k=-5, dtype=np.int8)
    truth[~truth.any(axis=1), 0] = 1
    found = real_methods.poisson(real_cases.Case(words, truth, True, words), 0, 2)
    assert found.rows["R-IBP, Poisson"].sum(axis=1).tolist() == truth.sum(axis=1).tolist()


def test_other_models_find_features_that_are_easy():
    rng = np.random.default_rng(1)
    truth = (rng.random((200, 4)) < 0.4).astype(np.int8)
    truth[~truth.any(axis=1), 0] = 1
    parts = np.kron(np.eye(4), np.ones(5))
    case = real_cases.Case(truth @ parts + 0.05 * rng.random((200, 20)), truth, background=False)
    for method in ("nmf", "nmf pursued", "ksvd", "dictionary", "factors"):
        ((name, rows),) = real_methods.METHODS[method](case, 0, 0).rows.items()
        assert f1(rows, truth) > 0.95, name
    (rows,) = real_methods.chance(case, 0, 0).rows.values()
    assert f1(rows, truth) < 0.7


def test_logistic_pca_of_zeros_and_ones_only():
    rng = np.random.default_rng(2)
    truth = np.eye(3, dtype=np.int8)[rng.integers(3, size=150)]
    words = (rng.random((150, 24)) < 0.05 + 0.9 * truth @ np.kron(np.eye(3), np.ones(8))) * 1.0
    case = real_cases.Case(words / words.std(), truth, True, words)
    (rows,) = real_methods.logistic(case, 0, 0).rows.values()
    assert f1(rows, truth) > 0.9
    counts = real_cases.Case(words, truth, True, 2.0 * words)
    assert real_methods.logistic(counts, 0, 0).rows == {}


def test_mofa_if_there_is_an_interpreter(monkeypatch):
    truth = np.eye(3, dtype=np.int8)[np.arange(30) % 3]
    case = real_cases.Case(truth @ np.kron(np.eye(3), np.ones(8)), truth, background=False)

    def factors(python, values, likelihood, number, seed):
        assert (python, likelihood, number, seed) == (NO_FILES, "gaussian", 3, 5)
        weights = np.kron(np.eye(3), np.ones((8, 1)))
        return mofa.Factors(-(truth - truth.mean(axis=0)), -weights)

    monkeypatch.setattr(mofa, "factors", factors)
    (rows,) = real_methods.methods(NO_FILES)["mofa"](case, 5, 0).rows.values()
    assert f1(rows, truth) == 1.0
    assert "mofa" not in real_methods.methods(None)


def test_what_is_gained_over_other_models(tmp_path):
    found = study.Study(options(tmp_path), {})
    for seed, gain in enumerate((0.1, 0.12, 0.11)):
        for case, times in (("chords", 1.0), ("mix", -1.0)):
            ours = {"R-IBP, Gibbs": 0.5 + times * gain, "R-IBP, structured": 0.5}
            found.add(case, "restricted", seed, numbers=ours, seconds=1.0)
            found.add(case, "nmf", seed, numbers={"NMF": 0.5}, seconds=1.0)
    found.add("mix", "buffet", 0, numbers={"stopped at": 201}, seconds=1.0)
    found.add("chords", "ksvd", 1, numbers={"K-SVD": 0.62}, seconds=1.0)
    real_features._write_paired(tmp_path / "paired.md", found)
    lines = (tmp_path / "paired.md").read_text().splitlines()[2:]
    assert lines == [
        "| IBP, Gibbs |  | over 200 features |",
        "| IBP, Gibbs, k largest |  | over 200 features |",
        "| NMF | +0.110 ± 0.006, ahead | -0.110 ± 0.006, behind |",
        "| K-SVD | +0.000, one seed |  |",
    ]


def test_features_that_come_and_go_are_matched():
    draws = [np.array([[1, 0], [1, 0], [0, 1]]), np.array([[0, 1], [0, 1], [1, 0]])]
    assert real_methods._aligned_mean(draws).tolist() == [[0, 1], [0, 1], [1, 0]]


def test_a_run_on_chords(tmp_path, monkeypatch):
    monkeypatch.setattr(real_features, "CASES", ("chords",))
    monkeypatch.setattr(real_features, "QUICK", real_features.Scale(1, 2, 30, 12))
    real_features.main(["--quick", "--out", str(tmp_path), "--data", str(NO_FILES)])
    shown = (tmp_path / "table.md").read_text()
    assert "| R-IBP, Gibbs | 0." in shown
    assert {path.name for path in tmp_path.iterdir()} == {
        "results.json", "table.md", "paired.md", "recovery.png",
    }  # fmt: skip


# Counts that are vague or wrong


def possible(what):
    k = np.array([1, 3, 3])
    laws = vague_cases.knowledge(what, k, 0, 6)
    table = laws.log_probs(6) if not what.startswith("learned") else np.zeros((len(laws.laws), 7))
    return [np.flatnonzero(np.isfinite(table[at])).tolist() for at in laws.law_of_row]


def test_what_is_said_of_counts():
    assert possible("exact") == [[1], [3], [3]]
    assert possible("plus or minus 1") == [[0, 1, 2], [2, 3, 4], [2, 3, 4]]
    assert possible("plus or minus 2") == [[0, 1, 2, 3], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]
    assert possible("window off by one") == [[1, 2, 3], [3, 4, 5], [3, 4, 5]]
    assert possible("one too many") == [[2], [4], [4]]
    assert possible("wrong by one")[0] == [2]
    assert all(one in ([2], [4]) for one in possible("wrong by one")[1:])
    assert len(vague_cases.knowledge("learned", np.array([1, 3]), 0, 6).laws) == 1
    assert len(vague_cases.knowledge("learned by group", np.array([1, 3]), 0, 6).laws) == 2
    k = np.repeat([1, 3], 500)
    laws = vague_cases.knowledge(vague_cases.MISSING, k, 0, 6)
    unknown = laws.law_of_row == [isinstance(law, Learned) for law in laws.laws].index(True)
    assert 70 <= unknown.sum() <= 130
    known = laws.log_probs(6)[laws.law_of_row[~unknown], k[~unknown]]
    np.testing.assert_array_equal(known, 0.0)


def test_rivals_have_as_much_time_and_what_they_are_told():
    case = vague_cases.load("chords", 0, NO_FILES)
    case = vague_cases.Case(case.data[:60], case.rows[:60], 20, background=False)
    features = {}
    for name, method in vague_rivals.RIVALS.items():
        found = method(case, 0, 0.2)
        assert found.seconds >= 0.2
        assert 0.0 < found.numbers["f1"] <= 1.0
        features[name] = found.numbers["features"]
    assert features["K-SVD told"] == features["NMF told"] == 12
    assert features["K-SVD given more"] == features["NMF given more"] == 20
    negative = vague_cases.Case(case.data - 1.0, case.rows, 20, background=True)
    assert vague_rivals.RIVALS["NMF told"](negative, 0, 0.0) is None
    assert vague_rivals.RIVALS["K-SVD told"](negative, 0, 0.0).numbers["f1"] > 0.3
    gaps = vague_cases.Case(np.where(case.data > 1.0, np.nan, case.data), case.rows, 20, False)
    assert vague_rivals.RIVALS["K-SVD told"](gaps, 0, 0.0) is None


def test_a_run_with_vague_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(vague_counts, "NAMES", ("chords",))
    monkeypatch.setattr(vague_counts, "QUICK", vague_counts.Scale(1, 1, 2, 40))
    vague_counts.main(["--quick", "--out", str(tmp_path), "--data", str(NO_FILES)])
    found = json.loads((tmp_path / "results.json").read_text())["numbers"]
    assert found["chords | exact | 0"]["right counts"] == 1.0
    assert found["chords | one too many | 0"]["right counts"] == 0.0
    assert {path.name for path in tmp_path.iterdir()} == {
        "results.json", "table.md", "paired.md", "knowledge.png",
    }  # fmt: skip


# Pages


WRITERS = {
    "tables": {"tables.md": text.write_tables},
    "real_features": {
        "table.md": real_features._write, "paired.md": real_features._write_paired,
    },
    "vague_counts": {
        "table.md": vague_counts._write, "paired.md": vague_counts._write_paired,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_pages_show_pictures_and_tables(name, tmp_path):
    page = (ROOT / "docs" / "evaluation" / f"{name}.md").read_text()
    results = ROOT / "experiments" / name / "results"
    for shown in (*results.glob("*.png"), *results.glob("*.md")):
        assert f"../../experiments/{name}/results/{shown.name}" in page
    stored = json.loads((results / "results.json").read_text())
    assert not stored["quick"]
    assert "seconds" not in json.dumps(stored["numbers"])
    known = study.Study(options(tmp_path), {})
    known.numbers, known.seconds = stored["numbers"], stored["timing"]["seconds"]
    assert {path.name for path in results.glob("*.md")} == set(WRITERS[name])
    for file, write in WRITERS[name].items():
        write(tmp_path / file, known)
        assert (results / file).read_text() == (tmp_path / file).read_text()
