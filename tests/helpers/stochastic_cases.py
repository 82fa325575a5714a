"""Small runs of the stochastic method, with rows in memory."""

import numpy as np

from ribp.recording import unpack_rows
from ribp.variational import stochastic
from ribp.variational.state import draw as draw_state
from tests.helpers.structured_cases import loaded


def begun(first, model, data, some=None):
    """Return the state that begins at a whole structured state of all rows, or of some."""
    part, here = (model, data) if some is None else (model.on_rows(some), data.rows(some))
    at = np.arange(len(model.counts)) if some is None else some
    return stochastic.from_structured(first.q, model, loaded(first, part, here), at)


def draw(rng, seed, state, model, rows):
    """Return a draw of a state, with its rows."""
    state, tally = stochastic.drawn_rows(rng, np.uint64(seed), state, model, rows)
    drawn = draw_state(rng, state, model, tally)
    z = unpack_rows(rows.packed() if state.at_rest else state.z, model.n_features)
    np.testing.assert_array_equal(tally.sizes, z.sum(axis=0))
    return drawn._replace(rows=z)
