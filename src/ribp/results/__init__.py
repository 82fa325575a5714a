"""The result of a fit: a tree of draws, its file, and the object around both."""

from ribp.results.result import Result
from ribp.results.result_file import load, save
from ribp.results.tree import build

__all__ = ["Result", "build", "load", "save"]
