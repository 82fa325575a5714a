"""Log-odds that break careless arithmetic, in falling order."""

import numpy as np


def falling(values):
    return np.sort(np.asarray(values, dtype=float))[::-1].copy()


def harsh_cases():
    """Return log-odds (falling) that are wide, tied, spaced, tiny or ordinary."""
    rng = np.random.default_rng(2)
    cases = {f"uniform(+-700), I={n}": rng.uniform(-700, 700, n) for n in (1, 2, 5, 12)}
    cases |= {
        "normal": rng.normal(0, 3, 14),
        "all tied": np.zeros(10),
        "two groups far apart": np.repeat([700.0, -700.0], 5),
        "three groups": np.repeat([700.0, 0.0, -700.0], 4),
        "ladder past the re-reference": -120.0 * np.arange(13),
        "steps of 600": -600.0 * np.arange(6),
        "tiny mass": np.append(rng.normal(0, 2, 4), [-50000.0, -40000.0, -3000.0]),
        "beyond any double": np.array([1e5, 0.0, -1e5, -1e5, 3e5]),
    }
    return {name: falling(theta) for name, theta in cases.items()}


CASES = harsh_cases()
