"""The page of a fit: whole, harmless, and true to the result, also at the edge."""

import base64
import hashlib
from html.parser import HTMLParser

import numpy as np
import pytest

from ribp.errors import Notice, StorageError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.validation import as_data
from ribp.posterior.held_out import score
from ribp.posterior.predictive_checks import NOISE
from ribp.posterior.verdict import QUESTIONS
from ribp.report import Fit, page, write_report
from ribp.report.elements import Html, table, tag
from ribp.report.row_table import law_words
from ribp.report.words import _ADVICE, advice, in_words
from tests.helpers.harsh_results import CASES
from tests.helpers.plot_cases import made, popular_rows

RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def _pictures_are_not_drawn(request, monkeypatch):
    """Drawing takes a second a picture, and is tested elsewhere: stand-ins do, if not asked for."""
    if request.node.originalname == "test_pages_with_pictures_stay_small":
        return

    def stand_in(axes, alt):
        assert np.ravel(axes)[0].figure is not None
        return tag("figure", tag("img", src="data:image/png;base64,AA==", alt=alt))

    for module in ("hidden_entries", "sections", "trust"):
        monkeypatch.setattr(f"ribp.report.{module}.picture", stand_in)


class Reader(HTMLParser):
    """What a page holds; an error if its tags are not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.texts, self.tags, self.links, self.sections = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        found = dict(attributes)
        self.links += [found[key] for key in ("src", "href", "action") if key in found]
        if name == "section":
            self.sections.append(found["id"])
        if name == "img":
            assert found["alt"]
        if name not in ("img", "meta"):
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, text):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(text)

    @property
    def text(self):
        return " ".join(self.texts)


def read(fit):
    text = page(fit)
    assert len(text) < 2_000_000
    found = Reader(text)
    assert not {"iframe", "link", "object"} & set(found.tags)
    assert found.tags.count("script") == 1
    pictures = [link for link in found.links if not link.startswith("#")]
    assert all(link.startswith("data:image/png;base64,") for link in pictures)
    assert found.links[: len(found.sections)] == [f"#{name}" for name in found.sections]
    found.links = pictures
    return found


def data_of(result):
    shape = (result.settings["n_rows"], result.settings["n_dims"])
    kind = RNG.poisson(2.0, shape) if "poisson" in str(result.settings) else RNG.normal(size=shape)
    return as_data(np.asarray(kind, dtype=np.float64))


@pytest.mark.parametrize("name", ["200 features", "5000 columns"])
def test_pages_with_pictures_stay_small(name):
    result = CASES[name]()
    found = read(Fit(result, "data.csv", data_of(result)))
    assert sum(map(len, found.links)) > 100_000


@pytest.mark.parametrize("name", list(CASES))
def test_every_result_has_a_page(name):
    result = CASES[name]()
    found = read(Fit(result, "<i>data</i>.csv", data_of(result)))
    assert "What ribp found in <i>data</i>.csv" in found.text
    has_rows = ["rows"] if "rows" in found.sections else []
    assert bool(has_rows) == bool(result.shown_places.size)
    assert found.sections == [
        "asked", "features", *has_rows, "rebuilt", "counts", "converged", "fits", "held-out",
        "warnings", "reproduce", "terms",
    ]  # fmt: skip


def test_names_are_shown_as_they_are_written_and_nothing_is_injected():
    names = [f"<b>row {n}</b>" for n in range(20)]
    truth = popular_rows(RNG, 20, 3)
    result = made(truth, RNG.normal(0.0, 3.0, (3, 4)), dim_names=list("<>&$"), row_names=names)
    evil = "<script>alert(1)</script>"
    fit = Fit(
        result, evil, data_of(result), comparison={evil: {"log_density": 1.0}}, commands=[evil]
    )
    text = page(fit)
    assert text.count("<script") == 1
    assert "<script>alert" not in text
    found = read(fit)
    assert found.text.count(evil) >= 3
    assert "<b>row " in found.text  # it shows a feature


def test_without_rows_no_name_or_number_of_a_row_is_on_the_page():
    truth = popular_rows(RNG, 12, 3)
    names = [f"patient-{n}" for n in range(12)]
    result = made(truth, RNG.normal(0.0, 3.0, (3, 5)), row_names=names)
    shown = read(Fit(result, "d", data_of(result)))
    hidden = read(Fit(result, "d", data_of(result), show_rows=False))
    assert "patient-" in shown.text
    assert "patient-" not in hidden.text
    assert "rebuilt" not in hidden.sections
    assert len(hidden.links) < len(shown.links)


def test_without_the_data_the_page_says_so():
    result = CASES["one chain, shared noise"]()
    assert "The data were not there" in read(Fit(result)).text


def test_examples_are_rows_that_surely_have_the_feature_and_little_else():
    truth = np.zeros((8, 2), np.int8)
    truth[:6, 0] = 1
    truth[4:, 1] = 1
    names = [f"r{n}" for n in range(8)]
    result = made(truth, 9.0 * np.eye(2), flips=0.0, row_names=names)
    texts = read(Fit(result, "d", data_of(result))).texts
    assert "r0, r1, r2, r3, r4" in texts
    assert "r6, r7, r4, r5" in texts


def test_numbers_on_the_page_are_those_of_the_result():
    truth = popular_rows(RNG, 30, 4)
    result = made(truth, RNG.normal(0.0, 3.0, (4, 6)))
    data, hidden = data_of(result), RNG.random((30, 6)) < 0.1
    seen = as_data(np.where(hidden, np.nan, data.values))
    fit = Fit(result, "d", seen, hidden=(data.values, hidden))
    text = read(fit).text
    ours = score(result.held_out_log_density(data.values, hidden))
    beside = score(LinearGaussian().column_log_density(seen, data.values)[hidden])
    assert f"{ours.entries:,} entries were hidden" in text
    assert f"{ours.mean:.3f} (standard error {ours.standard_error:.3f})" in text
    assert f"has {beside.mean:.3f}" in text
    for each in result.diagnostics().values():
        assert f"{each.r_hat:.3f}" in text
    assert "seed" in text.lower()


def test_columns_alone_are_scored_as_a_normal_law_of_each():
    values = np.array([[1.0, 10.0], [3.0, 30.0], [2.0, 50.0], [9.0, 20.0]])
    hidden = np.zeros((4, 2), bool)
    hidden[3] = True
    seen = as_data(np.where(hidden, np.nan, values))
    found = LinearGaussian().column_log_density(seen, values)[hidden]
    for at, (mean, sd) in enumerate([(2.0, np.sqrt(2 / 3)), (30.0, np.sqrt(800 / 3))]):
        z = (values[3, at] - mean) / sd
        assert np.isclose(found[at], -0.5 * z**2 - np.log(sd * np.sqrt(2 * np.pi)))
    counts = PoissonCounts().column_log_density(seen, values)[hidden]
    rate = (6.0 + 0.5) / 3
    assert np.isclose(counts[0], 9 * np.log(rate) - rate - np.log(362880.0))


def test_the_box_shows_three_answers_with_their_reasons():
    assert in_words("R-hat is 2 for log_joint, 3 for shared_features.") == (
        "R-hat is 2 for fit, 3 for features that two rows share."
    )
    found = read(Fit(CASES["other modes"]()))
    assert "Do not rely on this fit" in found.text
    assert "different sets of features" in found.text
    for question in QUESTIONS.values():
        assert question in found.text
    assert "Whether the model fits was not checked." in found.text


def test_checks_are_shown_with_their_numbers():
    truth = popular_rows(RNG, 30, 4)
    result = made(truth, RNG.normal(0.0, 3.0, (4, 6)), dim_names=[f"c{n}" for n in range(6)])
    data = data_of(result)
    found = result.judged(data.rows)
    text = read(Fit(found, "d", data)).text
    assert "Does the model fit?" in text
    for name, one in found.judgement.checks.items():
        assert name in text
        assert f"{one.p_value:.2g}" in text
    assert found.summary().verdict.headline in text
    few = found.judgement._replace(checks={}, gain=None)
    text = read(Fit(result._with("judgement", few.to_json()), "d", data)).text
    assert "There were not enough draws" in text


def test_every_warning_has_advice():
    summaries = [case().summary() for case in CASES.values()]
    notices = [one for each in summaries for one in [*each.warnings, *each.notes]]
    fallback = advice(Notice("new", "something new"))
    assert len(notices) > 5
    assert all(advice(one) != fallback for one in notices)
    assert {"misfit-" + name.replace(" ", "-") for name in NOISE} <= set(_ADVICE)


def test_a_comparison_is_a_table_and_a_picture():
    result = CASES["one chain, shared noise"]()
    models = {
        "restricted": {"log_density": 1.25, "standard_error": 0.5, "features": 3, "seconds": 2.0},
        "unrestricted": {"log_density": -0.75, "standard_error": 0.25, "features": 9},
        "NMF": {"features": 12, "f1": 0.5, "r_hat": float("nan")},
    }
    found = read(Fit(result, comparison=models))
    assert {"1.250", "-0.750", "0.500", "12"} <= set(found.texts)
    assert len(found.links) == 1 + len(read(Fit(result)).links)


def test_axis_labels_come_from_names_such_as_10_hz():
    from ribp.report.sections import _axis

    numbers, unit = _axis(["0 Hz", "10 Hz", "20 Hz"])
    assert numbers.tolist() == [0.0, 10.0, 20.0]
    assert unit == "Hz"
    assert _axis(["1", "2"])[1] == "column"
    for names in (None, ["1 Hz"], ["1 Hz", "2 kHz"], ["2", "1"], ["a", "b"], ["", "1"]):
        assert _axis(names) is None


def test_elements_escape():
    assert tag("p", "<&>", Html("<b>x</b>"), None, class_='"') == (
        '<p class="&quot;">&lt;&amp;&gt;<b>x</b></p>'
    )
    assert "&lt;td&gt;" in table(("a", "b"), [("<td>", "1")])


def test_a_page_is_whole_or_not_there(tmp_path, monkeypatch):
    result = CASES["one chain, shared noise"]()
    target = tmp_path / "page.html"
    write_report(Fit(result), target)
    assert Reader(target.read_text(encoding="utf-8"))
    with pytest.raises(StorageError, match="cannot be written"):
        write_report(Fit(result), tmp_path / "no" / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_policy_allows_the_script_and_nothing_else():
    text = page(Fit(CASES["one chain, shared noise"]()))
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in text
    assert len(script) < 6000


def test_rows_are_a_table_with_labels_and_counts():
    truth = popular_rows(RNG, 12, 3)
    result = made(truth, RNG.normal(0.0, 3.0, (3, 5)), row_names=[f"p{n}" for n in range(12)])
    result = result.named({0: "loud <C>"})
    labels = {"site": ["A", None, *"BCDEFGHIJK"]}
    fit = Fit(result, "d", data_of(result), labels=labels)
    found = read(fit)
    assert {"site", "K", "p11", "loud <C>"} <= set(found.texts)
    assert 'data-name="rows"' in page(fit)
    assert 'data-name="features"' in page(fit)
    assert "rows" not in read(Fit(result, "d", show_rows=False, labels=labels)).sections
    assert "K" not in read(Fit(result, "d", show_rows=False, labels=labels)).texts


def test_laws_in_few_words():
    assert law_words("exactly(3)") == "3"
    assert law_words("learned(1, 0.5, 0.25)") == "learned, 0 to 2"
    assert law_words("uniform(1, 2)") == "uniform(1, 2)"
    assert law_words("0.5*exactly(1) + 0.5*exactly(2)") == "0.5*exactly(1) + 0.5*exactly(2)"


def test_named_columns_are_labelled_bars():
    truth = popular_rows(RNG, 12, 3)
    names = ["<marker>", "x" * 90, "c", "d", "e"]
    result = made(truth, RNG.normal(0.0, 3.0, (3, 5)), dim_names=names)
    data = data_of(result)
    data = as_data(np.where(np.arange(5) == 2, np.nan, data.values))
    found = read(Fit(result, "d", data))
    assert found.tags.count("svg") == 3 + 6
    assert "<marker>" in found.texts
    assert found.tags.count("rect") == 15
    assert found.tags.count("circle") == 6 * (5 + 4)
