"""Every parameter of `RestrictedIBP` is an option of `ribp fit` and `ribp compare`.

`PARAMETERS` has one line for each; a test compares it with the estimator, names and defaults. A
command that ends in ``**parameters`` gets the options through `with_parameters`, under the names of
the parameters, and the arguments of the estimator from `estimator_arguments`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

F = TypeVar("F", bound=Callable[..., None])

MODEL = "The model"
LENGTH = "Chains and their length"
ON_OFF: dict[str, bool | str] = {"auto": "auto", "on": True, "off": False}
"""What the words of options such as --background stand for."""


class Parameter(NamedTuple):
    """A parameter of an estimator as an option."""

    flag: str
    default: Any
    """As the estimator has it."""
    help: str
    panel: str | None = MODEL
    """Its group in the help; None for the first one."""
    type: Any = str
    """As it is typed: str, int or float; a text becomes what `read` makes of it."""
    read: Callable[[str, str], Any] = lambda flag, text: text
    """From the option and its text to the value."""
    least: int | None = None
    """The least number that is allowed."""


def number_or_word(flag: str, text: str) -> Any:
    """Return the number in a text; another text as it is, for the estimator to judge."""
    word = text.strip()
    try:
        return int(word) if word.lstrip("+-").isdecimal() else float(word)
    except ValueError:
        return word


def on_or_off(flag: str, text: str) -> bool | str:
    """Return True, False or "auto"."""
    from ribp.errors import InputError

    if text not in ON_OFF:
        raise InputError(flag, "must be auto, on or off", repr(text), "Leave it out for auto.")
    return ON_OFF[text]


METHODS = ("gibbs", "gibbs-rows", "augmented", "structured", "stochastic", "hybrid")


def known_method(flag: str, text: str) -> str:
    """Return the name of a method; a mistake is told before anything heavy is loaded."""
    from ribp.checks import one_of

    return one_of(flag, text, METHODS)


def known_likelihood(flag: str, text: str) -> str:
    """Return the name of a likelihood or a kind; a mistake in it is told before data are read."""
    if text in ("gaussian", "poisson"):  # before anything heavy is loaded
        return text
    from ribp.checks import one_of
    from ribp.estimators.kind_tables import likelihood_names
    from ribp.kinds.choice import is_choice

    return text if is_choice(text) else one_of(flag, text, likelihood_names())


PARAMETERS: dict[str, Parameter] = {
    "max_features": Parameter(
        "--max-features", "auto", "Largest number of features, or auto.", None, str, number_or_word
    ),
    "method": Parameter(
        "--method", "gibbs", f"{', '.join(METHODS[:-1])} or {METHODS[-1]}.", read=known_method
    ),
    "likelihood": Parameter(
        "--likelihood", "gaussian", "gaussian, poisson for counts, noisy-or for causes of yes and "
        "no, auto or one kind for all columns (see --kind), or the name of a plug-in.",
        read=known_likelihood,
    ),
    "entries": Parameter(
        "--entries", "binary", "binary; strengths: what a row has of a feature may be louder or "
        "softer; poisson or negative_binomial: it may have it several times. All but binary with "
        "--method gibbs-rows.",
    ),
    "restrict": Parameter(
        "--restrict", "nonzeros", "What counts are about: nonzeros, or with --entries poisson or "
        "negative_binomial sum, how many units a row has.",
    ),
    "failures": Parameter(
        "--failures", 1.0, "r of --entries negative_binomial.", type=float,
    ),
    "strength_law": Parameter(
        "--strength-law", "around-one", "With --entries strengths: around-one, positive or signed."
    ),
    "weight_prior": Parameter(
        "--weight-prior", "weak-limit", "weak-limit, size-ordered or gamma-odds."
    ),
    "background": Parameter(
        "--background",
        "auto",
        "Whether every row has something that nobody counts, such as offsets of columns: auto (a "
        "short search finds out), on or off.",
        read=on_or_off,
    ),
    "noise": Parameter(
        "--noise", "per-dim", "per-dim: every column has its own noise; shared: one for all."
    ),
    "noise_scale": Parameter(
        "--noise-scale", "learn", "Standard deviation of the noise, or learn.", read=number_or_word
    ),
    "feature_scale": Parameter(
        "--feature-scale", "learn", "Standard deviation of features, or learn.", read=number_or_word
    ),
    "mass": Parameter(
        "--mass", "learn", "alpha of the prior: larger for more features; or learn.",
        read=number_or_word,
    ),
    "concentration": Parameter(
        "--concentration", 1.0, "c of the prior: larger for features of like popularity; or learn.",
        read=number_or_word,
    ),
    "fixed_components": Parameter(
        "--fixed-components", None, "File of features that are known, one a row, with the columns "
        "of the data (COLUMN=LEVEL for levels without an order, and for yes); others are found "
        "beside them. With --method gibbs-rows.",
    ),
    "n_chains": Parameter("--chains", 4, "Number of chains.", LENGTH, int, least=1),
    "n_warmup": Parameter(
        "--warmup", 500, "Sweeps of a chain that are thrown away.", LENGTH, int, least=0
    ),
    "n_draws": Parameter(
        "--draws", 500, "Sweeps of a chain that are stored.", LENGTH, int, least=1
    ),
    "n_jobs": Parameter("--jobs", None, "Chains at once; one a core if left out.", LENGTH, int),
    "progress": Parameter("--progress", "auto", "auto or off.", LENGTH, read=on_or_off),
}  # fmt: skip
"""Parameters of `RestrictedIBP` that are options, in the order of the help."""

ELSEWHERE = {"counts": "--counts", "random_state": "--seed", "checkpoint": "--out"}
"""Parameters that options of a run stand for."""


def with_parameters(helps: Mapping[str, str] | None = None, **defaults: Any) -> Callable[[F], F]:
    """Return a decorator that gives a command with ``**parameters`` an option for each.

    The command itself is not wrapped. `helps` replace the help of parameters, `defaults` what they
    are by default.
    """

    def decorate(command: F) -> F:
        signature = inspect.signature(command, eval_str=True)
        given = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        own = {name: PARAMETERS[name]._replace(help=text) for name, text in (helps or {}).items()}
        every = PARAMETERS | own
        added = [_as_argument(name, one, defaults) for name, one in every.items()]
        command.__signature__ = signature.replace(parameters=[*given, *added])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in (*given, *added)}
        return command

    return decorate


def _as_argument(name: str, one: Parameter, defaults: dict[str, Any]) -> inspect.Parameter:
    default = defaults.get(name, one.default)
    default = str(default) if one.type is str and default is not None else default
    option = typer.Option(one.flag, help=one.help, rich_help_panel=one.panel, min=one.least)
    kind: Any = one.type | None if default is None else one.type
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=Annotated[kind, option])


def estimator_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an estimator for the options of a command, usual ones included."""
    values = {name: options.get(name, one.default) for name, one in PARAMETERS.items()}
    return {
        name: PARAMETERS[name].read(PARAMETERS[name].flag, value)
        if isinstance(value, str)
        else value
        for name, value in values.items()
    }


def as_options(arguments: dict[str, Any]) -> list[str]:
    """Return the words of a command line for the arguments of an estimator that are not usual."""
    texts = {True: "on", False: "off"}
    words: list[str] = []
    for name, one in PARAMETERS.items():
        value = arguments.get(name, one.default)
        if value != one.default and isinstance(value, str | int | float):
            words += [one.flag, texts[value] if isinstance(value, bool) else str(value)]
    return words
