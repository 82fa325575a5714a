"""What a fit means, in plain words: whether to trust it, what to do, what terms stand for."""

from __future__ import annotations

import re
from typing import NamedTuple

from ribp.posterior.summary import Summary
from ribp.results import Result

__all__ = ["METHODS", "QUANTITIES", "TERMS", "Verdict", "advice", "in_words", "verdict"]

METHODS = {
    "gibbs": "Gibbs sampling, features integrated out",
    "gibbs-rows": "Gibbs sampling, rows drawn given the features",
    "augmented": "augmented sampling, without truncation",
    "structured": "structured variational inference: fast, an approximation",
    "stochastic": "structured variational inference a batch at a time: an approximation",
    "hybrid": "hybrid variational inference: fast, a rough approximation",
    "buffet": "Gibbs sampling of the unrestricted buffet",
    "buffet-variational": "variational inference of the unrestricted buffet",
    "buffet-hybrid": "hybrid variational inference of the unrestricted buffet",
}

QUANTITIES = {
    "active_features": "features in use",
    "log_joint": "fit: how well a draw explains the data, on a log scale",
    "mass": "mass: how readily new features appear",
    "concentration": "concentration: how unequal features are",
    "feature_scale": "size of features",
    "log_noise_scale": "noise, on a log scale",
    "mean_count": "features per row",
    "shared_features": "features that two rows share",
}

TERMS = {
    "Feature": "something a row either has or has not, such as a note in a chord. A row of data is"
    " the sum of its features, plus noise.",
    "Count law": "what was known beforehand of how many features a row has.",
    "Chain": "one search for the answer, from its own start. Several chains that end alike are a"
    " sign that the answer does not depend on luck.",
    "Draw": "one answer that fits the data. A chain makes many; their spread says how sure one can"
    " be.",
    "R-hat": "compares chains with one another: 1.00 if they agree, above 1.05 if they do not.",
    "Independent draws": "draws of a chain resemble one another. This is how many independent"
    " ones they are worth; from 100 on averages are precise enough for most uses.",
    "Stability": "the share of draws in which a feature is recognisably the same.",
    "Log density": "how likely the model found a number that it had not seen, on a log scale."
    " Higher is better; a difference of 0.7 means twice as likely.",
}

_ADVICE = {
    "Chains disagree": "Run longer chains (--warmup 2000 --draws 2000). If that does not help,"
    " state the counts more narrowly, or compare several seeds.",
    "Too few draws": "Run longer chains: at least four draws each, better 500.",
    "Chains differ a little": "Longer chains (--draws 2000) make this go away.",
    "Fewer than": "Longer chains (--draws 2000), or more of them, give more independent draws.",
    "Chains found": "This page shows the set that fits best. Look at whether it makes sense, run"
    " with another seed, and state the counts more narrowly if you can.",
    "Up to": "Fit again with a larger --max-features.",
    "The run was interrupted": "Finish it: ribp resume RUN.",
    "Chains were cut": "Finish the run: ribp resume RUN.",
    "Chain ": "Finish the run: ribp resume RUN.",
    "The last checkpoint": "Free some space on the disk; save the result elsewhere.",
}


class Verdict(NamedTuple):
    """Whether a fit can be trusted."""

    level: str
    """good, careful or bad."""
    headline: str
    reasons: list[str]


def verdict(result: Result, summary: Summary) -> Verdict:
    """Return whether a fit can be trusted, and why."""
    chains = result.n_chains
    agree = (
        f"{chains} chains, each with its own start, found the same features and agree on all that"
        " we compare."
    )
    if summary.warnings:
        return Verdict("bad", "Do not rely on this fit yet", summary.warnings)
    if chains == 1:
        alone = "There is one chain only, so nothing shows that another start would end alike."
        return Verdict("careful", "Nothing to compare with", [alone, *summary.notes])
    if summary.notes:
        return Verdict(
            "careful", "The features can be relied on, some numbers are rough", summary.notes
        )
    return Verdict("good", "This fit can be relied on", [agree])


def in_words(text: str) -> str:
    """Return a text of the summary with names of quantities in words."""
    for name, meaning in QUANTITIES.items():
        text = re.sub(rf"\b{name}\b", meaning.partition(":")[0], text)
    return text


def advice(warning: str) -> str:
    """Return what to do about a warning."""
    known = (text for start, text in _ADVICE.items() if warning.startswith(start))
    return next(known, "See the documentation: Running and reading a fit.")
