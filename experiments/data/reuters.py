"""Reuters-21578: news stories of 1987 and their topics, from the SGML files as distributed.

    <REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="..." NEWID="...">
    <TOPICS><D>grain</D><D>wheat</D></TOPICS> ... <TEXT><TITLE>...</TITLE> ... <BODY>...</BODY>
    </TEXT></REUTERS>

The files (reut2-000.sgm and so on) are Latin-1, are not XML, and mark ends of texts by control
characters such as &#3;, which are left out. Stories without a <BODY> (TYPE="BRIEF") have an empty
one; those whose parts are not marked up (TYPE="UNPROC") have all of their text as body. The
collection is for research only, and is not part of this package.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from experiments.data import stored
from ribp.errors import StorageError

__all__ = ["Reuters", "Story", "load_reuters"]

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)(</REUTERS>|(?=<REUTERS\b)|\Z)", re.DOTALL)
_FIELD = re.compile(r"(\w+)\s*=\s*\"([^\"]*)\"")
_TEXT = re.compile(r"<TEXT\b([^>]*)>(.*?)</TEXT>", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Story:
    """One story.

    Attributes
    ----------
    id
        NEWID: its number, from 1.
    topics
        In the order of the file; a topic that is given twice counts once.
    title, body
        Without mark-up.
    split
        LEWISSPLIT: "TRAIN", "TEST" or "NOT-USED".
    cgi_split
        CGISPLIT: "TRAINING-SET" or "PUBLISHED-TESTSET".
    has_topics
        TOPICS: "YES", "NO" or "BYPASS"; an indexer's remark, not whether `topics` is empty.
    """

    id: int
    topics: tuple[str, ...]
    title: str
    body: str
    split: str
    cgi_split: str
    has_topics: str


@dataclass(frozen=True, eq=False)
class Reuters:
    """All stories of a folder, in the order of files.

    Attributes
    ----------
    stories
    sha256
        Checksum of the files' checksums, in the order of their names.
    """

    stories: tuple[Story, ...]
    sha256: str

    def __repr__(self) -> str:
        topics = {topic for story in self.stories for topic in story.topics}
        return f"<Reuters: {len(self.stories)} stories, {len(topics)} topics>"


def load_reuters(path: str | PathLike[str], *, sha256: str | None = None) -> Reuters:
    """Return the stories in a folder that you have; nothing is downloaded.

    Parameters
    ----------
    path
        The folder of reut2-000.sgm, reut2-001.sgm and so on: all of them, or some.
    sha256
        The checksum that the files must have together, as `Reuters.sha256` reports it; None for
        anything. That of the distribution is not known here.
    """
    folder = Path(path)
    files = sorted(folder.glob("*.sgm"))
    if not files:
        raise StorageError(
            folder, "has no .sgm files", "Nothing is downloaded: unpack Reuters-21578 there."
        )
    raw = [stored.contents(file) for file in files]
    found = stored.digest(raw)
    stored.check(folder, found, sha256)
    stories = [
        story
        for file, part in zip(files, raw, strict=True)
        for story in _stories(file, part.decode("latin-1"))
    ]
    _check_numbers(folder, stories)
    return Reuters(tuple(stories), found)


def _stories(path: Path, text: str) -> Iterator[Story]:
    stories = list(_STORY.finditer(text))
    for found in stories:
        line = text.count("\n", 0, found.start()) + 1
        fields = dict(_FIELD.findall(found[1]))
        if not found[3]:
            raise StorageError(
                path, f"has a story in line {line} without </REUTERS>", "Get the file again."
            )
        if not fields.get("NEWID", "").isdecimal():
            raise StorageError(
                path, f"has a story in line {line} without a NEWID", "Get the file again."
            )
        yield _story(fields, found[2])
    if not stories:
        raise StorageError(path, "has no <REUTERS> story", "Get the file again, or remove it.")


def _story(fields: dict[str, str], inside: str) -> Story:
    text = _TEXT.search(inside)
    kind, content = (text[1], text[2]) if text else ("", "")
    body = content if "UNPROC" in kind else _part(content, "BODY")
    topics = re.findall(r"<D>(.*?)</D>", _part(inside, "TOPICS"), re.DOTALL)
    return Story(
        id=int(fields["NEWID"]),
        topics=tuple(dict.fromkeys(_plain(topic) for topic in topics)),
        title=_plain(_part(content, "TITLE")),
        body=_plain(body),
        split=fields.get("LEWISSPLIT", ""),
        cgi_split=fields.get("CGISPLIT", ""),
        has_topics=fields.get("TOPICS", ""),
    )


def _part(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return found[1] if found else ""


def _plain(text: str) -> str:
    """Return text without mark-up, entities and control characters."""
    return _CONTROL.sub("", html.unescape(re.sub(r"</?[A-Z]+>", "", text))).strip()


def _check_numbers(folder: Path, stories: list[Story]) -> None:
    seen: set[int] = set()
    for story in stories:
        if story.id in seen:
            raise StorageError(
                folder, f"has two stories of NEWID {story.id}", "Remove the file that is a copy."
            )
        seen.add(story.id)
