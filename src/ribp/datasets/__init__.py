"""Data with known features and known counts: piano chords, and the paper's toy sets."""

from ribp.datasets.chords import Chords, load_chords, scaled
from ribp.datasets.synthesiser import synthesise_chords
from ribp.datasets.toy import OneInflatedToy, Toy, toy_missing_one, toy_one_inflated

__all__ = [
    "Chords",
    "OneInflatedToy",
    "Toy",
    "load_chords",
    "scaled",
    "synthesise_chords",
    "toy_missing_one",
    "toy_one_inflated",
]
