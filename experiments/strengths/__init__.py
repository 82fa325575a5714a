"""Chords whose notes are loud or soft: entries with a strength, beside those that are on or off."""
