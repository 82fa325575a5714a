"""The parts of a report that say whether to trust a fit: answers, and the checks behind them."""

from __future__ import annotations

from ribp import plots
from ribp.plots.labels import dim_names
from ribp.posterior.predictive_checks import NOISE
from ribp.posterior.verdict import Part
from ribp.report import words
from ribp.report.content import Fit
from ribp.report.elements import (
    Html,
    bullets,
    folded,
    note,
    paragraph,
    picture,
    rounded,
    section,
    short,
    table,
    tag,
)

__all__ = ["answer", "fits"]

_REASONS = 3  # in the box
_MARKS = {"good": "✓", "careful": "?", "bad": "✗"}


def answer(question: str, part: Part) -> Html:
    """Return a question, its answer and the first reasons."""
    said = [words.in_words(reason.text) for reason in part.reasons[:_REASONS]]
    left = len(part.reasons) - len(said)
    more = [f"and {left} more under Warnings"] if left else []
    inside = tag(
        "div",
        tag("b", question),
        " ",
        part.headline,
        bullets([*said, *more]) if said else None,
    )
    mark = tag("span", _MARKS[part.level], class_="mark", title=part.level)
    return tag("div", mark, inside, class_=f"answer {part.level}")


def fits(fit: Fit) -> Html:
    """Return the checks of the model, with their numbers."""
    found, title = fit.result.judgement, "Does the model fit?"
    if found is None or not found.checks:
        why = "The data were not there." if found is None else "There were not enough draws."
        return section("fits", title, paragraph("This was not checked. " + why))
    names = dim_names(fit.result)
    rows = [
        (name, _culprit(name, one.worst, names), rounded(one.size), rounded(NOISE[name]),
         f"{one.p_value:.2g}")
        for name, one in found.checks.items()
    ]  # fmt: skip
    return section(
        "fits",
        title,
        paragraph(
            "What the features leave over should be noise. Each check looks for another way in"
            f" which it is not, in {found.draws} draws and {found.rows:,} rows. p-values are"
            " corrected for the number of checks, columns and features: one below 0.05 is a sign"
            " that the model does not fit, one below 0.001 is sure."
        ),
        picture(plots.predictive_checks(found.checks), "The p-value of each check."),
        folded(
            "The numbers",
            table(("check", "worst", "size", "in noise", "p-value"), rows, texts=(0, 1)),
            note(
                "Means are in deviations of the noise, spreads, rows and features in squares beside"
                " noise, counts and neighbours are correlations."
            ),
        ),
    )


def _culprit(name: str, at: int, names: list[str] | None) -> str:
    if name.startswith("column"):
        return short(names[at]) if names else f"column {at}"
    return f"feature {at}" if "features" in name else ""
