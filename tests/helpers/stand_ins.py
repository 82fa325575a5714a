"""The files of the evaluation, which cannot ship, and made-up ones that stand in for them.

Stand-ins have the same arrays and types as the real files, a few dozen rows, and sizes that follow
from the row's number. The real files are looked for in ../shared/data beside the checkout.
"""

import hashlib
from pathlib import Path

import numpy as np

from experiments import data
from experiments.data import mulan, newsgroups, reuters_sets

STAND_IN, REAL = "stand-in", "real"
REAL_FOLDER = Path(__file__).parents[3] / "shared" / "data"
LOADERS = {
    "20news_w100.npz": data.load_newsgroups,
    "reuters_mix.npz": data.load_mix,
    "reuters_digest.npz": data.load_digest,
    "emotions.npz": data.load_mulan,
    "medical.npz": data.load_mulan,
}
KNOWN = {
    "20news_w100.npz": (newsgroups, "_KNOWN"),
    "reuters_mix.npz": (reuters_sets, "_KNOWN_MIX"),
    "reuters_digest.npz": (reuters_sets, "_KNOWN_DIGEST"),
    "emotions.npz": (mulan, "_KNOWN"),
    "medical.npz": (mulan, "_KNOWN"),
}


def there(cases):
    """Return the cases (source, file, ...) of stand-ins, and of real files that are there."""
    return [case for case in cases if case[0] == STAND_IN or (REAL_FOLDER / case[1]).exists()]


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def place(source, file, folder, monkeypatch):
    """Return the folder where a file is: a stand-in is written, and known to its loader."""
    if source == REAL:
        return REAL_FOLDER
    monkeypatch.setattr(*KNOWN[file], (sha(write(file, folder)),))
    return folder


def write(file, folder):
    """Write a stand-in and return its path."""
    path = folder / file
    np.savez(path, **ARRAYS[file](np.random.default_rng(0)))
    return path


def numbered(word, size):
    return np.array([f"{word}{i}" for i in range(size)])


def labels(sizes, n_labels):
    """Return rows with some labels each, beginning with the label of the row's number."""
    rows = np.zeros((len(sizes), n_labels), np.uint8)
    for n, size in enumerate(sizes):
        rows[n, (n + np.arange(size)) % n_labels] = 1
    return rows


def words_of(rng, rows, n_words):
    """Return word counts: rare words, and more of those that belong to the labels of a row."""
    own = rows @ np.tile(np.eye(rows.shape[1]), -(-n_words // rows.shape[1]))[:, :n_words]
    return rng.poisson(0.3 + 2 * own).astype(np.uint16)


def news(rng):
    """Return 60 postings of 0 to 29 words, in groups of 24, 18, 12 and 6."""
    x = np.zeros((60, 100), np.uint8)
    for n, row in enumerate(x):
        row[rng.choice(100, n % 30, replace=False)] = 1
    y = np.repeat(np.arange(1, 5, dtype=np.uint8), [24, 18, 12, 6])
    return {"X": x, "y": y, "words": numbered("word", 100), "groups": numbered("group", 4)}


def mix(rng):
    """Return 39 stories of one, two and three topics in turn."""
    z = labels(1 + np.arange(39) % 3, len(reuters_sets.MIX_TOPICS))
    x = words_of(rng, z, 50)
    return {
        "X": x,
        "Z": z,
        "k": z.sum(axis=1),
        "topics": np.array(reuters_sets.MIX_TOPICS),
        "vocab": numbered("word", 50),
        "ids": np.arange(100, 139),
        "length": x.sum(axis=1, dtype=np.int64),
    }


def digest(rng):
    """Return 20 stories of one topic and 20 summaries of five."""
    z = labels(np.repeat([1, 5], 20), len(reuters_sets.DIGEST_TOPICS))
    ids = np.arange(100, 300).reshape(40, 5)
    ids[:20, 1:] = -1
    return {
        "X": words_of(rng, z, 70),
        "Z": z,
        "k": z.sum(axis=1),
        "topics": np.array(reuters_sets.DIGEST_TOPICS),
        "vocab": numbered("word", 70),
        "ids": ids,
    }


def labelled(x, y):
    return {
        "X": x.astype(np.float32),
        "Y": y,
        "feature_names": numbered("column", x.shape[1]),
        "label_names": numbered("label", y.shape[1]),
        "k": y.sum(axis=1, dtype=np.int64),
    }


def emotions(rng):
    """Return 36 sounds of one to three moods, in columns of different size."""
    y = labels(1 + np.arange(36) % 3, 6)
    return labelled(
        (y @ rng.normal(size=(6, 20)) + rng.normal(size=(36, 20))) * np.arange(1, 21), y
    )


def medical(rng):
    """Return 60 reports, of which 4 have a rare label; one word is in 4 reports only."""
    y = np.hstack([labels(1 + np.arange(60) % 2, 4), np.zeros((60, 1), np.uint8)])
    y[:4, 4] = 1
    x = np.minimum(words_of(rng, y[:, :4], 30), 1)
    x[:, 29] = np.arange(60) >= 56
    return labelled(x, y)


ARRAYS = {
    "20news_w100.npz": news,
    "reuters_mix.npz": mix,
    "reuters_digest.npz": digest,
    "emotions.npz": emotions,
    "medical.npz": medical,
}
