"""Every picture holds for results at the edge, and Matplotlib has nothing to warn of."""

import io

import numpy as np
import pytest

from ribp import counts, plots
from ribp.plots.labels import plain
from tests.helpers.harsh_results import CASES, RNG, case, other_modes
from tests.helpers.plot_cases import made, popular_rows, texts

PICTURES = [
    plots.features, plots.activity, plots.counts, plots.weights, plots.traces, plots.ranks,
    plots.stability, plots.coactivation,
]  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_every_picture_can_be_drawn(name):
    result = CASES[name]()
    for draw in PICTURES:
        np.ravel(draw(result))[0].figure.draw_without_rendering()


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_pictures_with_harsh_names_can_be_written(kind):
    result = CASES["names"]()
    for draw in (plots.features, plots.activity):
        written = io.BytesIO()
        np.ravel(draw(result))[0].figure.savefig(written, format=kind)
        assert written.getvalue()


def test_nothing_to_show_is_said():
    result = CASES["features nobody has"]()
    for draw in (plots.features, plots.activity, plots.weights):
        assert "No feature is in use" in texts(draw(result))
    assert "No feature is in use in any draw." in texts(plots.stability(result))


def test_too_few_draws_are_said():
    result = case(20, 3, 5, n_draws=3)
    assert "Too few draws" in texts(plots.ranks(result))
    assert "R-hat unknown" in texts(plots.traces(result))


def test_chains_that_do_not_move_at_different_places_have_an_infinite_r_hat():
    result = case(20, 3, 5)
    values = result.tree["posterior"]["log_joint"].to_numpy()
    values[0], values[1] = 1.0, 2.0
    assert "R-hat infinite" in texts(plots.traces(result))


def test_other_modes_are_named_and_grey():
    result = other_modes()
    assert len(result.modes) == 3
    ax = plots.stability(result)
    image = np.ma.getmaskarray(ax.images[0].get_array())
    others = {chain for mode in result.modes[1:] for chain in mode.chains}
    assert set(np.flatnonzero(image.all(axis=1)).tolist()) == others
    for mode in result.modes[1:]:
        assert f"other features ({mode.agreement:.0%} agreement)" in texts(ax)
    assert "chain 3, other features" in texts(plots.traces(result))


def test_a_buffet_has_no_law_to_compare_with():
    (ax,) = plots.counts(CASES["buffet"]())
    assert not ax.lines
    assert "count law" not in texts([ax])
    assert ax.get_title() == "20 rows"


def test_many_rows_remain_readable():
    truth = np.tile(popular_rows(RNG, 1000, 5, 4), (100, 1))
    laws = counts.as_row_counts(counts.uniform(0, 3), len(truth))
    result = made(truth, RNG.normal(size=(5, 1)), laws=laws, n_draws=2, flips=0.0)
    ax = plots.activity(result)
    assert ax.images[0].get_array().shape == (400, 4)
    assert "100000 rows" in ax.get_ylabel()
    assert plots.coactivation(result).images[0].get_array().shape == (400, 400)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$x$", r"\$x\$"),
        ("a\n b\tc", "a b c"),
        ("x" * 30, "x" * 23 + "…"),
        ("音 a", "\ufffd a"),
        ("<b>&", "<b>&"),
        ("_a", "_a"),
        (7, "7"),
    ],
)
def test_names_are_plain(text, expected):
    assert plain(text) == expected
