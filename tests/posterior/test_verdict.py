"""A verdict is earned: each part by its own evidence, and all three for the good headline."""

import threading

import numpy as np
import pytest

from ribp import counts
from ribp.errors import InputError, Notice
from ribp.fitting import fit
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data
from ribp.likelihoods.validation import as_data
from ribp.model import Model
from ribp.posterior.held_out import Score
from ribp.posterior.judgement import Judgement
from ribp.posterior.predictive_checks import NOISE, Checked
from ribp.posterior.verdict import misfits, verdict
from ribp.results import Result
from tests.helpers.clear_features import clear_features
from tests.helpers.short_searches import shorten

FINE = {name: Checked(1.0, size, 0) for name, size in NOISE.items()}
GOOD = Judgement(40, 100, FINE, Score(500, 0.5, 0.1))
SHORT = {"n_chains": 2, "n_warmup": 60, "n_draws": 60, "progress": False, "n_jobs": 1}


def said(judgement, *, n_chains=2, warnings=(), notes=()):
    large, small = misfits(judgement, str) if judgement else ([], [])
    return verdict(n_chains, [*warnings, *large], [*notes, *small], judgement)


def levels(found):
    return [part.level for part in found.parts.values()]


def with_check(name, p_value, size):
    return GOOD._replace(checks=FINE | {name: Checked(p_value, size, 3)})


def test_three_yeses_are_needed():
    assert said(GOOD).level == "good"
    assert said(GOOD).headline == "This fit can be relied on"
    assert levels(said(None)) == ["good", "careful", "careful"]
    assert levels(said(GOOD, n_chains=1)) == ["careful", "good", "good"]
    rough = [Notice("few-independent-draws", "Few.")]
    assert levels(said(GOOD, notes=rough)) == ["careful", "good", "good"]
    apart = [Notice("other-features", "Apart.")]
    assert levels(said(GOOD, warnings=apart)) == ["bad", "good", "good"]
    for code in ("few-unused-features", "checkpoint-not-written", "absurd-cell"):
        found = said(GOOD, warnings=[Notice(code, "Something else.")])
        assert levels(found) == ["good", "good", "good"]
        assert found.level == "careful"
        assert str(found).endswith("- There are other warnings.")
        assert found.as_dict()["beside"] == [{"code": code, "text": "Something else."}]


@pytest.mark.parametrize("name", NOISE)
def test_every_check_can_fail(name):
    for p_value, size, level in [(0.2, 9.0, "good"), (0.01, 9.0, "careful"), (1e-4, 9.0, "bad")]:
        found = said(with_check(name, p_value, size))
        assert levels(found) == ["good", level, "good"]
        codes = [reason.code for reason in found.fits.reasons]
        assert codes == [] if level == "good" else ["misfit-" + name.replace(" ", "-")]
    sure_but_small = said(with_check(name, 1e-9, NOISE[name] * 1.01))
    assert sure_but_small.fits.level == "careful"


def test_worth():
    for mean, error, level in [
        (0.5, 0.1, "good"), (0.5, 0.3, "careful"), (0.005, 0.001, "careful"),
        (-0.1, 0.2, "careful"), (-0.5, 0.1, "bad"),
    ]:  # fmt: skip
        assert said(GOOD._replace(gain=Score(50, mean, error))).worth.level == level
    assert said(GOOD._replace(gain=None)).worth.level == "careful"
    for mean in (50.0, 80.0):  # beyond e^50 it is all the same
        assert "5.18e+21 times" in str(said(GOOD._replace(gain=Score(50, mean, 0.1))).worth)


def test_as_text_and_as_values():
    found = said(with_check("column mean", 1e-6, 2.0))
    text = str(found)
    assert text.splitlines()[0] == "Verdict: The model does not fit these data."
    assert [line[0] for line in text.splitlines()[1:]] == ["+", "!", "+"]
    assert max(map(len, text.splitlines())) <= 80
    values = found.as_dict()
    assert values["level"] == "bad"
    assert values["fits"]["reasons"][0]["code"] == "misfit-column-mean"
    assert "3 is off by 2 noise" in values["fits"]["reasons"][0]["text"]


def test_judgements_are_read_back_or_refused():
    assert Judgement.from_json(GOOD.to_json()) == GOOD
    none = GOOD._replace(checks={}, gain=None)
    assert Judgement.from_json(none.to_json()) == none
    for text in ("", "[]", "{}", "[" * 100_000, GOOD.to_json().replace("0.5", '"a"'),
                 GOOD.to_json().replace("column mean", "other"),
                 GOOD.to_json().replace("0.5", "NaN")):  # fmt: skip
        with pytest.raises(InputError, match="judgement"):
            Judgement.from_json(text)


def table(seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    made = clear_features(rng, 80, 8, most=3, size=1.5, noise=0.4)
    return made.values + offset * rng.normal(size=8), counts.as_row_counts(made.counts, 80)


def fitted(x, laws, seed=0, **options):
    return fit(Model(laws, 7, LinearGaussian()), as_data(x), seed=seed, **(SHORT | options))


@pytest.fixture(scope="module", autouse=True)
def _short_searches():
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch.setattr)
        yield


@pytest.fixture(scope="module")
def good():
    return fitted(*table())


@pytest.mark.jit
def test_a_fit_is_judged_and_remembers_it(good, tmp_path):
    assert levels(good.summary().verdict)[1:] == ["good", "good"]
    good.save(tmp_path / "fit.nc")
    loaded = Result.load(tmp_path / "fit.nc")
    assert loaded.summary().verdict == good.summary().verdict
    assert loaded.judgement == good.judgement
    assert good.judgement.rows == 80


@pytest.mark.jit
def test_chains_that_agree_on_a_model_that_does_not_fit():
    """R-hat alone, which used to be the verdict, is content with most of these."""
    x, laws = table(1, offset=5.0)
    found = fitted(x, laws).summary().verdict
    assert found.fits.level == "bad"
    assert found.level == "bad"


@pytest.mark.jit
def test_too_few_draws():
    few = fitted(*table(), n_draws=3)
    assert few.judgement == Judgement(6, 0, {}, None)
    found = few.summary().verdict
    assert "not enough draws" in found.fits.headline
    assert found.level != "good"


@pytest.mark.jit
def test_units_and_shifts_do_not_matter(good):
    """The same draws in other units: the same checks, bit for bit, and the same gain.

    But for rounding, which may change the order of unused features, and with it random numbers.
    """
    x, _ = table()
    units = 2.0 ** np.arange(-40, 40, 10)
    tree = good.tree.copy(deep=True)
    tree["features"]["components"] *= units
    tree["posterior"]["noise_scale"] *= units
    other, one = Result(tree).judged(as_data(x * units).rows).judgement, good.judgement
    assert other.gain.entries == one.gain.entries
    assert other.gain.mean == pytest.approx(one.gain.mean, abs=0.1 * one.gain.standard_error)
    assert other._replace(gain=one.gain) == one


@pytest.mark.jit
def test_two_fits_in_two_threads_say_what_each_says_alone(good):
    found = {}

    def work(seed):
        found[seed] = fitted(*table(), seed=seed).judgement

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == good.judgement
    assert found[1] != found[0]


@pytest.mark.jit
def test_hidden_entries_tell_the_worth(good):
    x, _ = table()
    hidden = np.random.default_rng(0).random(x.shape) < 0.1
    shown = Data(np.where(hidden, 0.0, x), ~hidden)
    found = good.scored(shown, x, hidden)
    assert found.judgement.hidden
    assert found.judgement.gain.entries == hidden.sum()
    assert found.judgement.checks == good.judgement.checks
    assert "hidden from the fit" in found.summary().verdict.worth.reasons[0].text


@pytest.mark.jit
@pytest.mark.parametrize("shape", [(1, 5), (12, 1), (3, 2)])
def test_small_tables(shape):
    x = np.random.default_rng(0).normal(size=shape)
    found = fitted(x, counts.as_row_counts(counts.exactly(1), shape[0]), n_draws=20)
    assert found.summary().verdict.level != "good"
