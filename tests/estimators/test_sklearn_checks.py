"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ribp import IndianBuffet, RestrictedIBP
from ribp.baselines import ibp_gibbs
from ribp.mcmc import capacity, start
from ribp.running import samplers

SHORT = {"n_chains": 1, "n_warmup": 3, "n_draws": 4, "progress": False, "random_state": 0}

QUICK = start.Schedule(steps=5, steps_alone=8, cold_sweeps=2, learning_sweeps=2, growing_sweeps=5)


@pytest.fixture(autouse=True)
def _short_searches(monkeypatch):
    """Checks are about the face, not about what is found behind it."""
    search = start.best_start

    def short(rng, model, data, n_starts=1, schedule=QUICK, tick=start.no_tick):
        return search(rng, model, data, 1, QUICK, tick)

    for module in (samplers, capacity):
        monkeypatch.setattr(module, "best_start", short)
    monkeypatch.setattr(capacity, "_SWEEPS", 3)
    monkeypatch.setattr(ibp_gibbs.best_start, "__defaults__", (1, start.no_tick))


pytestmark = [pytest.mark.jit, pytest.mark.filterwarnings("ignore")]


@parametrize_with_checks([RestrictedIBP(**SHORT), IndianBuffet(**SHORT)])
def test_sklearn(estimator, check):
    check(estimator)
