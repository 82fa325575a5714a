"""Whether the verdict of a fit says what it should."""
