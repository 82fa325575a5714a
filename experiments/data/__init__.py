"""Loaders of evaluation data that you must already have: they cannot ship with the package."""

from experiments.data.cambridge import Images, load_cambridge
from experiments.data.chords import AllChords, load_all_chords
from experiments.data.labelled import Labelled
from experiments.data.mulan import load_mulan
from experiments.data.newsgroups import Newsgroups, load_newsgroups
from experiments.data.reuters import Reuters, Story, load_reuters
from experiments.data.reuters_sets import (
    ReutersSet,
    load_digest,
    load_mix,
    reuters_digest,
    reuters_mix,
)

__all__ = [
    "AllChords",
    "Images",
    "Labelled",
    "Newsgroups",
    "Reuters",
    "ReutersSet",
    "Story",
    "load_all_chords",
    "load_cambridge",
    "load_digest",
    "load_mix",
    "load_mulan",
    "load_newsgroups",
    "load_reuters",
    "reuters_digest",
    "reuters_mix",
]
