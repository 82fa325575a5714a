"""Data with known features and known counts: chords, the paper's toy sets, and files you have."""

from ribp.datasets.chords import Chords, load_chords, scaled
from ribp.datasets.labelled import Labelled
from ribp.datasets.mulan import load_mulan
from ribp.datasets.newsgroups import Newsgroups, load_newsgroups
from ribp.datasets.reuters import Reuters, Story, load_reuters
from ribp.datasets.reuters_sets import (
    ReutersSet,
    load_digest,
    load_mix,
    reuters_digest,
    reuters_mix,
)
from ribp.datasets.synthesiser import synthesise_chords
from ribp.datasets.toy import OneInflatedToy, Toy, toy_missing_one, toy_one_inflated

__all__ = [
    "Chords",
    "Labelled",
    "Newsgroups",
    "OneInflatedToy",
    "Reuters",
    "ReutersSet",
    "Story",
    "Toy",
    "load_chords",
    "load_digest",
    "load_mix",
    "load_mulan",
    "load_newsgroups",
    "load_reuters",
    "reuters_digest",
    "reuters_mix",
    "scaled",
    "synthesise_chords",
    "toy_missing_one",
    "toy_one_inflated",
]
