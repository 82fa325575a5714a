"""The law of a row: independent coins, restricted to a stated law of how many come up.

Features have odds w_i = exp(log_odds_i); f is a law on the number of ones. Two laws share the name.

**mixture** (the default, the R-IBP): the count has law f whatever the odds,

    P(z) = f(|z|) prod_i w_i^{z_i} / e_{|z|}(w).

**tilted**: coins thrown, and kept with probability f(|z|),

    P(z) proportional to f(|z|) prod_i pi_i^{z_i} (1-pi_i)^{1-z_i},   pi_i = w_i / (1 + w_i),

so that the count has law proportional to f(k) S_k, with S_k the Poisson-binomial law of the coins.
Given the count, the two are the same, and they agree altogether when f is a point mass. With I
features f is restricted to the counts that are possible and renormalised. A log-odds of -inf means
never on, +inf always on. The mixture does not change when all odds are multiplied by a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw, parse
from ribp.errors import InputError
from ribp.rng import kernel_seed
from ribp.symmetric import sorted_log_esp

_NEGLIGIBLE = 1e-18  # counts whose total probability is below this are left out of sums


class RestrictedBernoulli:
    """Law of a 0/1 row with given odds and a given law of its number of ones.

    Parameters
    ----------
    log_odds
        theta, shape (..., features). Leading axes are a batch: every method returns them first.
    counts
        The count law f, a `ribp.counts` law or its text form, such as ``"exactly(3)"``.
    kind
        "mixture" (the count has law f) or "tilted" (coins kept with probability f).

    Examples
    --------
    >>> import numpy as np, ribp
    >>> row = ribp.RestrictedBernoulli([0.0, 1.0, 2.0, -1.0], ribp.counts.exactly(2))
    >>> row.inclusion_probs().round(3).tolist()
    [0.306, 0.694, 0.881, 0.119]
    >>> row.sample(np.random.default_rng(0), 3).sum(axis=1).tolist()
    [2, 2, 2]
    """

    def __init__(self, log_odds: ArrayLike, counts: CountLaw | str, kind: str = "mixture") -> None:
        self.log_odds = checks.log_odds(log_odds)
        self.kind = checks.one_of("kind", kind, ["mixture", "tilted"])
        self.counts = parse(counts) if isinstance(counts, str) else counts
        if not isinstance(self.counts, CountLaw):
            raise InputError(
                "counts", "must be a count law", counts, "Pass one, such as ribp.counts.exactly(3)."
            )
        self.batch_shape = self.log_odds.shape[:-1]
        if 0 in self.batch_shape:
            raise InputError(
                "log_odds",
                "must hold at least one vector",
                f"shape {self.log_odds.shape}",
                "Leave out axes of length zero.",
            )
        self._rows = [
            _Row(self.log_odds[at], self.counts, self.kind) for at in np.ndindex(self.batch_shape)
        ]

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.log_odds.shape)
        return f"RestrictedBernoulli(<{shape} log-odds>, {self.counts}, kind={self.kind!r})"

    @property
    def features(self) -> int:
        """Number of features, I."""
        return int(self.log_odds.shape[-1])

    def log_prob(self, z: ArrayLike) -> FloatArray:
        """Return log P(z) for 0/1 rows of shape (..., features), -inf for impossible rows.

        Leading axes of `z` broadcast against the batch.
        """
        rows = self._checked_rows(z)
        shape = checks.broadcast("z", rows.shape[:-1], self.batch_shape)
        rows = np.broadcast_to(rows, (*shape, self.features))
        rows = rows.reshape(-1, len(self._rows), self.features)
        out = np.empty(rows.shape[:-1])
        for b, row in enumerate(self._rows):
            out[:, b] = row.log_prob(rows[:, b])
        return out.reshape(shape)

    def sample(
        self, rng: np.random.Generator | int, n: int | tuple[int, ...] | None = None
    ) -> NDArray[np.int8]:
        """Draw rows: shape (n..., batch..., features), without rejection. None means one row."""
        rng = checks.generator("rng", rng)
        size = checks.shape("n", n)
        drawn = [row.sample(rng, math.prod(size)) for row in self._rows]
        return np.stack(drawn, axis=1).reshape(*size, *self.batch_shape, self.features)

    def inclusion_probs(self) -> FloatArray:
        """Return P(z_i = 1), shape (..., features)."""
        return self._gather(_Row.inclusion_probs)

    def pair_probs(self) -> FloatArray:
        """Return P(z_i = z_j = 1), shape (..., features, features); P(z_i = 1) on the diagonal."""
        return self._gather(_Row.pair_probs)

    def count_log_probs(self) -> FloatArray:
        """Return log P(k ones) for k = 0 .. features."""
        return self._gather(lambda row: row.log_counts)

    def log_normaliser(self) -> FloatArray:
        """Return the log of the constant by which the stated weights were divided.

        For the mixture: log of the mass that f has on the possible counts. For the tilted law:
        log sum_k f(k) S_k, the probability that thrown coins are kept.
        """
        return self._gather(lambda row: row.log_normaliser)

    def entropy(self) -> FloatArray:
        """Return the entropy -E[log P(z)] in nats."""
        return self._gather(_Row.entropy)

    def _gather(self, of_row: Callable[[_Row], Any]) -> FloatArray:
        values = np.stack([np.asarray(of_row(row)) for row in self._rows])
        return values.reshape(self.batch_shape + values.shape[1:])

    def _checked_rows(self, z: ArrayLike) -> NDArray[np.bool_]:
        try:
            rows = np.asarray(z)
        except ValueError:
            raise InputError(
                "z", "must be a regular array", z, "Give all its rows the same length."
            ) from None
        if rows.ndim == 0 or rows.shape[-1] != self.features:
            raise InputError(
                "z",
                f"must have {self.features} features on its last axis",
                f"shape {rows.shape}",
                "Pass rows of zeros and ones, one column a feature.",
            )
        if rows.dtype.kind not in "biuf" or not np.isin(rows, (0, 1)).all():
            raise InputError("z", "must hold only 0 and 1", z, "Convert it to zeros and ones.")
        return rows.astype(bool)


class _Row:
    """One vector of log-odds: the mathematics of the class above, without shapes.

    `theta` holds the finite log-odds in falling order and `place` their positions; `on` the
    positions that are always on. Counts below are those of the finite features unless said.
    """

    def __init__(self, log_odds: FloatArray, law: CountLaw, kind: str) -> None:
        self.features = log_odds.size
        finite = np.flatnonzero(np.isfinite(log_odds))
        self.place = finite[np.argsort(-log_odds[finite], kind="stable")]
        self.theta = log_odds[self.place]
        self.on = np.flatnonzero(np.isposinf(log_odds))
        self._log_scaled = np.zeros(1)
        least, most = self.on.size, self.on.size + finite.size
        self.log_counts = np.full(self.features + 1, -np.inf)
        if kind == "mixture":
            weights = law.log_probs(most)
        else:
            shift = np.logaddexp(0.0, self.theta).sum()
            mean = least + float((1.0 / (1.0 + np.exp(-np.maximum(self.theta, -700.0)))).sum())
            kept = tilted_log_weights(
                law, lambda top: np.append(
                    np.full(least, -np.inf), sorted_log_esp(self.theta, max(top - least, 0)) - shift
                )[: top + 1], mean, most,
            )  # fmt: skip
            weights = np.full(most + 1, -np.inf)
            weights[: kept.size] = kept
        weights[:least] = -np.inf
        if not np.isfinite(weights).any():
            raise impossible_counts(law, least, most, self.features)
        self.log_normaliser = float(np.logaddexp.reduce(weights))
        self.log_counts[: most + 1] = weights - self.log_normaliser

    def log_scaled_e(self, k_max: int) -> FloatArray:
        """Return log of e_k over the product of the k largest odds, k = 0 .. k_max.

        Kept for the next call. Probabilities are computed from these and from differences to the k
        likeliest features, so that large log-odds cancel before anything is rounded.
        """
        from ribp.kernels import elementary_symmetric as esp

        if self._log_scaled.size <= k_max:
            self._log_scaled = esp.log_scaled_esp(self.theta, k_max)
        return self._log_scaled[: k_max + 1]

    def probs(self) -> FloatArray:
        """Return the law of the count of finite features, without its negligible tail."""
        probs: FloatArray = np.exp(self.log_counts[self.on.size :])
        beyond = np.cumsum(probs[::-1])[::-1]
        return probs[: max(1, np.count_nonzero(beyond > _NEGLIGIBLE))]

    def log_prob(self, z: NDArray[np.bool_]) -> FloatArray:
        chosen = z[:, self.place]
        k = chosen.sum(axis=1)
        possible = (z.sum(axis=1) == k + self.on.size) & z[:, self.on].all(axis=1)
        possible &= np.isfinite(self.log_counts[k + self.on.size])
        out = np.full(z.shape[0], -np.inf)
        k = k[possible]
        if k.size:
            scaled = self.log_scaled_e(int(k.max()))[k]
            likeliest = np.arange(self.theta.size) < k[:, None]
            apart = chosen[possible].astype(float) - likeliest
            out[possible] = self.log_counts[k + self.on.size] + apart @ self.theta - scaled
        return out

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.int8]:
        from ribp.kernels.elementary_symmetric import switch_on

        counts = self._draw_counts(rng, n)
        z = np.zeros((n, self.features), np.int8)
        z[:, self.on] = 1
        switch_on(z, counts, _sample_sorted_sets(rng, self.theta, counts, self.place))
        return z

    def _draw_counts(self, rng: np.random.Generator, n: int) -> IntArray:
        probs = self.probs()
        if np.count_nonzero(probs) == 1:
            return np.full(n, probs.argmax())
        return rng.choice(probs.size, size=n, p=probs / probs.sum())

    def inclusion_probs(self) -> FloatArray:
        from ribp.kernels import elementary_symmetric as esp
        from ribp.kernels import quadrature

        out = np.zeros(self.features)
        out[self.on] = 1.0
        probs = self.probs()
        n, support = self.theta.size, np.flatnonzero(probs)
        if support.size == 1 and 0 < support[0] < n:
            out[self.place] = quadrature.inclusion_at(self.theta, int(support[0]))
        elif n:
            block = max(1, math.isqrt(n))
            out[self.place] = esp.weighted_inclusion(self.theta, probs, block)
        return out

    def pair_probs(self) -> FloatArray:
        from ribp.kernels import quadrature

        eta = self.inclusion_probs()
        out = np.zeros((self.features, self.features))
        out[np.ix_(self.place, self.place)] = quadrature.weighted_pairs(self.theta, self.probs())
        out[self.on] = eta
        out[:, self.on] = eta[:, None]
        np.fill_diagonal(out, eta)
        return np.clip(out, np.maximum(0.0, np.add.outer(eta, eta) - 1), np.minimum.outer(eta, eta))

    def entropy(self) -> float:
        probs = self.probs()
        k = np.flatnonzero(probs)
        log_count = self.log_counts[k + self.on.size]
        scaled = self.log_scaled_e(probs.size - 1)[k]
        beyond = np.zeros(self.theta.size)  # P(more than i features are on), i = 0, 1, ...
        beyond[: probs.size - 1] = np.cumsum(probs[:0:-1])[::-1]
        apart = (beyond - self.inclusion_probs()[self.place]) @ self.theta
        return max(0.0, float(probs[k] @ (scaled - log_count) + apart))


def sample_sets(
    rng: np.random.Generator, log_odds: FloatArray, counts: IntArray
) -> NDArray[np.int32]:
    """Draw sets of counts[0], counts[1], ... features with the row law, laid end to end.

    `log_odds` are finite, and no count is larger than their number. Within a set the likelier
    features come last.
    """
    order = np.argsort(-log_odds, kind="stable")
    return _sample_sorted_sets(rng, log_odds[order], counts, order)


def _sample_sorted_sets(
    rng: np.random.Generator, falling: FloatArray, counts: IntArray, names: IntArray
) -> NDArray[np.int32]:
    from ribp.kernels import elementary_symmetric as esp

    table, logs = esp.skip_table(falling, int(counts.max(initial=0)))
    drawn: NDArray[np.int32] = esp.draw_sets(kernel_seed(rng), 0, counts, table, logs, names)
    return drawn


def tilted_log_weights(
    law: CountLaw,
    log_coins: Callable[[int], FloatArray],
    mean: float,
    most: int | None,
) -> FloatArray:
    """Return log f(k) S_k for k = 0, 1, ... up to where the rest does not count.

    `log_coins(top)` gives log S_0 .. log S_top up to a constant; S falls beyond its `mean`.
    The rest beyond k is at most the tail of f times S_k there; it is left out when it is below
    exp(-45) of the largest weight.
    """
    ends = [end for end in (most, law.largest) if end is not None]
    end = min(ends) if ends else None
    top = 64 if end is None else min(64, end)
    while True:
        log_s = log_coins(top)
        weights: FloatArray = law.log_probs(top) + log_s
        settled = top >= mean and law.log_tail(top) + log_s[-1] <= weights.max() - 45.0
        if top == end or settled:
            return weights
        top = 2 * top if end is None else min(2 * top, end)


def impossible_counts(law: object, least: int, most: int, features: int) -> InputError:
    """Return the error for a law without mass on what infinite log-odds leave possible."""
    forced = f"{least} features are always on (log-odds +inf)" if least else ""
    barred = f"{features - most} are never on (log-odds -inf)" if most < features else ""
    why = " and ".join(part for part in (forced, barred) if part)
    return InputError(
        "counts",
        f"must have mass on {least}..{most}" + (f", since {why}" if why else ""),
        str(law),
        f"Choose a law that allows {least} to {most} of the {features} features.",
    )
