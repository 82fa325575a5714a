"""Steps of several features of a column: their normal laws, and joint laws of a whole sweep."""

import numpy as np
import pytest

from ribp import counts, kinds
from ribp.likelihoods import kind_steps
from ribp.likelihoods.columns_of_kinds import ColumnsOfKinds
from ribp.likelihoods.data import complete
from ribp.likelihoods.kind_block_steps import MOST_STEP, BlockProposal
from ribp.mcmc import gibbs_rows
from ribp.model import Model
from ribp.testing.goodness import holds, is_caught
from tests.helpers.gibbs_cases import SWEEPS
from tests.helpers.kind_cases import Joint, column, joint, table


def proposal(entries, centre, precision, root, exact):
    """Return the proposal where rows say -|root a|^2/2 of the entries a of one column."""
    bent = root.T @ root
    low = bent[np.tril_indices(len(bent))]
    sums = np.r_[-0.5 * entries @ bent @ entries, -bent @ entries, low]
    given = (one[None] for one in (sums, entries, centre, precision))
    return BlockProposal.at(*given, np.array([exact]))


def test_a_quadratic_is_drawn_exactly():
    """Forward and backward density differ by the log posterior, wherever a step begins and ends."""
    rng = np.random.default_rng(0)
    root, centre, precision = rng.normal(size=(5, 3)), rng.normal(size=3), rng.gamma(2.0, size=3)
    first, second = 20.0 * rng.normal(size=(2, 3))
    there, back = (proposal(a, centre, precision, root, True) for a in (first, second))
    gain = back.log_p - there.log_p + back.log_density((first - second)[None])
    np.testing.assert_allclose(gain, there.log_density((second - first)[None]), rtol=1e-10)
    draws = np.array([there.draw(rng)[0] for _ in range(4000)]) + first
    bent = root.T @ root + np.diag(precision)
    covariance = np.linalg.inv(bent)
    errors = 5.0 * np.sqrt(np.diag(covariance) / 4000)
    assert (np.abs(draws.mean(axis=0) - covariance @ (precision * centre)) < errors).all()
    assert np.abs(np.cov(draws.T) / covariance - 1.0).max() < 0.3


def test_steps_are_short_and_rates_may_be_enormous():
    """No entry goes far in one step, and a matrix of rank one with weight 1e250 has a root."""
    entries, root = np.array([40.0, 1.0]), 1e125 * np.ones((1, 2))
    law = proposal(entries, np.zeros(2), np.ones(2), root, False)
    assert np.isfinite(law.root).all()
    assert np.isfinite(law.log_density(np.zeros((1, 2)))).all()
    assert np.abs(law.step).max() == pytest.approx(MOST_STEP)


@pytest.mark.jit
@pytest.mark.parametrize("name", ["binary", "exposures, gap", "mixed, gap"])
def test_one_sweep_keeps_the_joint_law(name, monkeypatch):
    monkeypatch.setattr(kind_steps, "TOGETHER", 1.0)
    monkeypatch.setattr(kind_steps, "MOST_TOGETHER", 2)
    assert holds(joint(name).one_sweep, SWEEPS)


@pytest.mark.jit
def test_a_way_back_by_the_old_law_is_caught(monkeypatch):
    monkeypatch.setattr(kind_steps, "TOGETHER", 1.0)
    laws, right = [], BlockProposal.at

    def old(sums, *given):
        law = right(sums, *given)
        laws.append(laws[-1]._replace(log_p=law.log_p) if len(laws) % 2 else law)
        return laws[-1]

    monkeypatch.setattr(BlockProposal, "at", staticmethod(old))
    assert is_caught(Joint(table(["binary"] * 3), sweeps=4, share=0.0).one_sweep, 600)


def background_after(sweeps):
    """Return the background of large counts, one feature a row, begun 2 too high; and the truth.

    What is added to the background is taken off all features, so that rows do not see it.
    """
    law = ColumnsOfKinds((column(kinds.log_poisson(), 12.0),) * 3, feature_scale=0.5)
    model = Model(counts.as_row_counts("exactly(1)", 60), 3, law)
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(3, dtype=np.int8), 20, axis=0)
    given = law.draw_prior(rng, 3, 3)._replace(background=np.full(3, 6.0))
    data = complete(law.draw_data(rng, rows, given))
    begun = given._replace(background=given.background + 2.0, features=given.features - 2.0)
    state = model.draw_prior(rng, 3)._replace(rows=rows, parameters=begun)
    for _ in range(sweeps):
        state, _ = gibbs_rows.update_in_memory(rng, np.uint64(1), state, model, data)
    return state.parameters.background, given.background


@pytest.mark.jit
def test_large_counts_do_not_pin_the_background(monkeypatch):
    """One feature at a time it would take thousands of sweeps."""
    found, truth = background_after(40)
    assert np.abs(found - truth).max() < 1.5
    monkeypatch.setattr(kind_steps, "TOGETHER", 0.0)
    found, truth = background_after(40)
    assert np.abs(found - truth).min() > 1.5
