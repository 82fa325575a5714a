"""Every picture holds for results at the edge, and Matplotlib has nothing to warn of."""

import io

import matplotlib
import numpy as np
import pytest

from ribp import counts, plots
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.plots.labels import plain
from tests.helpers.plot_cases import made, truth_of

RNG = np.random.default_rng(0)
NAMES = [
    "price_$", "<b>goal</b>", "$x^2$ and $y_1$", "_hidden", "a very long name " * 20,
    "\n\ttab", "音楽🎹", "", r"back\slash $\frac{", "%s {} %",
]  # fmt: skip


def case(rows, features, dims, used=None, **options):
    truth = truth_of(RNG, rows, features, used)
    return made(truth, RNG.normal(0.0, 3.0, (features, dims)), **options)


def other_modes():
    truth = truth_of(RNG, 40, 5, 4)
    swapped = truth.copy()
    swapped[:20, :2] = swapped[:20, 1::-1]
    chains = [truth, swapped, truth, truth[RNG.permutation(40)]]
    return made(truth, RNG.normal(0.0, 3.0, (5, 6)), rows_of_chain=chains)


CASES = {
    "one feature": lambda: case(20, 1, 5, laws="uniform(0, 1)"),
    "one column": lambda: case(20, 3, 1),
    "one row": lambda: case(1, 3, 4, flips=0.0),
    "200 features": lambda: case(120, 200, 3, flips=0.001, n_draws=2, laws="uniform(0, 9)"),
    "5000 columns": lambda: case(20, 3, 5000, n_draws=4),
    "features nobody has": lambda: case(20, 4, 5, 0, constant=True),
    "one chain, shared noise": lambda: case(
        20, 3, 5, rows_of_chain=[truth_of(RNG, 20, 3)], likelihood=LinearGaussian(shared=True)
    ),
    "one draw": lambda: case(20, 3, 5, n_draws=1),
    "constant traces": lambda: case(20, 3, 5, constant=True),
    "other modes": other_modes,
    "names": lambda: case(
        20, 3, len(NAMES), dim_names=NAMES, row_names=[NAMES[i % 10] for i in range(20)]
    ),
    "poisson": lambda: case(20, 3, 5, likelihood=PoissonCounts()),
    "buffet": lambda: case(20, 3, 5, laws=None),
    "empty buffet": lambda: case(20, 0, 5, laws=None),
    "many chains": lambda: case(20, 3, 5, n_draws=5, rows_of_chain=[truth_of(RNG, 20, 3)] * 12),
}
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


def said(axes):
    figure = np.ravel(axes)[0].figure
    return " | ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


def test_nothing_to_show_is_said():
    result = CASES["features nobody has"]()
    for draw in (plots.features, plots.activity, plots.weights):
        assert "No feature is in use" in said(draw(result))
    assert "No feature is in use in any draw." in said(plots.stability(result))


def test_too_few_draws_are_said():
    result = case(20, 3, 5, n_draws=3)
    assert "Too few draws" in said(plots.ranks(result))
    assert "R-hat unknown" in said(plots.traces(result))


def test_chains_that_do_not_move_at_different_places_have_an_infinite_r_hat():
    result = case(20, 3, 5)
    values = result.tree["posterior"]["log_joint"].to_numpy()
    values[0], values[1] = 1.0, 2.0
    assert "R-hat infinite" in said(plots.traces(result))


def test_other_modes_are_named_and_grey():
    result = other_modes()
    assert len(result.modes) == 3
    ax = plots.stability(result)
    image = np.ma.getmaskarray(ax.images[0].get_array())
    others = {chain for mode in result.modes[1:] for chain in mode.chains}
    assert set(np.flatnonzero(image.all(axis=1)).tolist()) == others
    for mode in result.modes[1:]:
        assert f"other features ({mode.agreement:.0%} agreement)" in said(ax)
    assert "chain 3, other features" in said(plots.traces(result))


def test_a_buffet_has_no_law_to_compare_with():
    (ax,) = plots.counts(CASES["buffet"]())
    assert not ax.lines
    assert "count law" not in said([ax])
    assert ax.get_title() == "20 rows"


def test_many_rows_remain_readable():
    truth = np.tile(truth_of(RNG, 1000, 5, 4), (100, 1))
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
