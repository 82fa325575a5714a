"""Cases and tools that several tests share."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The checkout: child processes that import tests start there."""
