"""The text form: reading, round trips, and errors that point at the place."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ribp
from ribp import counts
from ribp.counts import (
    empirical,
    exactly,
    learned,
    mixture,
    negative_binomial,
    parse,
    poisson,
    table,
    truncated,
    uniform,
    window,
)
from ribp.counts.text import LAWS
from ribp.errors import FitWarning, InputError, StorageError
from tests.helpers.count_law_cases import all_laws
from tests.helpers.plug_ins import of_page, registered


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("exactly(3)", exactly(3)),
        ("exactly(+3)", exactly(3)),
        ("exactly(9007199254740993)", exactly(9007199254740993)),
        ("exactly(1e3)", exactly(1000)),
        ("uniform(1, 4)", uniform(1, 4)),
        ("window(3.5,1)", window(3.5, 1)),
        ("window(-1, 2)", window(-1, 2)),
        ("poisson(.5)", poisson(0.5)),
        ("poisson(2.5E-1)", poisson(0.25)),
        ("poisson(2.)", poisson(2)),
        ("negative_binomial(4, 1e-2)", negative_binomial(4, 0.01)),
        ("table(0.1,0.9)", table([0.1, 0.9])),
        ("empirical(1,1,3)", empirical([1, 1, 3])),
        ("learned(1,1,1)", learned([1, 1, 1])),
        ("0.8*exactly(1)+0.2*poisson(9)", mixture([(0.8, exactly(1)), (0.2, poisson(9))])),
        ("1*exactly(1)", exactly(1)),
        ("+1*exactly(1) + 0*exactly(2)", exactly(1)),
        ("truncated(poisson(9))", poisson(9)),
        ("truncated(poisson(9), 1, 20)", truncated(poisson(9), 1, 20)),
        (
            "truncated(0.5*exactly(1)+0.5*poisson(3),1)",
            truncated(mixture([(0.5, exactly(1)), (0.5, poisson(3))]), 1),
        ),
        ("  exactly\t( 3\n)  ", exactly(3)),
    ],
)
def test_reads(text, law):
    assert parse(text) == law


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (exactly(3), "exactly(3)"),
        (uniform(1, 4), "uniform(1, 4)"),
        (window(3.5, 1), "uniform(3, 4)"),
        (poisson(9), "poisson(9)"),
        (poisson(1 / 3), "poisson(0.3333333333333333)"),
        (negative_binomial(4, 1e-5), "negative_binomial(4, 1e-05)"),
        (table([0, 1]), "table(0, 1)"),
        (learned([1, 0.5]), "learned(1, 0.5)"),
        (mixture([(0.8, exactly(1)), (0.2, poisson(9))]), "0.8*exactly(1) + 0.2*poisson(9)"),
        (truncated(poisson(9), 1, 20), "truncated(poisson(9), 1, 20)"),
        (truncated(poisson(9), 1), "truncated(poisson(9), 1)"),
    ],
)
def test_writes(law, text):
    assert str(law) == text


@given(all_laws)
@settings(max_examples=200)
def test_round_trip(law):
    assert parse(str(law)) == law


@given(st.text(alphabet="exactlypoisson truncated(),.*+-0123456789e", max_size=40))
@settings(max_examples=300)
def test_any_text_is_a_law_or_an_input_error(text):
    try:
        law = parse(text)
    except InputError:
        with pytest.raises(InputError, match=r"\^\n"):
            parse(text)
    else:
        assert parse(str(law)) == law


EXAMPLES = "Write a law such as exactly(3)"
ERRORS = [
    # text, column of the caret, what the first line says, what the last line says
    ("", 0, "Expected a law, found the end.", EXAMPLES),
    ("   ", 3, "Expected a law, found the end.", EXAMPLES),
    ("3", 1, "Expected '*' and a law after a number", "For the one count 3 write exactly(3)."),
    ("exacly(3)", 0, "Unknown count law 'exacly'.", "Did you mean exactly(k)?"),
    (
        "0.8*exactly(1) + 0.2*poison(9)",
        21,
        "Unknown count law 'poison'.",
        "Did you mean poisson(rate)?",
    ),
    ("zzz(1)", 0, "Unknown count law 'zzz'.", "Known: exactly, uniform, window"),
    ("mixture(1)", 0, "Unknown count law 'mixture'.", "Write a mixture as a sum: 0.8*exactly(1)"),
    ("exactly", 7, "Expected '(' after exactly, found the end.", "The form is exactly(k)."),
    ("exactly 3", 8, "Expected '(' after exactly, found '3'.", "The form is exactly(k)."),
    ("exactly(3", 9, "Expected ',' or ')', found the end.", "The form is exactly(k)."),
    ("exactly(3]", 9, "Unexpected character ']'.", EXAMPLES),
    ("exactly(3))", 10, "Expected the end, found ')'.", EXAMPLES),
    ("exactly(3) poisson(2)", 11, "Expected '+', found 'poisson'.", EXAMPLES),
    ("exactly(--3)", 9, "Expected a number, found '-'.", EXAMPLES),
    ("exactly(,)", 8, "Expected a law, found ','.", EXAMPLES),
    ("exactly()", 0, "Wrong number of arguments (0) for exactly.", "The form is exactly(k)."),
    ("uniform(1)", 0, "Wrong number of arguments (1) for uniform.", "The form is uniform(lo, hi)."),
    ("0.5*exactly(1) + ", 17, "Expected a law, found the end.", EXAMPLES),
    ("0.5*exactly(1) - 0.5*exactly(2)", 15, "Expected '+', found '-'.", EXAMPLES),
    ("0.5*0.5*exactly(1)", 4, "Expected a law, found '0.5'.", EXAMPLES),
    ("uniform(3,1)", 0, "hi must be at least lo = 3, but got 1.", "The form is uniform(lo, hi)."),
    (
        "0.5*exactly(1) + 0.5*uniform(3,1)",
        21,
        "hi must be at least lo = 3, but got 1.",
        "The form is uniform(lo, hi).",
    ),
    ("exactly(2.5)", 0, "k must be a whole number, but got 2.5.", "The form is exactly(k)."),
    ("exactly(-1)", 0, "k must be at least 0, but got -1.", "The form is exactly(k)."),
    ("exactly(" + "9" * 400 + ")", 0, "k must be", "The form is exactly(k)."),
    ("poisson(1e999)", 0, "rate must be between 0 and 1e+15, but got inf.", "The form is poisson"),
    ("poisson(exactly(3))", 0, "rate must be a number, but got exactly(3).", "The form is poiss"),
    ("truncated(3, 1)", 0, "law must be a count law, but got 3.", "The form is truncated(law,"),
    ("table(exactly(1))", 0, "p must be a list of numbers", "The form is table(p0, p1, ...)."),
    ("table(0.5,0.4)", 0, "p must sum to one, but got a sum of 0.9.", "The form is table("),
    (
        "truncated(exactly(5),\n0,3)",
        0,
        "law must have mass on 0..3, but got exactly(5)",
        "The form is truncated(law, lo, hi).",
    ),
    (
        "truncated(0.5*exactly(1)+0.4*exactly(2), 1)",
        10,
        "weights must sum to one, but got a sum of 0.9.",
        "The form is weight*law + weight*law.",
    ),
]


@pytest.mark.parametrize(("text", "column", "first", "last"), ERRORS, ids=range(len(ERRORS)))
def test_errors_point_at_the_place(text, column, first, last):
    with pytest.raises(InputError) as caught:
        parse(text)
    lines = str(caught.value).split("\n")
    assert len(lines) == 4
    assert lines[0].startswith(first)
    assert lines[1] == "    " + text.replace("\n", " ")
    assert lines[2] == "    " + " " * column + "^"
    assert lines[3].startswith(last)
    assert caught.value.place == column
    assert caught.value.argument == "text"


@pytest.mark.parametrize("text", [None, 3, exactly(3), b"exactly(3)"], ids=repr)
def test_only_text_is_read(text):
    with pytest.raises(InputError, match="text must be a string"):
        parse(text)


def test_nothing_is_evaluated():
    with pytest.raises(InputError, match="Unknown count law '__import__'"):
        parse("__import__(1)")


# A law of another package

LAW = "0.5*exactly(1) + 0.5*at_least(1, 0.2)"


def test_a_law_of_another_package_is_read_stored_and_missed(tmp_path):
    model = ribp.RestrictedIBP(max_features=3, counts=LAW, n_chains=1, n_warmup=1, n_draws=4)
    X = np.random.default_rng(0).normal(size=(12, 4))
    with registered(LAWS, "at_least", of_page("adding-a-count-law")["AtLeast"]):
        assert str(counts.parse(LAW)) == LAW
        with pytest.raises(InputError, match=r"The form is at_least\(lo, again, hi\)"):
            counts.parse("at_least(1)")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            model.set_params(progress=False, random_state=0).fit(X).save(tmp_path / "fit.nc")
        again = ribp.load(tmp_path / "fit.nc")
        assert str(again.counts_) == str(model.counts_)
    with pytest.raises((InputError, StorageError), match="Unknown count law 'at_least'"):
        ribp.load(tmp_path / "fit.nc")
    with pytest.raises(InputError, match=r"install that, or call ribp\.counts\.register"):
        counts.parse(LAW)
