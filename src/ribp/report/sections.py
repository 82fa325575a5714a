"""The sections of a report, in the order of the page. Numbers come from `ribp.posterior`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ribp import plots
from ribp.errors import Notice
from ribp.plots.labels import dim_names, percent, row_names
from ribp.plots.reading import places, row_probs
from ribp.posterior.held_out import Score, score
from ribp.posterior.verdict import QUESTIONS
from ribp.report import words
from ribp.report.content import Fit
from ribp.report.elements import (
    Html,
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
from ribp.report.trust import answer, fits

__all__ = ["SECTIONS", "opening"]

_MOST_FEATURES = 24  # in pictures
_MOST_ROWS = 40  # of a table
_EXAMPLES = 5


def opening(fit: Fit) -> Html:
    """Return the verdict and the few numbers that matter most."""
    found = fit.summary.verdict
    parts = [answer(QUESTIONS[name], part) for name, part in found.parts.items()]
    box = tag("div", tag("h2", found.headline), *parts, class_=f"verdict {found.level}")
    cards = [
        tag("div", tag("b", number), tag("span", what), class_="card")
        for number, what in _key_numbers(fit)
    ]
    return tag("div", box, tag("div", *cards, class_="cards"))


def _key_numbers(fit: Fit) -> Iterator[tuple[str, str]]:
    result, asked = fit.result, fit.result.settings
    yield str(places(result).size), "features found"
    yield f"{asked['n_rows']:,}", f"rows of {asked['n_dims']:,} columns"
    histogram = result.tree["posterior"]["count_histogram"].to_numpy()[list(result.modes[0].chains)]
    mean = histogram.mean(axis=(0, 1)) @ np.arange(histogram.shape[2]) / asked["n_rows"]
    yield f"{mean:.3g}", "features a row, on average"
    if fit.hidden is not None:
        yield f"{_scores(fit)[0].mean:.3f}", "mean log density of hidden entries"


# What was asked


def asked(fit: Fit) -> Html:
    """Return what was asked of the fit."""
    given, result = fit.result.settings, fit.result
    lines = [
        ("Data", f"{fit.name}: {given['n_rows']:,} rows, {given['n_dims']:,} columns"),
        ("Features per row", _laws(given["laws"], result)),
        ("Kind of data", result.model.likelihood.description),
        ("Background", str(result.background_choice)),
        ("Most features allowed", str(given["n_features"] or "no limit")),
        ("Method", words.METHODS.get(given["method"], given["method"])),
        (
            "Length",
            f"{result.n_chains} chains, {given['n_warmup']} sweeps thrown away and"
            f" {result.n_draws} kept in each",
        ),
    ]
    if fit.hidden is not None:
        lines.append(("Hidden from the fit", f"{int(fit.hidden[1].sum()):,} entries"))
    return section("asked", "What was asked", table(("", ""), lines, texts=(0, 1)))


def _laws(laws: list[str], result: Any) -> str:
    if not laws:
        return "nothing was said (an unrestricted buffet)"
    index = result.tree["laws"]["law_of_row"].to_numpy()
    sizes = np.bincount(index, minlength=len(laws))
    order = np.argsort(-sizes, kind="stable")
    said = [
        f"{laws[at]}" + (f" for {sizes[at]:,} rows" if len(laws) > 1 else "") for at in order[:5]
    ]
    more = [f"and {len(laws) - 5} more laws"] if len(laws) > 5 else []
    return "; ".join(said + more)


# Convergence


def convergence(fit: Fit) -> Html:
    """Return whether chains agree, with the numbers that say so."""
    result, found = fit.result, fit.summary
    rows = [
        (
            words.QUANTITIES.get(name, name.replace("_", " ")),
            rounded(each.mean),
            rounded(each.sd),
            f"{each.r_hat:.3f}",
            f"{min(each.ess_bulk, each.ess_tail):,.0f}",
        )
        for name, each in found.diagnostics.items()
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
            plots.traces(result),
            "What each chain did, draw by draw: lines that mix mean agreement.",
        ),
        folded(
            "Ranks: the same comparison in another picture",
            paragraph(
                "All draws of all chains are ranked together. If chains agree, each has its share"
                " of low, middle and high ranks, and its bars stay near the grey band."
            ),
            picture(plots.ranks(result), "Ranks of the draws of each chain."),
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


# Features


def features(fit: Fit) -> Html:
    """Return the features as pictures, how popular and stable they are, and example rows."""
    result, at = fit.result, places(fit.result)
    if at.size == 0:
        return section(
            "features", "The features", paragraph("No feature is in use in half of the draws.")
        )
    shown = min(at.size, _MOST_FEATURES)
    more = f" The {shown} most popular of {at.size} are shown." if shown < at.size else ""
    numeric = _axis(dim_names(result))
    grid = plots.features(result, shape=fit.shape, axis=numeric, most=_MOST_FEATURES)
    return section(
        "features",
        "The features",
        paragraph(
            "What each feature adds to a row that has it. Shaded: the range of most draws." + more
        ),
        picture(grid, "Each feature: what it adds to each column of the data."),
        _feature_table(fit),
        folded(
            "Is each feature the same one in all draws and chains?",
            picture(plots.stability(result), "Stability of each feature in each chain."),
        ),
        folded(
            "How popular is each feature?",
            paragraph(
                "The share of rows that have it, and its weight: how likely a new row would be to"
                " have it if nothing were known of the number of its features. Where the number is"
                " known exactly, only the ratios of odds matter, and weights are vague."
            ),
            picture(plots.weights(result), "How popular each feature is, with its uncertainty."),
        ),
    )


def _axis(names: list[str] | None) -> Any:
    """Return numbers and their unit, where columns have names such as 10 Hz, 20 Hz, 30 Hz."""
    if names is None or len(names) < 2:
        return None
    split = [name.split(maxsplit=1) for name in names]
    units = {" ".join(parts[1:]) for parts in split}
    try:
        numbers = np.array([float(parts[0]) for parts in split])
    except (ValueError, IndexError):
        return None
    rising = bool((np.diff(numbers) > 0).all())
    return (numbers, units.pop() or "column") if rising and len(units) == 1 else None


def _feature_table(fit: Fit) -> Html:
    result, at = fit.result, places(fit.result)
    found = fit.summary.features
    examples = _examples(fit) if fit.show_rows else None
    head = ["feature", "rows that have it", "recognised in draws", "in chains"]
    rows = []
    for number, place in enumerate(at.tolist()[:_MOST_ROWS]):
        each = found[place] if place < len(found) else None
        line = [str(number), percent(each.rows if each else 0.0)]
        line += (
            [percent(each.stability), f"{each.chains} of {len(result.alignment.chains)}"]
            if (each)
            else ["", ""]
        )
        rows.append(line if examples is None else [*line, examples[number]])
    if examples is not None:
        head.append("rows that show it best")
    left = at.size - _MOST_ROWS
    return tag(
        "div",
        table(head, rows, texts=(0, 4)),
        note(f"and {left} less popular features") if left > 0 else None,
    )


def _examples(fit: Fit) -> list[str]:
    """Return for each feature the rows that surely have it and little else."""
    probs = row_probs(fit.result, places(fit.result))
    names = row_names(fit.result)
    counts = probs.sum(axis=1)
    found = []
    for column in probs.T:
        order = np.lexsort([counts, -np.round(column, 2)])[:_EXAMPLES]
        rows = [int(n) for n in order if column[n] > 0.5]
        called = [short(names[n]) if names else f"row {n}" for n in rows]
        found.append(", ".join(called) if called else "no row")
    return found


def rebuilt(fit: Fit) -> Html | None:
    """Return some rows of the data beside what their features make of them."""
    if not fit.show_rows:
        return None
    which = folded(
        "Which row has which feature",
        picture(plots.activity(fit.result), "Rows and the features that they have."),
        picture(plots.coactivation(fit.result), "How many features any two rows share."),
    )
    if fit.data is None:
        gone = paragraph("The data were not there when this page was made.")
        return section("rebuilt", "The rows", gone, which)
    return section(
        "rebuilt",
        "Rows, and what their features make of them",
        paragraph(
            "Some rows: the data, and the sum of the features that were found in them, whose"
            " numbers stand above. Where the two differ by more than the noise, the features do"
            " not tell all."
        ),
        picture(
            plots.rebuilt(fit.result, fit.data, shape=fit.shape, axis=_axis(dim_names(fit.result))),
            "Data of some rows and the sum of their features.",
        ),
        which,
    )


def counts(fit: Fit) -> Html:
    """Return how many features rows have, beside what was said beforehand."""
    said = (
        "How many features rows were found to have, beside what was said beforehand. Where the two"
        " differ much, the law does not suit the data."
        if fit.result.settings["laws"]
        else "How many features rows were found to have. Nothing was said of it beforehand."
    )
    return section(
        "counts",
        "How many features rows have",
        paragraph(said),
        picture(plots.counts(fit.result), "How many features rows have, before and after."),
    )


# Quality


def held_out(fit: Fit) -> Html:
    """Return how well hidden entries were guessed, and how other models did."""
    parts: list[str | None] = []
    if fit.hidden is None and fit.comparison is None:
        parts.append(
            paragraph(
                "No entries were hidden from this fit. Some were left out of it afterwards, draw by"
                " draw; the answer stands at the top of the page. To have them hidden from the"
                " beginning, fit with ",
                tag("code", "--holdout 0.01"),
                ".",
            )
        )
    if fit.hidden is not None:
        parts += _hidden_words(fit)
    if fit.comparison is not None:
        parts += _comparison(fit.comparison)
    return section("held-out", "Does it predict what it has not seen?", *parts)


def _scores(fit: Fit) -> tuple[Score, Score | None]:
    """Return the score of the fit, and that of a model that knows the columns only."""
    assert fit.hidden is not None
    found = score(fit.result.held_out_log_density(*fit.hidden))
    if fit.data is None:
        return found, None
    values, hidden = fit.hidden
    alone = fit.result.model.likelihood.column_log_density(fit.data, values)
    return found, score(alone[hidden])


def _hidden_words(fit: Fit) -> list[str | None]:
    found, columns = _scores(fit)
    said = (
        f"{found.entries:,} entries were hidden from the fit. Their mean log density is"
        f" {found.mean:.3f} (standard error {found.standard_error:.3f})."
    )
    if columns is None:
        return [paragraph(said)]
    gain = found.mean - columns.mean
    times = f"{math.exp(min(abs(gain), 50.0)):.3g}"
    beside = (
        f"A model that knows only the mean and spread of each column has {columns.mean:.3f}: "
        + (
            f"with the features a hidden number is {times} times as likely."
            if gain > 0
            else f"the features make a hidden number {times} times less likely. They do not help."
        )
    )
    return [paragraph(said), paragraph(beside)]


_COLUMNS = {
    "log_density": ("log density of hidden entries", ".3f"),
    "standard_error": ("its error", ".3f"),
    "error": ("typical error", ".3g"),
    "features": ("features", ".0f"),
    "found": ("true features found", ".0f"),
    "f1": ("F1", ".3f"),
    "r_hat": ("R-hat", ".3f"),
    "seconds": ("seconds", ".1f"),
}


def _comparison(models: dict[str, dict[str, Any]]) -> list[str | None]:
    keys = [key for key in _COLUMNS if any(_finite(model.get(key)) for model in models.values())]
    rows = [
        [name] + [
            f"{model[key]:{_COLUMNS[key][1]}}" if _finite(model.get(key)) else "" for key in keys
        ]
        for name, model in models.items()
    ]  # fmt: skip
    scored = {name: model for name, model in models.items() if _finite(model.get("log_density"))}
    return [
        paragraph("Several models, scored on the same hidden entries:"),
        table(["model", *(_COLUMNS[key][0] for key in keys)], rows),
        note(
            "F1 is the share of right entries among the features of rows: 1 if all are right."
            if "f1" in keys
            else "A higher log density and a lower error are better."
        ),
        picture(plots.held_out(scored), "Log density of hidden entries of each model.")
        if len(scored) > 1
        else None,
    ]


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


# Warnings and the rest


def warnings(fit: Fit) -> Html:
    """Return what to be wary of, and what to do about it."""
    said: list[Notice] = [*fit.summary.warnings, *fit.summary.notes]
    if not said:
        return section("warnings", "Warnings", paragraph("None."))
    rows = [(words.in_words(one.text), words.advice(one)) for one in said]
    return section(
        "warnings", "Warnings", table(("what was seen", "what to do"), rows, texts=(0, 1))
    )


def reproduce(fit: Fit) -> Html:
    """Return how to make this fit again."""
    tree = fit.result.tree
    versions = json.loads(tree.attrs["versions"])
    made_with = ", ".join(f"{name} {number}" for name, number in versions.items())
    seed = ", ".join(map(str, fit.result.settings["seed"]))
    return section(
        "reproduce",
        "How to make this fit again",
        tag("pre", "\n".join(fit.commands)) if fit.commands else None,
        table(
            ("", ""),
            [
                ("Made", str(tree.attrs["created"]).replace("T", " ")),
                ("With", f"ribp {tree.attrs['ribp_version']}, {made_with}"),
                ("Seed", seed),
            ],
            texts=(0, 1),
        ),
        note("The same data, seed and versions give the same draws, bit for bit."),
    )


def terms(fit: Fit) -> Html:
    """Return what words on the page mean."""
    inside = [
        part for word, text in words.TERMS.items() for part in (tag("dt", word), tag("dd", text))
    ]
    return section("terms", "Words on this page", tag("dl", *inside))


SECTIONS = (
    asked, features, rebuilt, counts, convergence, fits, held_out, warnings, reproduce, terms,
)  # fmt: skip
