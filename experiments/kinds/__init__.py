"""Columns of any kind: are the features of a table found, and hidden entries predicted."""
