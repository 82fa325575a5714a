"""Small models whose entries have sizes or count, counts with exposures, and noisy-ORs."""

import numpy as np

from ribp import counts
from ribp.likelihoods import (
    GaussianStrengths,
    NegativeBinomialMultiplicities,
    PoissonCounts,
    PoissonMultiplicities,
    PoissonStrengths,
)
from ribp.likelihoods.noisy_or import NoisyOr
from ribp.model import Model
from tests.helpers.gibbs_cases import (
    AHEAD,
    BLANK,
    GAP,
    INTERVALS,
    LEARNED,
    NOTHING,
    POINTS,
    SOME,
    Case,
    Trial,
    case,
)

AROUND, SIGNED, POSITIVE = ({"strength_law": law} for law in ("around-one", "signed", "positive"))
STRENGTHS = {
    "around one": case(INTERVALS, GaussianStrengths(**AROUND), "weak-limit", NOTHING),
    "around one, shared, missing": case(
        POINTS, GaussianStrengths(shared=True, **AROUND), "gamma-odds", SOME, None, None
    ),
    "around one, gap, background": case(
        GAP, GaussianStrengths(background=True, **AROUND), "weak-limit", SOME
    ),
    "around one, learned, known": case(
        LEARNED, GaussianStrengths(known=AHEAD, **AROUND), "weak-limit", BLANK
    ),
    "signed": case(INTERVALS, GaussianStrengths(**SIGNED), "size-ordered", SOME, None, 1.0),
    "signed, gap": case(GAP, GaussianStrengths(noise_scale=0.7, **SIGNED), "gamma-odds", NOTHING),
    "signed, learned": case(
        LEARNED, GaussianStrengths(background=True, **SIGNED), "weak-limit", SOME
    ),
    "positive": case(INTERVALS, GaussianStrengths(**POSITIVE), "weak-limit", NOTHING),
    "positive, points, missing": case(
        POINTS, GaussianStrengths(background=True, **POSITIVE), "weak-limit", SOME
    ),
    "positive, gap": case(
        GAP, GaussianStrengths(shared=True, **POSITIVE), "gamma-odds", NOTHING, None, None
    ),
    "positive, learned": case(LEARNED, GaussianStrengths(**POSITIVE), "weak-limit", BLANK),
}

SUM = {"restrict": "sum"}
MORE = counts.by_row([counts.exactly(6)] * 2 + [counts.table([0, 0, 0.5, 0, 0, 0.5])] * 3)
"""Sums above the number of features, and a gap."""


def poisson(laws, missing, mass=None, concentration=1.5, **settings):
    return case(laws, PoissonMultiplicities(**settings), "gamma-odds", missing, mass, concentration)


def negative_binomial(laws, missing, mass=None, concentration=3.0, **settings):
    law = NegativeBinomialMultiplicities(**{"failures": 2.0, **settings})
    return case(laws, law, "weak-limit", missing, mass, concentration)


def roomy(laws, missing, **settings):
    """Return a case whose mass is far from the number of features, where values have no mean."""
    law = NegativeBinomialMultiplicities(**settings)
    return Case(Model(laws, 12, law, None, 3.0, "weak-limit"), missing)


MULTIPLICITIES = {
    "poisson sums": poisson(INTERVALS, NOTHING, **SUM),
    "poisson sums, many units, missing": poisson(MORE, SOME, None, None, **SUM),
    "poisson sums, learned, background": poisson(LEARNED, SOME, background=True, **SUM),
    "poisson sums, known": poisson(POINTS, BLANK, 1.2, 1.0, known=AHEAD, shared=True, **SUM),
    "poisson non-zeros": poisson(INTERVALS, SOME),
    "poisson non-zeros, gap": poisson(GAP, NOTHING, None, None, shared=True),
    "poisson non-zeros, learned": poisson(LEARNED, BLANK, background=True),
    "poisson non-zeros, points": poisson(POINTS, SOME, 1.2, noise_scale=0.7),
    "negative binomial sums": negative_binomial(INTERVALS, SOME, **SUM),
    "negative binomial sums, gap": negative_binomial(MORE, NOTHING, None, None, **SUM),
    "negative binomial sums, learned": negative_binomial(
        LEARNED, BLANK, shared=True, background=True, failures=0.6, **SUM
    ),
    "negative binomial non-zeros": roomy(INTERVALS, NOTHING),
    "negative binomial non-zeros, gap, missing": negative_binomial(GAP, SOME, 1.2),
    "negative binomial non-zeros, learned": roomy(LEARNED, SOME, background=True, failures=2.0),
}
INSIDE = poisson(counts.by_row([counts.uniform(0, 4)] * 5), NOTHING, 1.2, 1.0, **SUM)
"""Where both restrictions allow the same numbers."""

OWN = np.array([0.4, 1.0, 2.5, 1.3, 0.8])
"""Exposures of the rows."""


class Exposed(Trial):
    """A joint test whose data come with exposures, if the likelihood has any given."""

    def observe(self, values):
        return super().observe(values)._replace(exposures=OWN)

    def simulate(self, rng):
        state = self.model.draw_prior(rng, 3)
        return state, self.redraw(rng, state)

    def redraw(self, rng, state):
        law = self.model.likelihood
        return self.observe(law.draw_data(rng, state.rows, state.parameters, OWN))

    def statistics(self, state, data):
        found = super().statistics(state, data)
        made = state.rows @ state.parameters.features + state.parameters.background
        found["rates and counts"] = float(np.tanh(made * OWN[:, None] - data.values).mean())
        return found


class Learning(Exposed):
    """The same where exposures are learned: they are drawn with the data."""

    def observe(self, values):
        return Trial.observe(self, values)

    def redraw(self, rng, state):
        return Trial.redraw(self, rng, state)


EXPOSED = {
    "strengths": case(INTERVALS, PoissonStrengths(exposure="given"), "weak-limit", NOTHING),
    "strengths, points, missing": case(
        POINTS, PoissonStrengths(exposure="given", shape=1.0), "gamma-odds", SOME, None, None
    ),
    "strengths, gap, background": case(
        GAP, PoissonStrengths(background=True, exposure="given"), "weak-limit", SOME
    ),
    "strengths, learned laws, known": case(
        LEARNED, PoissonStrengths(known=AHEAD, exposure="given"), "weak-limit", BLANK
    ),
    "binary": case(INTERVALS, PoissonCounts(exposure="given"), "weak-limit", SOME),
    "binary, gap, background": case(
        GAP, PoissonCounts(background=True, exposure="given"), "size-ordered", SOME, None, 1.0
    ),
}
LEARNING = {
    "strengths": case(INTERVALS, PoissonStrengths(exposure="learn"), "weak-limit", SOME),
    "strengths, gap, background": case(
        GAP, PoissonStrengths(background=True, exposure="learn"), "weak-limit", NOTHING
    ),
    "strengths, learned laws": case(
        LEARNED, PoissonStrengths(feature_scale=2.0, exposure="learn"), "gamma-odds", BLANK
    ),
    "binary": case(POINTS, PoissonCounts(exposure="learn"), "weak-limit", SOME),
    "binary, gap": case(GAP, PoissonCounts(background=True, exposure="learn"), "weak-limit", SOME),
}

NOISY_OR = {
    "intervals": case(INTERVALS, NoisyOr(), "weak-limit", NOTHING),
    "gap, missing": case(GAP, NoisyOr(shape=1.0), "gamma-odds", SOME),
    "known": case(LEARNED, NoisyOr(known=AHEAD), "weak-limit", SOME),
    "fixed mean": case(LEARNED, NoisyOr(feature_scale=0.5), "size-ordered", BLANK, None, 1.0),
}
