"""What pictures show is what the draws say."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import expit

from ribp import counts, plots
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.validation import as_data
from ribp.plots.reading import places
from ribp.posterior.predictive_checks import Checked
from tests.helpers.plot_cases import made, popular_rows, texts

RNG = np.random.default_rng(0)
TRUTH = popular_rows(RNG, 40, 6, used=4)
COMPONENTS = RNG.normal(0.0, 3.0, (6, 9))
WORDS = [f"word {i}" for i in range(9)]


def drawn(axes):
    """Draw it, so that anything wrong with it shows, and return it."""
    np.ravel(axes)[0].figure.get_figure(root=True).draw_without_rendering()
    return axes


@pytest.fixture(scope="module")
def result():
    return made(TRUTH, COMPONENTS)


def by_hand(result, place):
    """Return components, weights and rows of a feature in the draws that use it."""
    found, alignment = result.draws(), result.alignment
    rows = np.array([found.unpacked(at)[:, place] for at in range(len(found.rows))])
    used = rows.any(axis=1)
    components = np.array([one.features[place] for one in found.parameters])[used]
    assert alignment.order.shape[:2] == (2, 20)
    return components, expit(found.log_odds[used, place]), rows


# Features


def test_features_in_use_are_shown_in_the_order_of_their_popularity(result):
    axes = drawn(plots.features(result))
    assert len(axes) == 4
    shares = result.alignment.activity.mean(axis=(0, 1))[:4]
    assert (np.diff(shares) <= 0).all()
    titles = [f"feature{i}: {share:.0%} of rows" for i, share in enumerate(shares)]
    assert [ax.get_title() for ax in axes] == titles


def test_lines_are_means_and_bands_are_quantiles(result):
    axes = drawn(plots.features(result))
    for place, ax in enumerate(axes):
        components, _, _ = by_hand(result, place)
        x, y = ax.lines[-1].get_data()
        np.testing.assert_array_equal(x, np.arange(9))
        np.testing.assert_allclose(y, components.mean(axis=0), rtol=1e-12)
        band = ax.collections[0].get_paths()[0].vertices
        low, high = np.quantile(components, [0.05, 0.95], axis=0)
        for at in range(9):
            ys = band[band[:, 0] == at, 1]
            np.testing.assert_allclose([ys.min(), ys.max()], [low[at], high[at]], rtol=1e-12)


def test_lines_over_an_axis_are_sorted_by_it(result):
    axis = 100.0 * np.arange(9)[::-1]
    axes = drawn(plots.features(result, axis=(axis, "frequency (Hz)")))
    x, y = axes[0].lines[-1].get_data()
    np.testing.assert_array_equal(x, np.sort(axis))
    np.testing.assert_allclose(y[::-1], by_hand(result, 0)[0].mean(axis=0), rtol=1e-12)
    assert "frequency (Hz) (line: mean; band: 5% to 95% of draws)" in texts(axes)
    plain = drawn(plots.features(result, axis=axis))
    np.testing.assert_array_equal(plain[0].lines[-1].get_xdata(), x)


def test_images_hold_the_mean_component(result):
    axes = drawn(plots.features(result, shape=(3, 3)))
    for place, ax in enumerate(axes):
        expected = by_hand(result, place)[0].mean(axis=0).reshape(3, 3)
        np.testing.assert_allclose(ax.images[0].get_array(), expected, rtol=1e-12)
        assert ax.images[0].get_clim() == axes[0].images[0].get_clim()
    low, high = axes[0].images[0].get_clim()
    assert low == -high  # these have negative values: zero is in the middle


def test_bars_are_the_largest_values_with_their_names(result):
    axes = drawn(plots.features(result, names=WORDS))
    mean = by_hand(result, 1)[0].mean(axis=0)
    largest = np.argsort(-np.abs(mean))[:8]
    widths = [bar.get_width() for bar in axes[1].patches]
    np.testing.assert_allclose(widths, mean[largest], rtol=1e-12)
    labels = [label.get_text() for label in axes[1].get_yticklabels()]
    assert labels == [WORDS[i] for i in largest]


def test_names_of_the_fit_are_used_without_asking():
    named = made(TRUTH, COMPONENTS, dim_names=WORDS)
    assert "word 3" in texts(drawn(plots.features(named)))
    assert "word 3" not in texts(drawn(plots.features(named, axis=np.arange(9.0))))


def test_more_features_than_asked_for_are_left_out(result):
    axes = drawn(plots.features(result, most=3))
    assert len(axes) == 3
    assert "the 3 most popular of 4 features" in texts(axes)
    assert len(plots.weights(result, most=2).lines[0].get_xdata()) == 2


def test_known_features_are_shown_although_no_row_has_them():
    known = tuple(map(tuple, COMPONENTS[[5, 0]].tolist()))
    result = made(TRUTH, COMPONENTS, likelihood=LinearGaussian(known=known))
    axes = drawn(plots.features(result))
    assert places(result)[:2].tolist() == [0, 1]
    assert axes[0].get_title().startswith("known feature0")


@pytest.mark.parametrize(
    "options",
    [
        {"shape": (2, 4)},
        {"shape": (3, 3, 1)},
        {"names": ["a"]},
        {"axis": [1.0]},
        {"axis": ["a"] * 9},
        {"axis": [np.nan] * 9},
        {"most": 0},
    ],
)
def test_wrong_options_of_features_are_named(result, options):
    with pytest.raises(InputError, match=next(iter(options))):
        plots.features(result, **options)


# Rows


def test_activity_is_the_share_of_draws_with_rows_sorted(result):
    image = np.asarray(drawn(plots.activity(result)).images[0].get_array())
    probs = result.draws().row_probs()[:, :4]
    patterns = [tuple(row > 0.5) for row in image]
    assert patterns == sorted(patterns, reverse=True)
    found, expected = (sorted(map(tuple, each.round(9))) for each in (image, probs))
    assert found == expected


def test_many_rows_are_averaged_and_the_label_says_so(result):
    ax = drawn(plots.activity(result, most=12))
    image = np.asarray(ax.images[0].get_array())
    every = np.asarray(plots.activity(result).images[0].get_array())
    expected = [every[at : at + 4].mean(axis=0) for at in range(0, 40, 4)]
    np.testing.assert_allclose(image, expected, atol=1e-12)
    assert "mean of 4 rows" in ax.get_ylabel()
    last = np.asarray(plots.activity(result, most=11).images[0].get_array())
    assert len(last) == 10
    uneven = np.asarray(plots.activity(result, most=6).images[0].get_array())
    np.testing.assert_allclose(uneven[-1], every[35:].mean(axis=0), atol=1e-12)


def test_some_rows_are_named():
    names = [f"row <{i}> $x$_" for i in range(40)]
    named = made(TRUTH, COMPONENTS, row_names=names)
    ax = drawn(plots.activity(named, rows=[3, 1, 2]))
    labels = [label.get_text().replace(r"\$", "$") for label in ax.get_yticklabels()]
    assert sorted(labels) == names[1:4]
    probs = named.draws().row_probs()[:, :4]
    order = [names.index(label) for label in labels]
    np.testing.assert_allclose(ax.images[0].get_array(), probs[order], atol=1e-12)


def test_coactivation_has_the_order_of_activity(result):
    image = np.asarray(drawn(plots.coactivation(result)).images[0].get_array())
    probs = np.asarray(plots.activity(result).images[0].get_array())
    total = np.zeros((40, 40))
    found = result.draws()
    for at in range(len(found.rows)):
        z = found.unpacked(at).astype(float)
        total += z @ z.T
    total /= len(found.rows)
    np.testing.assert_allclose(np.sort(image, axis=None), np.sort(total, axis=None), atol=1e-12)
    np.testing.assert_allclose(np.diag(image), probs.sum(axis=1), atol=1e-12)


def test_coactivation_takes_some_of_many_rows(result):
    ax = drawn(plots.coactivation(result, None, 10))
    every = np.asarray(plots.coactivation(result).images[0].get_array())
    at = np.arange(2, 40, 4)
    np.testing.assert_allclose(ax.images[0].get_array(), every[np.ix_(at, at)], atol=1e-12)
    assert ax.get_xlabel().startswith("10 of 40 rows")
    few = plots.coactivation(result, [0, 5]).images[0].get_array()
    np.testing.assert_allclose(np.sort(few, axis=None), np.sort(result.coactivation([0, 5]), None))


@pytest.mark.parametrize("rows", [[40], [], [[1]], [-1], [0.5]])
def test_wrong_rows_are_named(result, rows):
    for draw in (plots.activity, plots.coactivation):
        with pytest.raises(InputError, match="rows"):
            draw(result, rows=rows)


# Counts


def test_counts_are_shares_of_rows_and_the_law(result):
    (ax,) = drawn(plots.counts(result))
    at = result.tree["features"]["draw"].to_numpy()
    shares = result.tree["posterior"]["count_histogram"].to_numpy()[:, at].reshape(-1, 7) / 40
    heights = {round(bar.get_x() + 0.35): bar.get_height() for bar in ax.patches}
    mean = shares.mean(axis=0)
    assert set(heights) >= set(np.flatnonzero(mean > 0.01).tolist())
    np.testing.assert_allclose([heights[k] for k in heights], mean[list(heights)], atol=1e-12)
    low, high = np.quantile(shares, [0.05, 0.95], axis=0)
    for k, part in zip(heights, ax.collections[0].get_segments(), strict=True):
        np.testing.assert_allclose(part[:, 1], [low[k], high[k]], atol=1e-12)
    k, law = ax.lines[0].get_data()
    expected = counts.uniform(0, 4).restricted_log_probs(0, 6)
    np.testing.assert_allclose(law, np.exp(expected)[k], atol=1e-12)
    assert "uniform(0, 4): 40 rows" in texts([ax])


GROUPS = {
    "a": counts.exactly(1),
    "b": counts.uniform(0, 3),
    "c": counts.learned([1.0] * 7),
}


def test_each_of_a_few_laws_has_a_panel():
    index = np.resize([0, 1, 2], 40)
    laws = counts.by_group(GROUPS, np.array(list("abc"))[index].tolist())
    result = made(TRUTH, COMPONENTS, laws=laws)
    axes = drawn(plots.counts(result))
    sizes = np.bincount(index)
    titles = ["exactly(1)", "uniform(0, 3)", "learned"]
    assert [ax.get_title() for ax in axes] == [
        f"{title}: {size} rows" for title, size in zip(titles, sizes, strict=True)
    ]
    found = result.draws()
    for law, ax in enumerate(axes):
        ones = [found.unpacked(at)[index == law].sum(axis=1) for at in range(len(found.rows))]
        mean = np.mean([np.bincount(one, minlength=7) / sizes[law] for one in ones], axis=0)
        k, expected = ax.lines[0].get_data()
        np.testing.assert_allclose([bar.get_height() for bar in ax.patches], mean[k], atol=1e-12)
        np.testing.assert_allclose(expected, result.count_probs()[law][k], atol=1e-12)


def test_many_laws_are_averaged_over_rows():
    laws = counts.by_row([counts.window(int(k), 1) for k in np.resize(np.arange(5), 40)])
    (ax,) = drawn(plots.counts(made(TRUTH, COMPONENTS, laws=laws)))
    k, expected = ax.lines[0].get_data()
    mean = np.mean([np.exp(law.restricted_log_probs(0, 6)) for law in laws], axis=0)
    np.testing.assert_allclose(expected, mean[k], atol=1e-12)
    assert "average of 5 laws: 40 rows" in ax.get_title()


# Weights


def test_weights_have_means_intervals_and_shares_of_rows(result):
    ax = drawn(plots.weights(result))
    weights, share = (line.get_ydata() for line in ax.lines)
    for place in range(4):
        _, weight, rows = by_hand(result, place)
        assert weights[place] == pytest.approx(weight.mean(), rel=1e-12)
        assert share[place] == pytest.approx(rows.mean(), rel=1e-12)
        interval = ax.collections[0].get_segments()[place][:, 1]
        np.testing.assert_allclose(interval, np.quantile(weight, [0.05, 0.95]), rtol=1e-12)


# Chains


def test_traces_are_the_draws_and_their_r_hat(result):
    axes = drawn(plots.traces(result))
    found = {ax.get_title().partition(" (")[0]: ax for ax in axes}
    posterior = result.tree["posterior"]
    for title, name in {"log joint density": "log_joint", "mass": "mass"}.items():
        for chain, line in enumerate(found[title].lines):
            np.testing.assert_array_equal(line.get_ydata(), posterior[name].to_numpy()[chain])
        assert f"R-hat {result.diagnostics()[name].r_hat:.3f}" in found[title].get_title()
    styles = {(line.get_color(), line.get_linestyle()) for line in axes[0].lines}
    assert len({colour for colour, _ in styles}) == len({style for _, style in styles}) == 2
    assert "concentration" not in found  # it was given


# Scores, stability, checks


def test_scores_are_sorted_with_intervals():
    scores = {
        "worse": {"log_density": -2.0, "standard_error": 0.1, "seconds": 3.0},
        "better $x$": {"log_density": -1.0, "standard_error": 0.2},
        "broken": {"log_density": -np.inf, "standard_error": np.nan},
    }
    ax = drawn(plots.held_out(scores))
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [r"better \$x\$", "worse", "broken (not finite)"]
    assert ax.lines[0].get_xdata()[:2].tolist() == [-1.0, -2.0]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the best is on top
    np.testing.assert_allclose(ax.collections[0].get_segments()[0][:, 0], [-1.4, -0.6])
    assert "higher is better" in ax.get_xlabel()
    assert "No scores." in texts(drawn(plots.held_out({})))


@pytest.mark.parametrize("wrong", [{"error": 1.0}, {"log_density": "x"}, 3.0])
def test_scores_without_a_density_are_an_error(wrong):
    with pytest.raises(InputError, match="log_density"):
        plots.held_out({"model": wrong})


def test_stability_is_that_of_the_alignment(result):
    ax = drawn(plots.stability(result))
    np.testing.assert_allclose(ax.images[0].get_array(), result.alignment.stability[:, :4])
    assert f"{result.alignment.stability[0, 0]:.0%}" in texts(ax)


def test_features_that_few_draws_use_come_last():
    """Two rows have a feature in one chain of three: one mode, and a feature in a third of it."""
    more = TRUTH.copy()
    more[:2, 4] = 1
    result = made(TRUTH, COMPONENTS, rows_of_chain=[more, TRUTH, TRUTH], flips=0.0)
    assert len(result.modes) == 1
    ax = drawn(plots.stability(result))
    image = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(image[:, 4], [1.0, 0.0, 0.0])
    assert "features from 4 on" in ax.get_title()
    assert len(plots.features(result)) == 4


def test_checks_are_dots_at_their_p_values():
    checks = {"column mean": Checked(0.3, 0.1, 2), "largest entry": Checked(0.0, 7.25, 0)}
    ax = drawn(plots.predictive_checks(checks))
    dots = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert dots == [0.3, 1e-8]  # the lowest that is shown
    assert "7.25 (noise: 4)" in texts(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(checks)


# Where things are drawn


ONE_PANEL = [plots.activity, plots.weights, plots.stability, plots.coactivation]
PANELS = [plots.features, plots.counts, plots.traces, plots.ranks]


@pytest.mark.parametrize("draw", ONE_PANEL, ids=lambda draw: draw.__name__)
def test_one_panel_is_drawn_where_asked(result, draw):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert draw(result, ax=right) is right
    assert right.has_data()
    assert not left.has_data()
    drawn(right)


@pytest.mark.parametrize("draw", PANELS, ids=lambda draw: draw.__name__)
def test_panels_are_drawn_where_asked(result, draw):
    figure = Figure(layout="constrained", figsize=(12, 6))
    left, right = figure.subfigures(1, 2)
    axes = draw(result, figure=right)
    assert isinstance(axes, np.ndarray)
    assert all(ax.figure is right for ax in axes)
    assert not left.axes
    drawn(axes)


def open_figures():
    """Return the figures that pyplot keeps open."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.get_fignums() if pyplot else []


def test_settings_of_the_user_stay_and_pyplot_is_not_used(result):
    opened = open_figures()  # those of the gallery, if it was made before
    before = {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
    for draw in ONE_PANEL + PANELS:
        draw(result)
    assert {name: matplotlib.rcParams[name] for name in before} == before
    assert open_figures() == opened


def test_notebooks_can_show_a_figure(result):
    assert plots.activity(result).figure._repr_png_().startswith(b"\x89PNG")


def test_many_rows_are_all_there_although_features_are_matched_by_some(monkeypatch):
    from ribp.posterior import stored_draws as kept

    all_rows = made(TRUTH, COMPONENTS).row_probs()
    monkeypatch.setattr(kept, "_MOST_ROWS", 20)
    result = made(TRUTH, COMPONENTS)
    assert result.alignment.activity.shape[1] == 20
    some = result.row_probs()  # features that are equally popular may change places
    np.testing.assert_allclose(
        some[:, np.lexsort(some)], all_rows[:, np.lexsort(all_rows)], atol=1e-12
    )


# Rows rebuilt


def test_rebuilt_rows_are_means_over_draws(result):
    data = as_data(np.random.default_rng(0).normal(size=(result.settings["n_rows"], 9)))
    values = data.values.copy()
    values[3, 2] = np.nan
    axes = drawn(plots.rebuilt(result, as_data(values), rows=[3, 1]))
    draws = result.draws()
    for ax, row in zip(axes, (3, 1), strict=True):
        expected = np.mean(
            [
                draws.unpacked(at)[row] @ given.features + given.background
                for at, given in enumerate(draws.parameters)
            ],
            axis=0,
        )
        seen, made = (line.get_ydata() for line in ax.lines)
        np.testing.assert_array_equal(seen, values[row])
        np.testing.assert_allclose(made, expected, atol=1e-12)
        has = np.flatnonzero(result.alignment.activity.mean(axis=0)[row] > 0.5)
        assert ax.get_title().endswith(", ".join(map(str, has)) or "no feature")
    images = drawn(plots.rebuilt(result, data, most=2, shape=(3, 3)))
    assert len(images) == 4
    np.testing.assert_array_equal(images[0].images[0].get_array().ravel(), data.values[10])
    with pytest.raises(InputError, match="rows"):
        plots.rebuilt(result, data, rows=[result.settings["n_rows"]])


# What is passed by mistake


@pytest.mark.parametrize("name", sorted(set(plots.__all__) - {"held_out", "predictive_checks"}))
def test_what_is_no_result_is_refused(name):
    more = [as_data(COMPONENTS)] if name == "rebuilt" else []
    with pytest.raises(InputError, match=r"result must be a Result, but got a dict.*model.result_"):
        getattr(plots, name)({}, *more)


def test_a_result_where_something_else_is_wanted(result):
    with pytest.raises(InputError, match=r"scores must be .*a Result.*ribp compare"):
        plots.held_out(result)
    with pytest.raises(InputError, match=r"checks must be .*a Result.*result.check\(rng, data\)"):
        plots.predictive_checks(result)
    with pytest.raises(InputError, match=r"checks must be .*a list.*model.result_"):
        plots.predictive_checks([])
    with pytest.raises(InputError, match=r"data must be .*as_data"):
        plots.rebuilt(result, COMPONENTS)


def test_wrong_places_to_draw(result):
    with pytest.raises(InputError, match=r"ax must be Axes.*a Figure"):
        plots.weights(result, ax=Figure())
    with pytest.raises(InputError, match=r"figure must be a Figure"):
        plots.traces(result, figure=Figure().add_subplot())
