"""Structured and mean-field rows against enumeration."""
