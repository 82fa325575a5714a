"""Rows that are not in memory, or on other machines: sources, shards, and who runs them."""
