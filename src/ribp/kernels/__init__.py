"""Compiled loops: arrays in, arrays out, no validation; numba lives only here."""
