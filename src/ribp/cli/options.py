"""Options of commands as arguments of estimators, and back."""

from __future__ import annotations

from ribp.errors import InputError

__all__ = ["background_option", "background_words"]

_BACKGROUND: dict[str, bool | str] = {"auto": "auto", "on": True, "off": False}


def background_option(text: str) -> bool | str:
    """Return the argument of an estimator for --background."""
    if text not in _BACKGROUND:
        raise InputError(
            "--background", "must be auto, on or off", repr(text), "Leave it out to find out."
        )
    return _BACKGROUND[text]


def background_words(value: bool | str) -> list[str]:
    """Return the words of a command line; none for what is the default."""
    text = next(text for text, known in _BACKGROUND.items() if known == value)
    return [] if text == "auto" else ["--background", text]
