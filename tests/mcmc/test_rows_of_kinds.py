"""Tables of kinds under the sampler with features kept: joint law, broken twins, threads."""

import numpy as np
import pytest

from ribp import counts, kinds
from ribp.likelihoods import kind_steps
from ribp.likelihoods.columns_of_kinds import ColumnsOfKinds
from ribp.likelihoods.data import complete, with_missing
from ribp.likelihoods.kind_steps import Proposal, Steps
from ribp.mcmc import gibbs, gibbs_rows
from ribp.mcmc.rows_given_features import Step, Sweep, layout, sweep_rows
from ribp.model import Model
from ribp.recording import pack_rows, unpack_rows
from ribp.rows.local import in_memory
from ribp.testing.goodness import holds, is_caught
from tests.helpers.gibbs_cases import SWEEPS
from tests.helpers.kind_cases import KINDS, TABLES, Joint, column, joint, table
from tests.helpers.same_bits import assert_same_states

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("name", TABLES)
def test_one_sweep_keeps_the_joint_law(name):
    assert holds(joint(name).one_sweep, SWEEPS)


# Broken twins


def rows_by(change):
    """Return a sweep whose rows are updated with changed data and another likelihood."""

    def update(rng, seed, state, model, data):
        likelihood, given, seen = change(model.likelihood, state.parameters, data)
        sweep = Sweep(likelihood, seed, given, (Step(state.number, model.row_prior(state)),))
        rows, _ = sweep_rows(sweep, seen, model.counts.law_of_row, state.rows)
        return gibbs.finish_in_memory(rng, state._replace(rows=rows), model, data)

    return update


def zeros_for_data(likelihood, given, data):
    """Take missing entries as zeros."""
    return likelihood, given, complete(data.values)


def alike(likelihood, given, data):
    """Leave out the exposures of rows."""
    return likelihood, given, data._replace(exposures=np.ones(0))


def test_exposures_left_out_are_caught():
    made = table(["log-poisson", "negbin"], exposure="given")
    assert is_caught(Joint(made, update=rows_by(alike), sweeps=2).one_sweep, 600)


def extra_level(likelihood, given, data):
    """Let the sum over unordered levels begin with one, as if there were a level at zero."""
    wide = tuple(column(kinds.categorical(["a", "b", "c", "d"])) for _ in likelihood.columns)
    at = [3, 6]
    return (
        ColumnsOfKinds(wide),
        given._replace(
            features=np.insert(given.features, at, 0.0, axis=1),
            background=np.insert(given.background, at, 0.0),
        ),
        data,
    )


@pytest.mark.parametrize(
    ("names", "change", "centre"),
    [
        (["ordinal", "log-poisson"] * 2, zeros_for_data, 0.3),
        (["categorical"] * 2, extra_level, -6.0),
    ],
)
def test_rows_that_are_updated_wrongly_are_caught(names, change, centre):
    columns = tuple(column(KINDS[name], centre) for name in names)
    law = ColumnsOfKinds(columns, feature_scale=3.0)
    share = 0.3 if change is zeros_for_data else 0.0
    assert is_caught(Joint(law, "interval", rows_by(change), 4, share).one_sweep, 600)
    right = rows_by(lambda likelihood, given, data: (likelihood, given, data))
    assert holds(Joint(law, "interval", right, 4, share).one_sweep, 200)


def test_noise_that_moves_as_if_known_features_moved_with_it_is_caught(monkeypatch):
    made = Joint(table(["real"] * 3, known=((4.0, -5.0, 3.0),)), sweeps=2)
    assert holds(made.one_sweep, 600)
    monkeypatch.setattr(Steps, "_known_squares", lambda self, some, once, t: 0.0)
    assert is_caught(made.one_sweep, 600)


def test_a_way_back_by_the_old_slope_is_caught(monkeypatch):
    """The reverse proposal must be that of the new point."""
    monkeypatch.setattr(kind_steps, "TOGETHER", 0.0)
    laws, right = [], Proposal.at

    def old(slope, bent, exact):
        laws.append(laws[-1] if len(laws) % 2 else right(slope, bent, exact))
        return laws[-1]

    monkeypatch.setattr(Proposal, "at", staticmethod(old))
    assert is_caught(Joint(table(["binary"] * 3)).one_sweep, 1000)


def thresholds_after(sweeps):
    """Return thresholds of a column after some sweeps from a poor start, and the right ones."""
    law = ColumnsOfKinds((column(kinds.ordinal(["a", "b", "c", "d"])),), feature_scale=0.5)
    truth = law.places.start + np.array([0.6, -0.5])
    model = Model(counts.as_row_counts("uniform(1, 2)", 1200), 3, law)
    rng = np.random.default_rng(0)
    state, _ = model.simulate(rng, 1)
    given = state.parameters._replace(own=truth, background=np.array([1.0]))
    data = complete(law.draw_data(rng, state.rows, given))
    state = state._replace(parameters=given._replace(own=law.places.start - np.array([0.6, -0.5])))
    for _ in range(sweeps):
        state, _ = gibbs_rows.update_in_memory(rng, np.uint64(1), state, model, data)
    return state.parameters.own, truth


def test_thresholds_are_learned(monkeypatch):
    found, truth = thresholds_after(60)
    np.testing.assert_allclose(found, truth, atol=0.25)
    monkeypatch.setattr(Steps, "own_steps", lambda self: None)  # keeps its random start
    found, truth = thresholds_after(60)
    assert np.abs(found - truth).max() > 1.0


# Repeatable, whatever the threads


def chain(seed, n_threads, share):
    law = table(["binary", "ordinal", "categorical", "real", "negbin"])
    laws = counts.by_group(
        {"a": counts.uniform(1, 2), "b": counts.table([0, 0.5, 0, 0.5])}, list("ab") * 650
    )
    model = Model(laws, 4, law)
    rng = np.random.default_rng(0)
    state, values = model.simulate(rng, 5)
    data = with_missing(np.where(rng.random(values.shape) < share, np.nan, values))
    rng = np.random.default_rng(seed)
    rows = in_memory(data, n_threads).rows(layout(4), laws.law_of_row)
    rows.load(pack_rows(state.rows))
    for _ in range(3):
        state, _ = gibbs_rows.update(rng, np.uint64(seed), state, model, rows)
    return state._replace(rows=unpack_rows(rows.packed(), 4))


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_same_seed_same_draws_on_one_thread_or_two(share):
    first = chain(3, 1, share)
    assert_same_states(first, chain(3, 2, share))
    with pytest.raises(AssertionError):
        assert_same_states(first, chain(4, 1, share))
