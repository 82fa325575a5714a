"""The sections of a report, in the order of the page. Numbers come from `ribp.posterior`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ribp import plots
from ribp.errors import Notice
from ribp.plots.labels import dim_names, percent, row_names, shown_names
from ribp.plots.reading import component, counted, places
from ribp.posterior.stored_draws import stored_draws
from ribp.posterior.verdict import QUESTIONS
from ribp.report import words
from ribp.report.bars import pair_panels, spread_panels
from ribp.report.content import Fit
from ribp.report.elements import (
    Html,
    folded,
    note,
    paragraph,
    rounded,
    section,
    short,
    table,
    tag,
)
from ribp.report.hidden_entries import held_out, hidden_scores
from ribp.report.kind_rows import kind_rows
from ribp.report.pictures import picture
from ribp.report.row_table import law_words, rows
from ribp.report.trust import answer, convergence, fits
from ribp.results import Result

_MOST_FEATURES = 24  # in pictures
_MOST_ROWS = 40  # of a table
_EXAMPLES = 5
_MOST_LAWS = 8
_MOST_NUMBERS = 3000  # of a table of features
_APART = 3  # columns that a feature changes most
_SOME_ROWS = 6


def opening(fit: Fit) -> Html:
    """Return the verdict and the few numbers that matter most."""
    verdict = fit.summary.verdict
    parts = [answer(QUESTIONS[name], part) for name, part in verdict.parts.items()]
    box = tag("div", tag("h2", verdict.headline), *parts, class_=f"verdict {verdict.level}")
    cards = [
        tag("div", tag("b", number), tag("span", what), class_="card")
        for number, what in _key_numbers(fit)
    ]
    return tag("div", box, tag("div", *cards, class_="cards"))


def _key_numbers(fit: Fit) -> Iterator[tuple[str, str]]:
    result, settings = fit.result, fit.result.settings
    yield str(places(result).size), "features found"
    yield f"{settings['n_rows']:,}", f"rows of {settings['n_dims']:,} columns"
    histogram = result.tree["posterior"]["count_histogram"].to_numpy()[list(result.modes[0].chains)]
    mean = histogram.mean(axis=(0, 1)) @ np.arange(histogram.shape[2]) / settings["n_rows"]
    yield f"{mean:.3g}", f"{counted(result)} a row, on average"
    if fit.hidden is not None:
        yield f"{hidden_scores(fit)[0].mean:.3f}", "mean log density of hidden entries"


# Data and settings


def settings_table(fit: Fit) -> Html:
    """Return the data and settings of the fit."""
    result, settings = fit.result, fit.result.settings
    lines = [
        ("Data", f"{fit.name}: {settings['n_rows']:,} rows, {settings['n_dims']:,} columns"),
        ("Features per row", _laws(settings["laws"], result)),
        ("Kind of data", result.model.likelihood.description),
        ("Background", str(result.background_choice)),
        ("Search", str(result.search)),
        ("Most features allowed", str(settings["n_features"] or "no limit")),
        ("Method", words.METHODS.get(settings["method"], settings["method"])),
        (
            "Length",
            f"{result.n_chains} chains, {settings['n_warmup']} sweeps thrown away and"
            f" {result.n_draws} stored in each",
        ),
    ]
    known = result.feature_names[: len(result.model.likelihood.known)]
    if known:
        lines.insert(3, ("Known features", ", ".join(short(name) for name in known)))
    if result.exposures is not None:
        lines.insert(3, ("Exposures of rows", _exposures(result)))
    if fit.hidden is not None:
        lines.append(("Hidden from the fit", f"{int(fit.hidden[1].sum()):,} entries"))
    return section("asked", "What was asked", table(("", ""), lines, texts=(0, 1)))


def _exposures(result: Any) -> str:
    """Return what is known of exposures, and their range."""
    learned = result.settings["likelihood"]["exposure"] == "learn"
    how = "learned, here their means" if learned else "given"
    low, middle, high = np.quantile(result.exposures, [0.0, 0.5, 1.0])
    return f"{how}: {low:.3g} to {high:.3g}, half of them below {middle:.3g}"


def _laws(laws: list[str], result: Any) -> str:
    if not laws:
        return "nothing was said (an unrestricted buffet)"
    index = result.tree["laws"]["law_of_row"].to_numpy()
    sizes = np.bincount(index, minlength=len(laws))
    order = np.argsort(-sizes, kind="stable")
    if len(laws) == 1:
        return laws[0]
    texts = [f"{law_words(laws[at])} ({sizes[at]:,} rows)" for at in order[:_MOST_LAWS]]
    more = [f"and {len(laws) - _MOST_LAWS} more laws"] if len(laws) > _MOST_LAWS else []
    return ", ".join(texts + more)


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
    return section(
        "features",
        "The features",
        paragraph(_what_features_do(result) + " and the range of most draws." + more),
        _looks(fit),
        _feature_table(fit),
        _numbers(fit),
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


def _what_features_do(result: Result) -> str:
    if result.event_names is None:
        return "What each feature adds to a row that has it,"
    return (
        "By how much each feature raises the probability of a level, or of a number above the usual"
        " one, in rows that have it,"
    )


def _looks(fit: Fit) -> Html:
    """Return what features add to columns: bars if columns have names, else a picture."""
    result, names = fit.result, shown_names(fit.result)
    axis = _axis(names)
    if names is None or axis is not None or fit.shape is not None:
        grid = plots.features(result, shape=fit.shape, axis=axis, most=_MOST_FEATURES)
        return picture(grid, "Each feature: what it adds to each column of the data.")
    shown = places(result)[:_MOST_FEATURES].tolist()
    shares = result.row_probs().mean(axis=0)
    titles = [
        f"{short(name)}: {percent(share)} of rows"
        for name, share in zip(result.feature_names, shares[: len(shown)], strict=False)
    ]
    return spread_panels(titles, [component(result, place) for place in shown], names)


def _numbers(fit: Fit) -> Html | None:
    """Return all numbers of the features as a table, if they are not too many."""
    events = fit.result.event_names
    n_numbers = places(fit.result).size * (len(events or ()) or fit.result.settings["n_dims"])
    if n_numbers > _MOST_NUMBERS:
        return note("All numbers of the features: ribp features RUN --out features.csv")
    frame = fit.result.components_frame() if events is None else fit.result.effects_frame()
    lines = [
        (short(str(line[0])), short(str(line[1])), *(rounded(x) for x in line[2:]))
        for line in frame.itertuples(index=False, name=None)
    ]
    head = ["feature", "column", "mean", "5% of draws", "95% of draws"]
    if events is not None:
        head[1:3] = ["event", "without it", "with it", "change"]
    numbers = table(head, lines, texts=(0, 1), name="features")
    return folded("All numbers of the features", numbers)


def _apart(fit: Fit) -> list[str]:
    """Return for each feature the columns that it changes most, in spreads of the columns.

    Or, where columns have kinds, the events whose probability it changes most.
    """
    units = np.asarray(stored_draws(fit.result.tree).units)
    names = shown_names(fit.result)
    texts = []
    for place in places(fit.result).tolist():
        sizes = component(fit.result, place).mean / units
        largest = np.argsort(-np.abs(sizes), kind="stable")[:_APART].tolist()
        called = [short(names[j]) if names else f"column {j}" for j in largest]
        pairs = zip(called, largest, strict=True)
        texts.append(", ".join(f"{name} {sizes[j]:+.2g}" for name, j in pairs))
    return texts


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
    summaries = fit.summary.features
    examples = _examples(fit) if fit.show_rows else None
    what = "columns it changes most, in their spreads"
    if result.event_names is not None:
        what = "what it makes more or less probable"
    head = ["feature", "rows that have it", "recognised in draws", "in chains", what]
    rows, apart = [], _apart(fit)
    for number, each in enumerate(summaries[: min(at.size, _MOST_ROWS)]):
        chains = f"{each.chains} of {len(result.alignment.chains)}"
        line = [short(each.name), percent(each.rows), percent(each.stability), chains]
        line.append(apart[number])
        rows.append(line if examples is None else [*line, examples[number]])
    if examples is not None:
        head.append("rows that show it best")
    left = at.size - _MOST_ROWS
    return tag(
        "div",
        table(head, rows, texts=(0, 4, 5)),
        note(f"and {left} less popular features") if left > 0 else None,
    )


def _examples(fit: Fit) -> list[str]:
    """Return for each feature the rows that surely have it and little else."""
    probs = fit.result.row_probs()
    names = row_names(fit.result)
    counts = probs.sum(axis=1)
    examples = []
    for column in probs.T:
        order = np.lexsort([counts, -np.round(column, 2)])[:_EXAMPLES]
        rows = [int(n) for n in order if column[n] > 0.5]
        called = [short(names[n]) if names else f"row {n}" for n in rows]
        examples.append(", ".join(called) if called else "no row")
    return examples


def rebuilt(fit: Fit) -> Html | None:
    """Return some rows of the data beside what their features make of them."""
    if not fit.show_rows:
        return None
    which = folded(
        "All rows and features as a picture",
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
            "Some rows: the data, and what the features that were found in them, which stand"
            " above, make of them. Where the two differ by more than chance, the features do"
            " not tell all."
        ),
        _some_rows(fit),
        which,
    )


def _some_rows(fit: Fit) -> Html:
    """Return some rows beside their features: dots if columns have names, else a picture."""
    result, data, names = fit.result, fit.data, dim_names(fit.result)
    assert data is not None
    if result.model.likelihood.kinds is not None:
        return kind_rows(fit, _SOME_ROWS)
    axis = _axis(names)
    if names is None or axis is not None or fit.shape is not None:
        axes = plots.rebuilt(result, data, shape=fit.shape, axis=axis, most=_SOME_ROWS)
        return picture(axes, "Data of some rows and what their features make of them.")
    n_rows = len(data.values)
    number = min(_SOME_ROWS, n_rows)
    at = (np.arange(number) * n_rows + n_rows // 2) // number
    some, called, probs = data.rows(at), row_names(result), result.row_probs()
    values = some.values if some.complete else np.where(some.observed, some.values, np.nan)
    titles = []
    for n in at.tolist():
        has = [result.feature_names[i] for i in np.flatnonzero(probs[n] > 0.5)]
        name = short(called[n]) if called else f"row {n}"
        titles.append(f"{name}: {short(', '.join(has)) or 'no feature'}")
    return pair_panels(titles, values, result.fitted(at), names)


def counts(fit: Fit) -> Html:
    """Return how many features rows have, beside what was said beforehand."""
    text = (
        "How many features rows were found to have, beside what was said beforehand. Where the two"
        " differ much, the law does not suit the data."
        if fit.result.settings["laws"]
        else "How many features rows were found to have. Nothing was said of it beforehand."
    )
    return section(
        "counts",
        "How many features rows have",
        paragraph(text),
        picture(plots.counts(fit.result), "How many features rows have, before and after."),
    )


# Warnings and the rest


def warnings(fit: Fit) -> Html:
    """Return what to be wary of, and what to do about it."""
    notices: list[Notice] = [*fit.summary.warnings, *fit.summary.notes]
    if not notices:
        return section("warnings", "Warnings", paragraph("None."))
    rows = [(words.in_words(one.text), words.advice(one)) for one in notices]
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
    settings_table, features, rows, rebuilt, counts, convergence, fits, held_out, warnings,
    reproduce, terms,
)  # fmt: skip
