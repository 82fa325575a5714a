"""Two sets of word counts made of Reuters stories, where the number of topics of a row is known.

Words are runs of three or more letters of title and body, in lower case, without scikit-learn's
English stop words. The steps, with the stored sets of the evaluation as the model (their seed is
not known, so that other stories are drawn, by the same rules):

`reuters_mix`, counts of 200 words in about 1070 stories of one to three topics:

1. stories with a body whose topics, one to three, are all among `MIX_TOPICS`;
2. of those with one topic 400, drawn at random, first; then all with two or three; each by number;
3. the 200 words that occur most often, in alphabetical order.

`reuters_digest`, counts of some 1700 words in 365 stories and 365 summaries of five stories:

1. stories with exactly one topic, among `DIGEST_TOPICS`, and a body of 60 words or more;
2. 365 rows with one topic: a topic at random, a story of it at random, the whole story;
3. 365 rows with five: five different topics at random, a story of each at random, of each its
   title and the first 80 words of its body;
4. the words in at least 10 of these rows and at most 45 % of them, in alphabetical order.

The second stands in for the paper's NPR set, which cannot be had: 365 features of one topic and
365 summaries of five.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.data import stored
from experiments.data.labelled import Labelled
from experiments.data.reuters import Reuters, Story
from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError, StorageError

__all__ = [
    "DIGEST_TOPICS",
    "MIX_TOPICS",
    "ReutersSet",
    "load_digest",
    "load_mix",
    "reuters_digest",
    "reuters_mix",
]

MIX_TOPICS = (
    "crude", "nat-gas", "ship", "grain", "wheat", "corn", "sugar", "coffee", "money-fx",
    "interest", "trade", "dlr", "gold",
)  # fmt: skip
DIGEST_TOPICS = (
    "crude", "grain", "money-fx", "interest", "trade", "ship", "sugar", "coffee", "gold", "earn",
    "acq", "cpi", "jobs", "copper", "nat-gas", "cocoa", "money-supply",
)  # fmt: skip
_MIX_SINGLES, _MIX_WORDS, _MIX_MOST_TOPICS = 400, 200, 3
_DIGEST_ROWS, _DIGEST_STORIES = 365, 5
_LEAST_WORDS, _LEAD_WORDS, _LEAST_ROWS, _MOST_SHARE = 60, 80, 10, 0.45
_KNOWN_MIX = ("bf66feca708be59bdf14f6eb26f35627aabb68fc68a57217762de7fccbde6193",)
_KNOWN_DIGEST = ("2921c41cf076b763dc10ee2e6102850b98b1a52b28315c33cbaf02ad079ae227",)
_ARRAYS = {"X": ("iu", 2), "Z": ("biu", 2), "topics": ("U", 1), "vocab": ("U", 1)}


@dataclass(frozen=True, eq=False, repr=False)
class ReutersSet(Labelled):
    """Word counts of stories, or of summaries of several; `feature_names` are topics.

    Attributes
    ----------
    stories
        Numbers of the stories in each row, shape (rows, stories), -1 where there are fewer.
    """

    stories: IntArray


def load_mix(path: str | PathLike[str], *, sha256: str | None = stored.KNOWN) -> ReutersSet:
    """Return the stories of one to three topics in an .npz file that you have.

    Parameters
    ----------
    path
        Arrays `X` (counts), `Z` (topics of rows), `topics`, `vocab` and `ids`.
    sha256
        "known": the file must be the one that the evaluation used; or a checksum; or None.
    """
    return _load(Path(path), sha256, _KNOWN_MIX, id_axes=1)


def load_digest(path: str | PathLike[str], *, sha256: str | None = stored.KNOWN) -> ReutersSet:
    """Return the stories and five-story summaries in an .npz file that you have.

    They stand in for the paper's NPR set. Arguments as in `load_mix`.
    """
    return _load(Path(path), sha256, _KNOWN_DIGEST, id_axes=2)


def reuters_mix(rng: np.random.Generator | int, reuters: Reuters) -> ReutersSet:
    """Make word counts of stories that have one to three of `MIX_TOPICS`."""
    rng = checks.generator("rng", rng)
    allowed = set(MIX_TOPICS)
    fitting = [
        story
        for story in sorted(reuters.stories, key=lambda one: one.id)
        if story.body and 0 < len(story.topics) <= _MIX_MOST_TOPICS and allowed >= set(story.topics)
    ]
    singles = [story for story in fitting if len(story.topics) == 1]
    several = [story for story in fitting if len(story.topics) > 1]
    if not several or not singles:
        raise _too_few("reuters_mix", len(fitting))
    size = min(_MIX_SINGLES, len(singles))
    chosen = np.sort(rng.choice(len(singles), size=size, replace=False)).tolist()
    rows = [[singles[at]] for at in chosen] + [[story] for story in several]
    counted = [_words(story.title, story.body) for (story,) in rows]
    total: Counter[str] = Counter()
    for words in counted:
        total.update(words)
    common = sorted(total, key=lambda word: (-total[word], word))[:_MIX_WORDS]
    return _made(rows, counted, sorted(common), MIX_TOPICS)


def reuters_digest(rng: np.random.Generator | int, reuters: Reuters) -> ReutersSet:
    """Make word counts of 365 stories and 365 five-story summaries, of `DIGEST_TOPICS`."""
    rng = checks.generator("rng", rng)
    pools: dict[str, list[Story]] = {topic: [] for topic in DIGEST_TOPICS}
    for story in sorted(reuters.stories, key=lambda one: one.id):
        long_enough = len(story.body.split()) >= _LEAST_WORDS
        if long_enough and len(story.topics) == 1 and story.topics[0] in pools:
            pools[story.topics[0]].append(story)
    possible = [topic for topic in DIGEST_TOPICS if pools[topic]]
    if len(possible) < _DIGEST_STORIES:
        raise _too_few("reuters_digest", sum(map(len, pools.values())))
    rows = [_draw(rng, pools, possible, 1) for _ in range(_DIGEST_ROWS)]
    rows += [_draw(rng, pools, possible, _DIGEST_STORIES) for _ in range(_DIGEST_ROWS)]
    counted = [_counted(row) for row in rows]
    present = Counter(word for words in counted for word in words)
    most = _MOST_SHARE * len(rows)
    kept = sorted(word for word, n in present.items() if _LEAST_ROWS <= n <= most)
    return _made(rows, counted, kept, DIGEST_TOPICS)


def _draw(
    rng: np.random.Generator, pools: dict[str, list[Story]], topics: Sequence[str], size: int
) -> list[Story]:
    """Return stories of different topics."""
    chosen = rng.choice(len(topics), size=size, replace=False).tolist()
    return [pools[topics[at]][rng.integers(len(pools[topics[at]]))] for at in chosen]


def _counted(stories: list[Story]) -> Counter[str]:
    """Return the words of a story, or of titles and leads of several."""
    if len(stories) == 1:
        return _words(stories[0].title, stories[0].body)
    leads = [" ".join(story.body.split()[:_LEAD_WORDS]) for story in stories]
    return _words(*(story.title for story in stories), *leads)


def _words(*texts: str) -> Counter[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    found = re.findall(r"[a-z]{3,}", " ".join(texts).lower())
    return Counter(word for word in found if word not in ENGLISH_STOP_WORDS)


def _made(
    rows: list[list[Story]],
    counted: list[Counter[str]],
    words: Sequence[str],
    topics: Sequence[str],
) -> ReutersSet:
    """Return the set of rows, each of one story or more."""
    data = np.array([[found[word] for word in words] for found in counted], dtype=np.float64)
    truth = np.zeros((len(rows), len(topics)), np.int8)
    stories = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for n, row in enumerate(rows):
        truth[n, [topics.index(topic) for story in row for topic in story.topics]] = 1
        stories[n, : len(row)] = [story.id for story in row]
    return _set(data, truth, topics, words, stories, "")


def _load(path: Path, sha256: str | None, known: Iterable[str], id_axes: int) -> ReutersSet:
    raw = stored.contents(path)
    found = stored.digest([raw])
    stored.check(path, found, sha256, known)
    arrays = stored.read_arrays(path, raw, {**_ARRAYS, "ids": ("i", id_axes)})
    topics, words = stored.names(arrays["topics"]), stored.names(arrays["vocab"])
    truth = stored.zeros_and_ones(path, "Z", arrays["Z"])
    ids = arrays["ids"].reshape(len(arrays["ids"]), -1)
    shapes = (arrays["X"].shape, truth.shape, len(ids))
    if shapes != ((len(ids), len(words)), (len(ids), len(topics)), len(truth)):
        raise StorageError(
            path,
            f"has X of shape {shapes[0]}, Z of shape {shapes[1]}, {len(ids)} ids, {len(words)} "
            f"words and {len(topics)} topics",
            "They must agree: get the file again.",
        )
    return _set(arrays["X"].astype(np.float64), truth, topics, words, ids.astype(np.int64), found)


def _set(
    data: FloatArray,
    truth: NDArray[np.int8],
    topics: Sequence[str],
    words: Sequence[str],
    stories: IntArray,
    found: str,
) -> ReutersSet:
    return ReutersSet(
        data=data,
        rows=truth,
        counts=truth.sum(axis=1, dtype=np.int64),
        feature_names=tuple(topics),
        dim_names=tuple(words),
        sha256=found,
        stories=stories,
    )


def _too_few(name: str, number: int) -> InputError:
    return InputError(
        "reuters",
        f"must have stories of enough topics for {name}",
        f"{number} that fit",
        "Load the whole of Reuters-21578.",
    )
