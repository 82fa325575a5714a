"""Any table is fitted, or refused by name: sentinels, huge and tiny numbers, gaps, odd types.

`make test` tries 60 tables, the slow tier 2000.
"""

import numpy as np
import pandas as pd
import pytest

import ribp
from ribp.errors import InputError
from ribp.testing.goodness import replicates

pytestmark = [
    pytest.mark.jit,
    pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning"),
    pytest.mark.usefixtures("short_searches"),
]

SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "max_features": 4, "progress": False}
SENTINELS = [-9999.0, 1e30, -1e99, 1e149, 1e300, -1e308, np.inf, -np.inf, 5e-324, -999999999.0]
SCALES = [1e-320, 1e-200, 1e-100, 1e-3, 1.0, 1e6, 1e12, 1e100, 1e149, 1e160]


# One thing each that may be odd about a table


def offset(rng, X):
    X += rng.choice([1e9, 1e12, -1e15, 1e120])
    return X


def scaled(rng, X):
    X *= rng.choice(SCALES)
    return X


def scaled_columns(rng, X):
    X *= rng.choice(SCALES, X.shape[1])
    return X


def sentinels(rng, X):
    X[rng.random(X.shape) < 0.1] = rng.choice(SENTINELS)
    return X


def one_sentinel(rng, X):
    X[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = rng.choice(SENTINELS)
    return X


def constant(rng, X):
    X[:, rng.integers(X.shape[1])] = rng.choice([0.0, 3.0, 1e12, 1e140, -1e-310])
    return X


def all_constant(rng, X):
    X[:] = rng.choice([0.0, 1.0, -1e100, 1e-300])
    return X


def gaps(rng, X):
    X[rng.random(X.shape) < rng.choice([0.1, 0.5, 0.95])] = np.nan
    return X


def missing_column(rng, X):
    X[:, rng.integers(X.shape[1])] = np.nan
    return X


def missing_row(rng, X):
    X[rng.integers(X.shape[0])] = np.nan
    return X


def nothing(rng, X):
    X[:] = np.nan
    return X


def same_rows(rng, X):
    X[:] = X[0]
    return X


def counts(rng, X):
    return rng.poisson(rng.choice([0.2, 3.0, 1e5]), X.shape).astype(float)


def heavy_tailed(rng, X):
    return X / rng.normal(size=X.shape) ** 3


ODDITIES = [
    offset, scaled, scaled_columns, sentinels, one_sentinel, constant, all_constant, gaps,
    missing_column, missing_row, nothing, same_rows, counts, heavy_tailed,
]  # fmt: skip


# What holds it


def plain(rng, X):
    return X


def single(rng, X):
    with np.errstate(over="ignore", under="ignore"):
        return X.astype(np.float32)


def long_double(rng, X):
    return X.astype(np.longdouble) * (np.longdouble(10) ** rng.choice([0, 400]))


def by_columns(rng, X):
    return np.asfortranarray(X)


def integers(rng, X):
    return rng.integers(-(2**62), 2**62, X.shape)


def unsigned(rng, X):
    return rng.integers(0, 2**64, X.shape, dtype=np.uint64)


def booleans(rng, X):
    return X > 0


def objects(rng, X):
    table = X.astype(object)
    odd = [None, 2**70, 10**400, "3.5", "text", True, {"a": 1}, 1j, pd.NA, b"1", [1, 2], ""]
    table[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = odd[rng.integers(len(odd))]
    return table


def lists(rng, X):
    return X.tolist()


def frame(rng, X):
    rows = [f"row {n}" for n in range(len(X))]
    return pd.DataFrame(X, index=rows, columns=[f"c{d}" for d in range(X.shape[1])])


def nullable(rng, X):
    kind = str(rng.choice(["Float64", "Int64", "boolean"]))
    if kind != "Float64":
        X = np.where(np.isnan(X), np.nan, X > 0)
    columns = {f"c{d}": [None if np.isnan(x) else x for x in X[:, d]] for d in range(X.shape[1])}
    return pd.DataFrame({name: pd.array(one, dtype=kind) for name, one in columns.items()})


def mixed(rng, X):
    table = frame(rng, X)
    odd = [pd.Categorical(["u", "v"] * len(X))[: len(X)], pd.date_range("2020", periods=len(X))]
    odd += [[True] * len(X), np.arange(len(X)), ["1"] * len(X)]
    table["odd"] = odd[rng.integers(len(odd))]
    return table


def masked(rng, X):
    return np.ma.masked_array(X, rng.random(X.shape) < 0.2)


def dates(rng, X):
    return np.datetime64("2020-01-01") + rng.integers(0, 99, X.shape).astype("m8[D]")


def shapes(rng, X):
    empty = [X[:0], X[:, :0], X[0], X[None], X[:1], X[:, :1]]
    return empty[rng.integers(len(empty))]


HOLDERS = [
    plain, plain, plain, single, long_double, by_columns, integers, unsigned, booleans, objects,
    lists, frame, nullable, mixed, masked, dates, shapes,
]  # fmt: skip


def table(seed):
    """Return a generator, a table with some oddities in some holder, and their names."""
    rng = np.random.default_rng([20250, seed])
    X = rng.normal(size=(rng.integers(1, 13), rng.integers(1, 7)))
    chosen = [ODDITIES[at] for at in rng.permutation(len(ODDITIES))[: rng.integers(0, 3)]]
    for odd in chosen:
        with np.errstate(all="ignore"):
            X = odd(rng, X)
    holder = HOLDERS[rng.integers(len(HOLDERS))]
    return rng, holder(rng, X), [one.__name__ for one in (*chosen, holder)]


def settings(rng):
    """Return the settings of a fit; half of them the usual ones."""
    if rng.random() < 0.5:
        return {}
    method = str(rng.choice(["gibbs", "gibbs-rows", "structured", "hybrid", "stochastic"]))
    counts = method == "gibbs-rows" and rng.random() < 0.4
    noise = str(rng.choice(["per-dim", "shared"]))
    return {
        "method": method,
        "background": [True, False, "auto"][rng.integers(3)],
        **({"likelihood": "poisson"} if counts else {"noise": noise}),
    }


def outcome(seed):
    """Return "fit", or the refusal of a table; anything else is an error."""
    rng, X, _ = table(seed)
    model = ribp.RestrictedIBP(random_state=int(seed), **SHORT, **settings(rng))
    try:
        model.fit(X)
    except InputError as error:
        return check_refusal(error)
    for found in (model.components_, model.background_, model.weights_, model.row_probs_):
        assert np.isfinite(found).all()
    assert model.row_probs_.min(initial=0.0) >= 0.0
    assert model.row_probs_.max(initial=0.0) <= 1.0
    assert np.isfinite(model.score(X))
    return "fit"


def check_refusal(error):
    argument, rule, value, remedy = error.args
    assert argument in ("X", "likelihood", "background")
    assert rule.startswith("must")
    assert remedy.endswith(".")
    if "where it is observed" in rule or "counts (0, 1" in rule:
        assert "in row" in value
        assert "column" in value
    return f"{rule}: {value.split(' in row')[0]}"


@pytest.mark.parametrize("part", range(10))
def test_any_table_is_fitted_or_refused(part):
    number = replicates(6, 200)
    for seed in range(part * number, (part + 1) * number):
        try:
            outcome(seed)
        except Exception as error:
            error.add_note(f"table {seed}: {table(seed)[2]}")
            raise


def test_what_is_said_of_a_table_does_not_depend_on_its_holder():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    X[2, 1] = 1e200
    for holder in (plain, by_columns, lists, frame, masked):
        with pytest.raises(InputError, match=r"1e\+200 in row (2|'row 2'), column (1|'c1')"):
            ribp.RestrictedIBP(**SHORT).fit(
                np.ma.asarray(X) if holder is masked else holder(rng, X)
            )
