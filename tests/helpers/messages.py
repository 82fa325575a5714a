"""Errors that say what they should."""

import pytest


def message_of(call, *words, error=ValueError):
    """Return the message of an error, which must hold some words."""
    with pytest.raises(error) as raised:
        call()
    message = str(raised.value)
    for word in words:
        assert word in message
    return message
