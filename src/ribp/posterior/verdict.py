"""Whether a fit can be relied on: three questions, each with a level, an answer and its reasons.

1. Do the chains agree? What R-hat, effective draws and matched features say, and no more.
2. Does the model fit? Checks of what draws leave over (`predictive_checks`): a p-value below 0.05,
   corrected for all that was looked at, is a sign; below 0.001, of a fault as large as `_LARGE`
   says, the model does not fit.
3. Is it worth it? The gain of features over columns alone (`worth`): yes from two standard errors
   above zero, and at least a hundredth; no from two below.

A fit can be relied on where all three say yes, and nothing else was warned of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ribp.errors import Notice
from ribp.posterior.judgement import Judgement
from ribp.posterior.predictive_checks import NOISE, Checked

LEVELS = ("good", "careful", "bad")
QUESTIONS = {
    "agree": "Do the chains agree?",
    "fits": "Does the model fit?",
    "worth": "Is it worth it?",
}
_GOOD, _CAREFUL = "This fit can be relied on", "Be careful with this fit"
_BAD = {
    "agree": "Do not rely on this fit: the chains do not agree",
    "fits": "The model does not fit these data",
    "worth": "The features do not help",
}
SIGN, SURE = 0.05, 0.001
"""p-values below which there is a sign of a fault, and below which it is sure."""
_LEAST_GAIN = 0.01
_MISFIT = "misfit-"
_ABOUT_CHAINS = {
    "chain-without-draws", "chains-cut", "interrupted", "other-features", "one-chain",
    "r-hat-unknown", "r-hat-high", "r-hat-raised", "few-independent-draws", "one-best-start",
}  # fmt: skip
_LARGE = {
    "column mean": 0.3, "column spread": 1.2, "largest entry": 6.0, "entries beyond 3": 0.006,
    "largest row": 1.3, "residuals together": 1.5, "neighbouring rows": 0.15,
    "mean by count": 1.5, "spread by count": 0.3, "strength of features": 2.5,
    "features left out": 1.5,
}  # fmt: skip
_WORDS = {
    "column mean": "Columns have another mean than the model makes: {column} is off by {size:.2g}"
    " noise deviations.",
    "column spread": "Columns vary more than the model makes them: what is left of {column} has"
    " {size:.2g} times the spread of its noise.",
    "largest entry": "An entry is far outside: it is {size:.1f} noise deviations away from what its"
    " features make.",
    "entries beyond 3": "Many entries are far outside: {size:.2%} are more than 3 noise deviations"
    " away, where noise has {noise:.2%}.",
    "largest row": "A row is far outside: what its features leave over is {size:.1f} times as"
    " large, in squares, as in the largest of so many rows of noise.",
    "residuals together": "What is left over hangs together between columns: its main direction is"
    " {size:.1f} times as strong as in noise. A feature, a background or batches may be missing.",
    "neighbouring rows": "What is left over is similar in neighbouring rows (correlation"
    " {size:.2f}): rows may come in batches, or drift.",
    "mean by count": "What is left over depends on how many features a row has: a background may be"
    " missing, or counts may be wrong.",
    "spread by count": "The noise depends on how many features a row has (correlation {size:.2f}).",
    "strength of features": "Feature {worst} varies in strength: what rows that have it leave over"
    " along it is {size:.1f} times as large, in squares, as noise.",
    "features left out": "Rows without feature {worst} show some of it, {size:.1f} times as much,"
    " in squares, as noise: counts may be too small.",
}


class Part(NamedTuple):
    """The answer to one question."""

    level: str
    """good, careful or bad."""
    headline: str
    """The answer in a sentence."""
    reasons: list[Notice]


@dataclass(frozen=True)
class Verdict:
    """Whether a fit can be relied on; `print` it."""

    agree: Part
    """Do the chains agree?"""
    fits: Part
    """Does the model fit?"""
    worth: Part
    """Is it worth it?"""
    beside: tuple[Notice, ...] = ()
    """Warnings of other things, such as cells that are absurd or too few features."""

    @property
    def parts(self) -> dict[str, Part]:
        """The three answers by name."""
        return {name: getattr(self, name) for name in QUESTIONS}

    @property
    def level(self) -> str:
        """The worst of the three; careful at best if there are other warnings."""
        worst = max(LEVELS.index(part.level) for part in self.parts.values())
        return LEVELS[max(worst, min(len(self.beside), 1))]

    @property
    def headline(self) -> str:
        """The level in words; the first answer that is bad has the word."""
        bad = [name for name, part in self.parts.items() if part.level == "bad"]
        if bad:
            return _BAD[bad[0]]
        return _GOOD if self.level == "good" else _CAREFUL

    def __str__(self) -> str:
        marks = dict(zip(LEVELS, "+-!", strict=True))
        lines = [f"{marks[part.level]} {part.headline}" for part in self.parts.values()]
        if self.beside:
            lines.append("- There are other warnings.")
        return "\n".join([f"Verdict: {self.headline}.", *lines])

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        parts = {
            name: {
                "question": QUESTIONS[name],
                **part._asdict(),
                "reasons": [reason._asdict() for reason in part.reasons],
            }
            for name, part in self.parts.items()
        }
        beside = [notice._asdict() for notice in self.beside]
        return {"level": self.level, "headline": self.headline, **parts, "beside": beside}


def verdict(
    n_chains: int,
    warnings: Sequence[Notice],
    notes: Sequence[Notice],
    judgement: Judgement | None,
) -> Verdict:
    """Return whether a fit can be relied on.

    Parameters
    ----------
    n_chains
        How many chains have draws.
    warnings, notes
        What is doubtful, and what longer chains would mend.
    judgement
        What the data say of the fit; None if nobody has asked them.
    """
    beside = tuple(
        one
        for one in warnings
        if one.code not in _ABOUT_CHAINS and not one.code.startswith(_MISFIT)
    )
    return Verdict(
        _agree(n_chains, warnings, notes),
        _fits(judgement, [*warnings, *notes]),
        _worth(judgement),
        beside,
    )


def _agree(n_chains: int, warnings: Sequence[Notice], notes: Sequence[Notice]) -> Part:
    wrong, rough = (
        [one for one in heard if one.code in _ABOUT_CHAINS] for heard in (warnings, notes)
    )
    if wrong:
        return Part("bad", "The chains do not agree, or were cut short.", wrong)
    if n_chains == 1:
        return Part("careful", "There is one chain only: nothing shows that it would do.", rough)
    if rough:
        return Part("careful", "The chains agree, but some numbers are rough.", rough)
    return Part("good", f"The chains agree: {n_chains} of them found the same features.", [])


def _fits(judgement: Judgement | None, heard: Sequence[Notice]) -> Part:
    if judgement is None:
        return Part("careful", "Whether the model fits was not checked.", [])
    if not judgement.checks:
        return Part("careful", "There are not enough draws to tell whether the model fits.", [])
    reasons = [one for one in heard if one.code.startswith(_MISFIT)]
    if any(_is_large(name, one) for name, one in judgement.checks.items()):
        return Part("bad", "The model does not fit: it leaves more over than noise.", reasons)
    if reasons:
        return Part("careful", "The model may not fit: there are signs, faint or small.", reasons)
    return Part("good", "The model fits: what it leaves over looks like noise.", [])


def misfits(
    judgement: Judgement, column: Callable[[int], str]
) -> tuple[list[Notice], list[Notice]]:
    """Return what does not fit in words, the large faults and the small ones, worst first.

    Parameters
    ----------
    judgement
        What the data say.
    column
        Gives the name of a column.
    """
    large: list[Notice] = []
    small: list[Notice] = []
    for name, one in sorted(judgement.checks.items(), key=lambda item: item[1].p_value):
        if one.p_value < SIGN:
            text = _WORDS[name].format(
                size=abs(one.size), noise=NOISE[name], worst=one.worst, column=column(one.worst)
            )
            into = large if _is_large(name, one) else small
            into.append(Notice(_MISFIT + name.replace(" ", "-"), text))
    return large, small


def _is_large(name: str, one: Checked) -> bool:
    return one.p_value < SURE and abs(one.size) >= _LARGE[name]


def _worth(judgement: Judgement | None) -> Part:
    if judgement is None:
        return Part("careful", "Whether the features help was not tested.", [])
    if judgement.gain is None:
        return Part("careful", "There is not enough to tell whether the features help.", [])
    entries, mean, error, hidden = *judgement.gain, judgement.hidden
    which = "hidden from the fit" if hidden else "left out afterwards"
    detail = (
        f"{entries} entries {which}: log density {mean:+.3f} per entry (standard error {error:.3f})"
        " beside that of columns without features."
    )
    reasons = [Notice("gain", detail)]
    if mean - 2.0 * error > 0.0 and mean >= _LEAST_GAIN:
        times = math.exp(min(mean, 50.0))
        return Part("good", f"The features help: entries are {times:.3g} times as likely.", reasons)
    if mean + 2.0 * error < 0.0:
        return Part(
            "bad", "It is not worth it: columns alone do better than the features.", reasons
        )
    return Part("careful", "Whether the features help cannot be told.", reasons)
