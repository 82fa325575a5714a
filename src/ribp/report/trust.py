"""The parts of a report that say whether to trust a fit: answers, and the checks behind them."""

from __future__ import annotations

from ribp import plots
from ribp.plots.labels import dim_names, percent
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
    rounded,
    section,
    short,
    table,
    tag,
)
from ribp.report.pictures import picture

_REASONS = 3  # in the box
_MOST_ROWS = 40  # of a table
_MARKS = {"good": "✓", "careful": "?", "bad": "✗"}


def answer(question: str, part: Part) -> Html:
    """Return a question, its answer and the first reasons."""
    texts = [words.in_words(reason.text) for reason in part.reasons[:_REASONS]]
    left = len(part.reasons) - len(texts)
    more = [f"and {left} more under Warnings"] if left else []
    inside = tag(
        "div",
        tag("b", question),
        " ",
        part.headline,
        bullets([*texts, *more]) if texts else None,
    )
    mark = tag("span", _MARKS[part.level], class_="mark", title=part.level)
    return tag("div", mark, inside, class_=f"answer {part.level}")


def convergence(fit: Fit) -> Html:
    """Return whether chains agree, with the numbers that say so."""
    rows = [
        (
            words.QUANTITIES.get(name, name.replace("_", " ")),
            rounded(each.mean),
            rounded(each.sd),
            f"{each.r_hat:.3f}",
            f"{min(each.ess_bulk, each.ess_tail):,.0f}",
        )
        for name, each in fit.summary.diagnostics.items()
    ]
    head = ("quantity", "mean", "spread", "R-hat", "independent draws")
    return section(
        "converged",
        "Did the chains agree?",
        paragraph(
            "Each chain searched by itself, from another start. R-hat compares them: 1.00 means"
            " that they agree, more than 1.05 that they do not. Draws of one chain resemble one"
            " another; the last column says how many independent ones they are worth."
        ),
        table(head, rows[:_MOST_ROWS]),
        note(f"and {len(rows) - _MOST_ROWS} more") if len(rows) > _MOST_ROWS else None,
        _about_modes(fit),
        picture(
            plots.traces(fit.result),
            "What each chain did, draw by draw: lines that mix mean agreement.",
        ),
        folded(
            "Ranks: the same comparison in another picture",
            paragraph(
                "All draws of all chains are ranked together. If chains agree, each has its share"
                " of low, middle and high ranks, and its bars stay near the grey band."
            ),
            picture(plots.ranks(fit.result), "Ranks of the draws of each chain."),
        ),
    )


def _about_modes(fit: Fit) -> Html:
    modes = fit.summary.modes
    if len(modes) == 1:
        n = fit.result.n_chains
        return paragraph("All chains found the same features." if n > 1 else "There is one chain.")
    rows = [
        (
            f"{number}" + (" (shown on this page)" if number == 1 else ""),
            ", ".join(str(chain) for chain in mode.chains),
            f"{mode.log_joint:,.1f}",
            percent(mode.agreement),
        )
        for number, mode in enumerate(modes, start=1)
    ]
    return tag(
        "div",
        paragraph(
            "Chains ended at different sets of features. They are different explanations of the"
            " data, so they are not averaged: this page shows the one that fits best."
        ),
        table(("set", "chains", "mean log joint", "agreement with the first"), rows),
    )


def fits(fit: Fit) -> Html:
    """Return the checks of the model, with their numbers."""
    judgement, title = fit.result.judgement, "Does the model fit?"
    if judgement is None or not judgement.checks:
        why = "The data were not there." if judgement is None else "There were not enough draws."
        return section("fits", title, paragraph("This was not checked. " + why))
    names = dim_names(fit.result)
    rows = [
        (name, _culprit(name, one.worst, names), rounded(one.size), rounded(NOISE[name]),
         f"{one.p_value:.2g}")
        for name, one in judgement.checks.items()
    ]  # fmt: skip
    return section(
        "fits",
        title,
        paragraph(
            "What the features leave over should be noise. Each check looks for another way in"
            f" which it is not, in {judgement.draws} draws and {judgement.rows:,} rows."
            " p-values are corrected for the number of checks, columns and features: one below 0.05"
            " is a sign that the model does not fit, one below 0.001 is sure."
        ),
        picture(plots.predictive_checks(judgement.checks), "The p-value of each check."),
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
