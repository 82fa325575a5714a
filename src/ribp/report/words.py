"""Texts of a report: names of methods and quantities, terms, and advice on warnings."""

from __future__ import annotations

import re

from ribp.errors import Notice

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
    "strength_scale": "spread of strengths",
    "log_noise_scale": "noise, on a log scale",
    "mean_count": "features per row",
    "shared_features": "features that two rows share",
}

TERMS = {
    "Feature": "something a row either has or has not, such as a note in a chord. What a"
    " row is like follows from its features, and from chance.",
    "Count law": "what was known beforehand of how many features a row has.",
    "Chain": "one search for the answer, from its own start. Several chains that end alike are a"
    " sign that the answer does not depend on luck.",
    "Draw": "one answer that fits the data. A chain makes many; their spread says how sure one can"
    " be.",
    "R-hat": "compares chains with one another: 1.00 if they agree, above 1.05 if they do not.",
    "Independent draws": "draws of a chain resemble one another. This is how many independent"
    " ones they are worth; from 100 on averages are precise enough for most uses.",
    "Stability": "the share of draws in which a feature is recognisably the same.",
    "p-value": "how often noise alone would look as bad as this. Below 0.05 is a sign, below 0.001"
    " is sure.",
    "Log density": "how likely the model found an entry that it had not seen, on a log scale."
    " Higher is better; a difference of 0.7 means twice as likely.",
}

_LONGER = "Longer chains (--draws 2000)"
_BACKGROUND = "Fit with a background (--background)"
_ADVICE = {
    "r-hat-high": "Run longer chains (--warmup 2000 --draws 2000). If that does not help, state the"
    " counts more narrowly, or compare several seeds.",
    "r-hat-unknown": "Run longer chains: at least four draws each, better 500.",
    "r-hat-raised": f"{_LONGER} make this go away.",
    "few-independent-draws": f"{_LONGER}, or more of them, give more independent draws.",
    "other-features": "This page shows the set that fits best. Look at whether it makes sense, run"
    " with another seed, and state the counts more narrowly if you can.",
    "one-best-start": "Run more chains (--chains 8): each has a start of its own. Compare the log"
    " joint with that of other seeds.",
    "few-unused-features": "Fit again with a larger --max-features.",
    "interrupted": "Finish it: ribp resume RUN.",
    "chains-cut": "Finish the run: ribp resume RUN.",
    "chain-without-draws": "Finish the run: ribp resume RUN.",
    "checkpoint-not-written": "Free some space on the disk; save the result elsewhere.",
    "absurd-cell": "Look at the cell: a code for a missing entry, or a slip? Make it missing, or"
    " correct it, and fit again.",
    "constant-column": "Leave the column out; it does no harm.",
    "missing-column": "Leave the column out; it does no harm.",
    "nothing-observed": "Check how missing entries are coded.",
    "rare-counts": "Fit again with --likelihood poisson (counts), with --method gibbs-rows"
    " --likelihood binary (yes or no), or with --noise shared, and compare the features.",
    "far-from-zero": f"{_BACKGROUND}, or leave it to --background auto.",
    "misfit-column-mean": f"{_BACKGROUND}.",
    "misfit-column-spread": "Give each column its own noise; look at the column for numbers that"
    " are far outside.",
    "misfit-largest-entry": "Look at the entry: an error of writing, or another unit? Make it"
    " missing if it is wrong; take logarithms or square roots of columns with a long tail.",
    "misfit-entries-beyond-3": "Take logarithms or square roots of columns with a long tail; make"
    " wrong entries missing.",
    "misfit-largest-row": "Look at the row: does it belong to these data?",
    "misfit-residuals-together": f"{_BACKGROUND}, allow larger counts or more features; if rows"
    " come in batches, subtract the mean of each batch first.",
    "misfit-neighbouring-rows": "Subtract the mean of each batch, or the drift, first.",
    "misfit-mean-by-count": f"{_BACKGROUND}; check the counts.",
    "misfit-spread-by-count": "Take logarithms or square roots if noise grows with size; check the"
    " counts.",
    "misfit-strength-of-features": "Let entries have strengths (--entries strengths --method"
    " gibbs-rows), or divide rows by their size; rows of counts may have exposures (--exposure).",
    "misfit-features-left-out": "Allow larger counts (--counts), or learn them.",
}


def in_words(text: str) -> str:
    """Return a text of the summary with names of quantities in words."""
    for name, meaning in QUANTITIES.items():
        text = re.sub(rf"\b{name}\b", meaning.partition(":")[0], text)
    return text


def advice(notice: Notice) -> str:
    """Return what to do about a notice."""
    return _ADVICE.get(notice.code, "See the documentation: Before you trust it.")
