"""What a fit hands back: a tree of draws, the file it is kept in, and the object around both."""

from ribp.results.result import Result
from ribp.results.result_file import load, save
from ribp.results.tree import build

__all__ = ["Result", "build", "load", "save"]
