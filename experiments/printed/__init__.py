"""Algorithms as the paper prints them, where that differs from what is right.

They exist to show the difference, in tests and on the errata page. Nothing else uses them.
"""
