"""The tree holds what was recorded: entry by entry, cut to the shortest chain, padded."""

import json

import numpy as np
import pytest

from ribp.errors import InputError, Notice
from ribp.recording import ChainDraws, pack_rows, record, record_features, unpack_rows
from ribp.results import Result, build
from tests.helpers.result_cases import (
    DIMS,
    FEATURES,
    MODELS,
    ROWS,
    chain_of,
    law_of_row,
    prior_tree,
    settings_of,
)


@pytest.mark.parametrize("n_features", [0, 1, 8, 9, 24])
def test_rows_are_packed_and_unpacked(n_features):
    rows = (np.random.default_rng(1).random((2, 5, n_features)) < 0.4).astype(np.int8)
    packed = pack_rows(rows)
    assert packed.shape == (2, 5, -(-n_features // 8))
    found = unpack_rows(packed, n_features)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, rows)


def test_bits_go_from_the_lowest():
    rows = np.array([[1, 0, 1, 0, 0, 0, 0, 0, 0, 1]], np.int8)
    assert pack_rows(rows).tolist() == [[5, 2]]


def test_what_was_recorded_does_not_change_with_the_state():
    state, _ = MODELS["noise per column"].simulate(np.random.default_rng(1), DIMS)
    histogram = np.arange(5)
    model = MODELS["noise per column"]
    draw = record(state, histogram, model.likelihood.recorded(state.parameters), True)
    kept = record_features(state, 3, pack_rows(state.rows))
    before = {name: np.array(value) for name, value in (draw | kept).items()}
    for array in (
        state.rows,
        histogram,
        state.log_odds,
        state.count_log_probs,
        *state.parameters[:3],
    ):
        array[:] = 0
    for name, value in (draw | kept).items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("name", MODELS)
def test_a_tree_holds_every_draw(name):
    rng, model = np.random.default_rng(3), MODELS[name]
    chains = [chain_of(model, rng) for _ in range(2)]
    tree = build(chains, settings_of(model), law_of_row=law_of_row(model))
    for at, chain in enumerate(chains):
        for number, draw in enumerate(chain.posterior):
            found = tree["posterior"].to_dataset().isel(chain=at, draw=number)
            assert set(draw) == set(found.data_vars)
            for key, value in draw.items():
                assert_padded(found[key].to_numpy(), value, 0)
        for draw in chain.features:
            found = tree["features"].to_dataset().sel(chain=at, draw=draw["draw"])
            assert ("background" in found) == model.likelihood.background
            for key in set(found.data_vars) - {"active"}:
                assert_padded(found[key].to_numpy(), draw[key], 0 if key == "rows" else np.nan)
            rows = unpack_rows(draw["rows"], draw["n_features"])
            assert_padded(found["active"].to_numpy(), rows.any(axis=0), False)
        for number, sweep in enumerate(chain.warmup):
            found = tree["warmup"].to_dataset().isel(chain=at, sweep=number)
            assert {key: found[key].item() for key in sweep} == sweep
    assert tree["features"]["draw"].to_numpy().tolist() == [0, 2, 4, 6]


def assert_padded(found, value, fill):
    value = np.asarray(value)
    inside = tuple(slice(n) for n in value.shape)
    np.testing.assert_array_equal(found[inside], value)
    rest = np.ones(found.shape, bool)
    rest[inside] = False
    np.testing.assert_array_equal(found[rest], np.full(rest.sum(), fill))


def test_types_and_attributes():
    tree = prior_tree("shared noise", warnings=[Notice("a", "naïve")], interrupted=True)
    kinds = {str(name): v.dtype for g in tree.children.values() for name, v in g.data_vars.items()}
    assert kinds.pop("rows") == np.uint8
    assert kinds.pop("active") == np.bool_
    whole = {"active_features", "count_histogram", "law_of_row"}
    assert {name for name, kind in kinds.items() if kind == np.int64} == whole
    assert all(kind == np.float64 for name, kind in kinds.items() if name not in whole)
    assert tree["posterior"]["noise_scale"].dims == ("chain", "draw")
    assert tree["posterior"]["count_log_probs"].dims == ("chain", "draw", "law", "count")
    assert (tree.attrs["schema_version"], tree.attrs["interrupted"]) == (5, 1)
    assert json.loads(tree.attrs["settings"]) == settings_of(MODELS["shared noise"])
    assert json.loads(tree.attrs["warnings"]) == [{"code": "a", "text": "naïve"}]
    assert set(json.loads(tree.attrs["versions"])) == {
        "python",
        "numpy",
        "scipy",
        "numba",
        "xarray",
    }


def test_chains_are_cut_to_the_shortest_and_empty_ones_left_out():
    model, rng = MODELS["noise per column"], np.random.default_rng(4)
    lengths = [7, 0, 4, 5]
    chains = [chain_of(model, rng, n_draws=n) for n in lengths]
    tree = build(
        chains,
        settings_of(model, n_chains=4),
        law_of_row=law_of_row(model),
        interrupted=True,
        warnings=[Notice("a", "first")],
    )
    assert tree["posterior"]["chain"].to_numpy().tolist() == [0, 2, 3]
    assert tree["posterior"]["draw"].to_numpy().tolist() == [0, 1, 2, 3]
    assert tree["features"]["draw"].to_numpy().tolist() == [0, 2]
    assert tree["posterior"]["log_joint"][2, 3] == chains[3].posterior[3]["log_joint"]
    first, left_out, cut = (one["text"] for one in json.loads(tree.attrs["warnings"]))
    assert first == "first"
    assert "Chain 1 has no draws" in left_out
    assert "cut to 4 draws" in cut


def test_a_buffet_without_any_feature():
    tree = prior_tree("empty buffet")
    assert tree["features"].sizes["feature"] == tree["features"].sizes["byte"] == 0
    assert (tree["posterior"]["count_histogram"] == ROWS).all()
    assert not tree["laws"].data_vars


def test_names():
    tree = prior_tree(dim_names=["a", "é", "c\0\udc80"], row_names=range(10, 10 + ROWS))
    assert tree["features"]["dim"].to_numpy().tolist() == ["a", "é", "c\ufffd?"]
    assert tree["posterior"]["dim"].dtype.kind == "U"
    assert tree["laws"]["row"].to_numpy().tolist() == list(range(10, 10 + ROWS))
    assert prior_tree()["features"]["row"].to_numpy().tolist() == list(range(ROWS))
    with pytest.raises(InputError, match="dim_names must be 3 names"):
        prior_tree(dim_names=["a"])


def changed(**changes):
    return settings_of(MODELS["noise per column"]) | changes


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (changed(n_features=FEATURES + 1), "has 11 along count instead of 12"),
        (changed(laws=["exactly(1)"]), "must be one position among the 1 laws"),
        (changed(laws=["exactly(1)", "uniform(0, 3)", "exactly(9)"]), "must use all laws"),
        (changed(laws=["exactly(1)", "learned(1, 1)"]), "count_log_probs is missing"),
        (changed(laws=["exactly(1)", 3]), "must be a list of texts"),
        (changed(laws=["exactly(1)", "__import__('os')"]), "__import__"),
        (changed(seed=7), "must be a list"),
        (changed(thin=0), "must be at least 1"),
        (changed(mass=-1.0), "mass must be positive"),
        (
            changed(weights="heavy"),
            "weight_prior must be one that is installed here, but got heavy",
        ),
        (changed(likelihood={"name": "gaussian", "background": 1}), "must be true or false"),
        (changed(likelihood={"name": "gaussian", "background": True, "size": 1}), "must be one of"),
        (
            changed(likelihood={"name": "normal", "background": True}),
            "must be one that is installed here, but got normal",
        ),
        (changed(likelihood={"background": True}), "must have a name"),
        (changed(n_features=None, laws=[]), "law_of_row is there"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, words):
    model = MODELS["noise per column"]
    chains = [chain_of(model, np.random.default_rng(1))]
    with pytest.raises(InputError, match="tree must be that of a result") as caught:
        Result(build(chains, settings, law_of_row=law_of_row(model)))
    assert words in str(caught.value)


def test_a_buffet_needs_a_gaussian_and_a_concentration():
    model = MODELS["empty buffet"]
    chains = [chain_of(model, np.random.default_rng(1))]
    with pytest.raises(InputError, match="known concentration"):
        Result(build(chains, settings_of(model) | {"concentration": None}))


@pytest.mark.parametrize(
    "chains",
    [
        [],
        [ChainDraws([], [], [])],
        [chain_of(MODELS["buffet"], np.random.default_rng(1), thin=n) for n in (1, 2)],
    ],
)
def test_chains_that_cannot_be_joined_are_refused(chains):
    with pytest.raises(InputError, match="chains must"):
        build(chains, settings_of(MODELS["buffet"]))


def test_settings_must_be_plain():
    model = MODELS["buffet"]
    chains = [chain_of(model, np.random.default_rng(1))]
    plain = settings_of(model) | {"mass": np.float64(2.0), "seed": np.array([1, 2])}
    found = json.loads(build(chains, plain).attrs["settings"])
    assert (found["mass"], found["seed"]) == (2.0, [1, 2])
    with pytest.raises(InputError, match="must be what JSON can hold"):
        build(chains, settings_of(model) | {"mass": object()})
