"""The text form of a count law, as the command line and files write it.

    law      = term { "+" term }                 the weights sum to one
    term     = [ number "*" ] atom
    atom     = name "(" argument { "," argument } ")"
    argument = number | law

for example ``exactly(3)``, ``0.8*exactly(1) + 0.2*poisson(9)`` or ``truncated(poisson(9), 1, 20)``.
Blanks are free. The text is read by a tokenizer and a recursive descent, and is never evaluated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from inspect import signature
from typing import NamedTuple

from ribp.counts.combined import mixture, truncated
from ribp.counts.finite import empirical, exactly, learned, table, uniform, window
from ribp.counts.law import CountLaw
from ribp.counts.unbounded import negative_binomial, poisson
from ribp.errors import InputError
from ribp.plugins import Registry

EXAMPLES = "Write a law such as exactly(3), uniform(1, 4) or 0.8*exactly(1) + 0.2*poisson(9)."


LAWS: Registry[Callable[..., CountLaw]] = Registry(
    "counts",
    "ribp.counts",
    None,
    {
        "exactly": exactly,
        "uniform": uniform,
        "window": window,
        "poisson": poisson,
        "negative_binomial": negative_binomial,
        "table": lambda p0, *p: table((p0, *p)),
        "empirical": lambda k0, *k: empirical((k0, *k)),
        "learned": lambda b0, *b: learned((b0, *b)),
        "truncated": truncated,
    },
)
register = LAWS.register


class TextError(InputError):
    """A text that is not a count law; the message points at the place."""

    def __init__(self, text: str, place: int, problem: str, remedy: str) -> None:
        self.argument = "text"
        self.place = place
        ValueError.__init__(self, text, place, problem, remedy)

    def __str__(self) -> str:
        text, place, problem, remedy = self.args
        shown = re.sub(r"\s", " ", text)
        return f"{problem}\n    {shown}\n    {' ' * place}^\n{remedy}"


def parse(text: str) -> CountLaw:
    """Return the count law that `text` describes; ``parse(str(law)) == law``."""
    if not isinstance(text, str):
        raise InputError("text", "must be a string", repr(text), EXAMPLES)
    return _Parser(text).parse()


class _Token(NamedTuple):
    kind: str  # number, name, end, or the symbol itself
    text: str
    place: int


_TOKEN = re.compile(
    r"(?P<number>([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<symbol>[-+*(),])"
)
_BLANK = re.compile(r"\s*")


def _tokens(text: str) -> Iterator[_Token]:
    place = _skip(text, 0)
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise TextError(text, place, f"Unexpected character {text[place]!r}.", EXAMPLES)
        word = match.group()
        yield _Token(word if match["symbol"] else str(match.lastgroup), word, place)
        place = _skip(text, match.end())
    yield _Token("end", "the end", len(text))


def _skip(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return place if blank is None else blank.end()


class _Parser:
    """One method a rule of the grammar; `self.at` is the token to read next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def parse(self) -> CountLaw:
        law = self.law()
        self.expect("end", "the end")
        return law

    def law(self) -> CountLaw:
        start = self.next.place
        terms = [self.term()]
        while self.next.kind == "+":
            self.at += 1
            terms.append(self.term())
        if self.next.kind not in ("end", ",", ")"):
            self.expect("+", "'+'")
        return self.make(start, mixture, terms, usage="weight*law + weight*law")

    def term(self) -> tuple[float, CountLaw]:
        weight: float = 1
        if self.next.kind in ("number", "-", "+"):
            weight = self.number()
            remedy = f"For the one count {weight} write exactly({weight})."
            self.expect("*", "'*' and a law after a number", remedy)
        return weight, self.atom()

    def atom(self) -> CountLaw:
        name = self.expect("name", "a law")
        if name.text not in LAWS:
            raise TextError(
                self.text, name.place, f"Unknown count law {name.text!r}.", _nearest(name.text)
            )
        make = LAWS[name.text]
        usage = _usage(name.text)
        self.expect("(", f"'(' after {name.text}", f"The form is {usage}.")
        arguments = [] if self.next.kind == ")" else [self.argument()]
        while self.next.kind == ",":
            self.at += 1
            arguments.append(self.argument())
        self.expect(")", "',' or ')'", f"The form is {usage}.")
        try:
            signature(make).bind(*arguments)
        except TypeError:
            problem = f"Wrong number of arguments ({len(arguments)}) for {name.text}."
            raise TextError(self.text, name.place, problem, f"The form is {usage}.") from None
        return self.make(name.place, make, *arguments, usage=usage)

    def argument(self) -> float | CountLaw:
        start = self.at
        if self.next.kind not in ("number", "-", "+"):
            return self.law()
        value = self.number()
        if self.next.kind != "*":
            return value
        self.at = start
        return self.law()

    def number(self) -> float:
        sign = 1
        if self.next.kind in ("-", "+"):
            sign = -1 if self.next.kind == "-" else 1
            self.at += 1
        digits = self.expect("number", "a number").text
        whole = digits.isdigit() and len(digits) < 300
        return sign * (int(digits) if whole else float(digits))

    def expect(self, kind: str, what: str, remedy: str = EXAMPLES) -> _Token:
        token = self.next
        if token.kind != kind:
            found = token.text if token.kind == "end" else repr(token.text)
            raise TextError(self.text, token.place, f"Expected {what}, found {found}.", remedy)
        self.at += 1
        return token

    def make(
        self, place: int, build: Callable[..., CountLaw], *arguments: object, usage: str
    ) -> CountLaw:
        try:
            return build(*arguments)
        except InputError as error:
            raise TextError(self.text, place, str(error), f"The form is {usage}.") from None


def _nearest(name: str) -> str:
    if name == "mixture":
        return "Write a mixture as a sum: 0.8*exactly(1) + 0.2*poisson(9)."
    near = difflib.get_close_matches(name, LAWS, n=1)
    if near:
        return f"Did you mean {_usage(near[0])}?"
    other = "If another package has it, install that, or call ribp.counts.register."
    return f"Known: {', '.join(LAWS)}. {other}"


def _usage(name: str) -> str:
    """Return how a law is written: its name and those of its arguments."""
    arguments = signature(LAWS[name]).parameters.values()
    names = [f"{a.name}1, ..." if a.kind is a.VAR_POSITIONAL else a.name for a in arguments]
    return f"{name}({', '.join(names)})"
