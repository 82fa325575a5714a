"""Kinds of columns."""
