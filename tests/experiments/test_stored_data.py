"""Loaders of files that users have, and the files of the evaluation: see `stand_ins`."""

import contextlib
import hashlib

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from experiments import data
from experiments.data import reuters_sets, stored
from ribp.errors import InputError, StorageError
from tests.helpers import stand_ins
from tests.helpers.messages import message_of
from tests.helpers.stand_ins import REAL, STAND_IN, sha, there


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def fails(call, *parts, error=StorageError):
    return message_of(call, *parts, error=error)


# Files and checksums


def test_a_file_that_is_not_there_and_no_array_file(tmp_path):
    path = tmp_path / "none.npz"
    fails(lambda: data.load_newsgroups(path), str(path), "No such file", "correct the path")
    path.write_bytes(b"nothing of the kind")
    load = lambda: data.load_newsgroups(path, sha256=None)  # noqa: E731
    fails(load, "is not an .npz file", "Get the file again")


def test_objects_are_refused(tmp_path):
    path = npz(tmp_path / "bad.npz", **news(words=np.array([{"a": 1}], dtype=object)))
    fails(lambda: data.load_newsgroups(path, sha256=None), "plain arrays")


def test_damaged_archives_never_end_in_another_error(tmp_path):
    path = npz(tmp_path / "a.npz", **news())
    good, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(200):
        bad = bytearray(good[: rng.integers(len(good))] if rng.random() < 0.3 else good)
        for at in rng.integers(max(len(bad), 1), size=8 if bad else 0):
            bad[at] = rng.integers(256)
        path.write_bytes(bytes(bad))
        with contextlib.suppress(StorageError):
            data.load_newsgroups(path, sha256=None)


def test_cut_matlab_files_are_an_error(tmp_path):
    path = matlab(tmp_path / "a.mat")
    good = path.read_bytes()
    for length in range(0, len(good) - 8, 37):
        path.write_bytes(good[:length])
        with pytest.raises(StorageError):
            data.load_newsgroups(path)


def test_a_changed_file_is_an_error_that_names_both_checksums(tmp_path):
    path = npz(tmp_path / "20news_w100.npz", **news())
    fails(lambda: data.load_newsgroups(path), sha(path), "931fb342", "sha256=None")
    mine = data.load_newsgroups(path, sha256=sha(path).upper())
    assert mine.sha256 == sha(path)
    fails(lambda: data.load_newsgroups(path, sha256="0" * 64), sha(path), "0" * 64)


@pytest.mark.parametrize("file", stand_ins.LOADERS)
def test_only_the_known_file_is_read_unless_another_is_asked_for(file, tmp_path, monkeypatch):
    path, load = stand_ins.write(file, tmp_path), stand_ins.LOADERS[file]
    fails(lambda: load(path), sha(path), "sha256=None")
    assert stand_ins.place(STAND_IN, file, tmp_path, monkeypatch) == tmp_path
    assert load(path).sha256 == sha(path)
    path.write_bytes(path.read_bytes() + b" ")
    fails(lambda: load(path), sha(path), "sha256=None")
    assert load(path, sha256=None).sha256 == sha(path)


def test_the_checksum_of_several_files_depends_on_their_order():
    one, other = stored.digest([b"a", b"b"]), stored.digest([b"b", b"a"])
    assert one != other
    assert stored.digest([b"a"]) == hashlib.sha256(b"a").hexdigest()


# Newsgroups


def news(**changed):
    plain = {
        "X": np.array([[1, 0, 0], [0, 1, 1]], np.uint8),
        "y": np.array([2, 1], np.uint8),
        "words": np.array(["car", "god", "nasa"]),
        "groups": np.array(["comp.*", "rec.*"]),
    }
    return plain | changed


def cells(*texts):
    array = np.empty((1, len(texts)), dtype=object)
    array[0] = texts
    return array


def matlab(path, **changed):
    plain = {
        "documents": sparse.csc_matrix(news()["X"].T.astype(float)),
        "newsgroups": np.array([[2.0, 1.0]]),
        "wordlist": cells("car", "god", "nasa"),
        "groupnames": cells("comp.*", "rec.*"),
    }
    savemat(path, {k: v for k, v in (plain | changed).items() if v is not None})
    return path


def test_newsgroups_as_npz_and_as_matlab_are_the_same(tmp_path):
    one = data.load_newsgroups(npz(tmp_path / "a.npz", **news()), sha256=None)
    other = data.load_newsgroups(matlab(tmp_path / "a.mat"))
    assert repr(one) == repr(other) == "<Newsgroups: 2 rows in 2 groups, 3 words>"
    for name in ("data", "groups", "n_words"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.words == other.words == ("car", "god", "nasa")
    assert one.group_names == other.group_names
    assert one.groups.tolist() == [1, 0]
    assert one.n_words.tolist() == [1, 2]
    assert other.sha256 == sha(tmp_path / "a.mat")


def test_newsgroups_without_names_of_groups(tmp_path):
    found = data.load_newsgroups(matlab(tmp_path / "a.mat", groupnames=None))
    assert found.group_names == ("group 1", "group 2")


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({"words": np.array(["car"])}, ["2 postings of 3 words", "1 names of words"]),
        ({"y": np.array([3, 1])}, ["group 3 at posting 0", "1 to 2"]),
        ({"X": np.array([[1, 0, 7], [0, 1, 1]])}, ["7 at (0, 2) of 'X'", "0 or 1"]),
        ({"X": np.zeros(3, np.uint8)}, ["array 'X'", "2 axes"]),
        ({"y": np.array(["a", "b"])}, ["array 'y'"]),
    ],
)
def test_newsgroups_that_make_no_sense(tmp_path, changed, parts):
    path = npz(tmp_path / "a.npz", **news(**changed))
    fails(lambda: data.load_newsgroups(path, sha256=None), str(path), *parts)


def test_newsgroups_with_parts_missing(tmp_path):
    arrays = news()
    del arrays["groups"]
    path = npz(tmp_path / "a.npz", **arrays)
    fails(lambda: data.load_newsgroups(path, sha256=None), "no array 'groups'", "'words'")
    path = matlab(tmp_path / "a.mat", wordlist=None)
    fails(lambda: data.load_newsgroups(path), "no variable 'wordlist'")
    path.write_bytes(b"not MATLAB at all" * 20)
    fails(lambda: data.load_newsgroups(path), "MATLAB 5", "Get the file again")


@pytest.mark.parametrize(
    ("source", "file", "groups", "word"),
    there(
        [
            (STAND_IN, "20news_w100.npz", [24, 18, 12, 6], "word0"),
            (REAL, "20news_w100.npz", [4605, 3519, 2657, 5461], "aids"),
        ]
    ),
)
def test_newsgroups_of_the_evaluation(source, file, groups, word, tmp_path, monkeypatch):
    folder = stand_ins.place(source, file, tmp_path, monkeypatch)
    found = data.load_newsgroups(folder / file)
    assert found.data.shape == (sum(groups), 100)
    assert np.bincount(found.groups).tolist() == groups
    assert found.words[0] == word
    assert 0 <= found.n_words.min() < found.n_words.max() <= 100


# Mulan

ARFF = """% a comment
@RELATION 'songs: -C 2'

@attribute loud numeric
@attribute 'how \\'fast\\'' REAL
@attribute key {major,minor}
@attribute happy {0,1}
@attribute 'very sad' {0, 1}
@data
{rows}
"""
DENSE = "1.5, ?, minor, 0, 1\n'-2e1',3,major,1,1.0"
SPARSE = "{0 1.5, 1 ?, 2 minor, 4 1}\n{0 -2e1,1 3,3 1,4 1}"
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="happy"></label><label name="very sad"><!-- nested --></label>
</labels>"""


def songs(folder, rows=DENSE, header=ARFF, xml=XML):
    (folder / "songs.xml").write_text(xml)
    path = folder / "songs.arff"
    path.write_text(header.replace("{rows}", rows))
    return path


@pytest.mark.parametrize("rows", [DENSE, SPARSE])
def test_mulan_tables(tmp_path, rows):
    path = songs(tmp_path, rows)
    found = data.load_mulan(path)
    np.testing.assert_array_equal(found.data, [[1.5, np.nan, 1], [-20, 3, 0]])
    assert found.rows.tolist() == [[0, 1], [1, 1]]
    assert found.counts.tolist() == [1, 2]
    assert found.feature_names == ("happy", "very sad")
    assert found.dim_names == ("loud", "how 'fast'", "key")
    assert repr(found) == "<Labelled: 2 rows of 2 labels, 3 dims>"
    assert found.sha256 == sha(path)
    named = data.load_mulan(path, labels=["very sad"])
    assert named.rows.tolist() == [[1], [1]]
    assert named.dim_names[-1] == "happy"


def test_mulan_values_left_out_are_the_first_of_their_attribute(tmp_path):
    header = ARFF.replace("{major,minor}", "{3,4}")
    found = data.load_mulan(songs(tmp_path, "{}", header))
    assert found.data.tolist() == [[0, 0, 3]]
    assert found.counts.tolist() == [0]


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ("1,2", ["2 values for 5 attributes in line 10"]),
        ("1,2,minor,0,2", ["'2' for 'very sad' in line 10", "one of 0, 1"]),
        ("x,2,minor,0,1", ["'x' for 'loud' in line 10", "a number"]),
        ("1,2,bright,0,1", ["'bright' for 'key'", "one of major, minor"]),
        ("1,2,minor,0,?", ["nan at (0, 1) of 'labels'"]),
        ("{0 1, 7 1}", ["'7 1' in line 10", "below 5"]),
        ("{0 1, 1}", ["'1' in line 10"]),
        ("{0 1", ["does not end with }"]),
        ("", ["no rows after @data"]),
    ],
)
def test_mulan_rows_that_are_wrong(tmp_path, rows, parts):
    path = songs(tmp_path, rows)
    fails(lambda: data.load_mulan(path), str(path), *parts)


def test_mulan_headers_that_are_wrong(tmp_path):
    path = songs(tmp_path, header=ARFF.replace("loud numeric", "loud string"))
    fails(lambda: data.load_mulan(path), "'loud' of type 'string' in line 4", "remove it")
    path = songs(tmp_path, header=ARFF.replace("loud numeric", "loud"))
    fails(lambda: data.load_mulan(path), "without a type in line 4")
    path = songs(tmp_path, header="hello\n" + ARFF)
    fails(lambda: data.load_mulan(path), "'hello' in line 1", "@attribute or @data")


def test_mulan_labels_that_are_wrong(tmp_path):
    path = songs(tmp_path)
    fails(lambda: data.load_mulan(path, labels=["calm"]), "no attribute 'calm'", "labels=")
    fails(lambda: data.load_mulan(path, labels=[]), "only labels, or none")
    for xml, part in [
        ("<labels>", "is not XML"),
        ("<!DOCTYPE a><labels/>", "declarations are not allowed"),
        ("<labels/>", "no labels"),
        ("<labels><label/></labels>", "without a name"),
    ]:
        songs(tmp_path, xml=xml)
        fails(lambda: data.load_mulan(path), "songs.xml", part, "labels=[...]")
    (tmp_path / "songs.xml").unlink()
    fails(lambda: data.load_mulan(path), "songs.xml", "No such file")


def test_mulan_arrays_and_latin_text(tmp_path):
    arrays = {
        "X": np.ones((2, 3)),
        "Y": np.eye(2, dtype=np.uint8),
        "feature_names": np.array(list("abc")),
        "label_names": np.array(["p", "q"]),
    }
    path = npz(tmp_path / "a.npz", **arrays)
    assert data.load_mulan(path, sha256=None).counts.tolist() == [1, 1]
    npz(path, **arrays | {"label_names": np.array(["p"])})
    fails(lambda: data.load_mulan(path, sha256=None), "1 names of labels")
    path = songs(tmp_path)
    path.write_bytes(path.read_text().replace("loud", "lörm").encode("latin-1"))
    assert data.load_mulan(path).dim_names[0] == "lörm"


@pytest.mark.parametrize(
    ("source", "file", "dims", "labels", "counts"),
    there(
        [
            (STAND_IN, "emotions.npz", 20, 6, [12, 12, 12]),
            (STAND_IN, "medical.npz", 30, 5, [28, 30, 2]),
            (REAL, "emotions.npz", 72, 6, [178, 315, 100]),
            (REAL, "medical.npz", 1449, 45, [752, 212, 14]),
        ]
    ),
)
def test_mulan_of_the_evaluation(source, file, dims, labels, counts, tmp_path, monkeypatch):
    folder = stand_ins.place(source, file, tmp_path, monkeypatch)
    found = data.load_mulan(folder / file)
    assert found.data.shape == (sum(counts), dims)
    assert found.rows.shape == (sum(counts), labels)
    assert np.bincount(found.counts)[1:].tolist() == counts


# Reuters

STORY = """<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="9" NEWID="{id}">
<DATE>26-FEB-1987</DATE><TOPICS>{topics}</TOPICS><PLACES><D>usa</D></PLACES>
<UNKNOWN>&#5;&#5;C G</UNKNOWN>
<TEXT>&#2;
<TITLE>{title}</TITLE><DATELINE>  ROME - </DATELINE><BODY>{body}
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
"""


def story(number, topics, title="", body=""):
    marked = "".join(f"<D>{topic}</D>" for topic in topics)
    text = STORY.replace("{id}", str(number)).replace("{topics}", marked)
    return text.replace("{title}", title).replace("{body}", body)


def collection(folder, *stories, name="reut2-000.sgm"):
    text = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(stories)
    (folder / name).write_bytes(text.encode("latin-1"))
    return folder


def test_reuters_stories(tmp_path):
    brief = story(2, []).replace("<TEXT>", '<TEXT TYPE="BRIEF">').replace("BODY", "AUTHOR")
    whole = '<REUTERS NEWID="3"><TEXT TYPE="UNPROC">&#2;\nall &amp; sundry&#3;</TEXT></REUTERS>'
    first = story(1, ["trade", "grain", "trade"], "U.S. &lt;OIL>", "Zürich said 5 &lt; 6.")
    collection(tmp_path, first, brief)
    collection(tmp_path, whole, name="reut2-001.sgm")
    found = data.load_reuters(tmp_path)
    assert repr(found) == "<Reuters: 3 stories, 2 topics>"
    one, two, three = found.stories
    assert (one.id, one.topics, one.title) == (1, ("trade", "grain"), "U.S. <OIL>")
    assert one.body == "Zürich said 5 < 6.\n Reuter"
    assert (one.split, one.cgi_split, one.has_topics) == ("TRAIN", "TRAINING-SET", "YES")
    assert (two.topics, two.body) == ((), "")
    assert (three.id, three.body, three.split) == (3, "all & sundry", "")
    assert data.load_reuters(tmp_path, sha256=found.sha256).sha256 == found.sha256
    fails(lambda: data.load_reuters(tmp_path, sha256="0" * 64), found.sha256)


def test_reuters_files_that_are_wrong(tmp_path):
    fails(lambda: data.load_reuters(tmp_path), "no .sgm files", "unpack")
    for text, parts in [
        ("", ["reut2-000.sgm", "no <REUTERS> story"]),
        (story(1, []) + story(2, [])[:200], ["story in line 10 without </REUTERS>"]),
        (story(1, [])[:-13] + story(2, []), ["line 2 without </REUTERS>"]),
        (story("x", []), ["line 2 without a NEWID"]),
        (story(5, []) + story(5, []), ["two stories of NEWID 5"]),
    ]:
        collection(tmp_path, text)
        fails(lambda: data.load_reuters(tmp_path), *parts)


def many(folder, n_words=90):
    """Write stories of every topic, some of two, each with words of its own topic."""
    from experiments.data.reuters_sets import DIGEST_TOPICS, MIX_TOPICS

    rng, stories = np.random.default_rng(0), []
    topics = list(dict.fromkeys(DIGEST_TOPICS + MIX_TOPICS))
    for number in range(1, 241):
        own = [topics[number % len(topics)]]
        if number % 3 == 0:
            own.append(topics[(number + 1) % len(topics)])
        words = [topic.replace("-", "") + "word" for topic in own] + ["the", "said", "of"]
        body = " ".join(rng.choice(words, n_words - 1)) + f" tail{'x' * (number % 7)}"
        stories.append(story(number, own, "A title of it", body))
    stories.append(story(900, ["earn"], "Too short", "earnword"))
    stories.append(story(901, ["crude", "tin"], "Another topic", "crudeword"))
    return data.load_reuters(collection(folder, *stories))


def test_reuters_mix_follows_its_steps(tmp_path):
    found = data.reuters_mix(0, many(tmp_path))
    assert type(found).__name__ == "ReutersSet"
    np.testing.assert_array_equal(found.counts, found.rows.sum(axis=1))
    assert set(found.counts.tolist()) == {1, 2}
    n_single = int((found.counts == 1).sum())
    assert (found.counts[:n_single] == 1).all()
    for part in (found.stories[:n_single, 0], found.stories[n_single:, 0]):
        assert (np.diff(part) > 0).all()
    assert 901 not in found.stories
    assert list(found.dim_names) == sorted(found.dim_names)
    assert {"title", "said"} <= set(found.dim_names)
    assert not {"the", "of", "it"} & set(found.dim_names)
    crude = found.dim_names.index("crudeword")
    assert (found.data[:, crude] > 0).tolist() == found.rows[:, 0].astype(bool).tolist()
    assert (found.data[:, found.dim_names.index("title")] == 1).all()


def test_reuters_digest_follows_its_steps(tmp_path):
    stories = many(tmp_path)
    found = data.reuters_digest(1, stories)
    assert found.rows.shape == (730, 17)
    assert found.counts.tolist() == [1] * 365 + [5] * 365
    assert (found.stories[:365, 1:] == -1).all()
    assert (found.stories[365:] > 0).all()
    assert 900 not in found.stories  # too short
    assert found.stories.max() <= 240
    topic = {one.id: one.topics for one in stories.stories}
    assert all(len(topic[number]) == 1 for number in found.stories[found.stories > 0].tolist())
    present = (found.data > 0).sum(axis=0)
    assert present.min() >= 10
    assert present.max() <= 0.45 * 730
    assert "title" not in found.dim_names  # in every row
    again = data.reuters_digest(1, stories)
    np.testing.assert_array_equal(found.data, again.data)
    assert not np.array_equal(found.stories, data.reuters_digest(2, stories).stories)


def test_summaries_hold_leads_and_singles_whole_stories(tmp_path):
    found = data.reuters_digest(1, many(tmp_path, n_words=200))
    words = [i for i, name in enumerate(found.dim_names) if name.endswith("word")]
    single, summary = found.data[:365, words].sum(axis=1), found.data[365:, words].sum(axis=1)
    assert 1.8 < summary.mean() / single.mean() < 2.2  # five times 80 words, against 200
    tails = [i for i, name in enumerate(found.dim_names) if name.startswith("tail")]
    assert found.data[:365, tails].sum() > 0
    assert found.data[365:, tails].sum() == 0


def test_too_few_stories(tmp_path):
    few = data.load_reuters(collection(tmp_path, story(1, ["crude"], "a", "b")))
    for make in (data.reuters_mix, data.reuters_digest):
        fails(lambda make=make: make(0, few), "stories of enough topics", error=InputError)


def reuters_arrays(**changed):
    plain = {
        "X": np.array([[2, 0], [0, 1]], np.uint16),
        "Z": np.array([[1, 0, 0], [1, 0, 1]], np.uint8),
        "topics": np.array(["crude", "grain", "ship"]),
        "vocab": np.array(["oil", "port"]),
        "ids": np.array([5, 8]),
    }
    return plain | changed


def test_reuters_arrays(tmp_path):
    path = npz(tmp_path / "mix.npz", **reuters_arrays())
    found = data.load_mix(path, sha256=None)
    assert repr(found) == "<ReutersSet: 2 rows of 3 labels, 2 dims>"
    assert found.counts.tolist() == [1, 2]
    assert found.stories.tolist() == [[5], [8]]
    fails(lambda: data.load_mix(path), "bf66feca", sha(path))
    fails(lambda: data.load_digest(path, sha256=None), "array 'ids'", "2 axes")
    npz(path, **reuters_arrays(vocab=np.array(["oil"])))
    fails(lambda: data.load_mix(path, sha256=None), "1 words and 3 topics")


@pytest.mark.parametrize(
    ("source", "file", "dims", "counts"),
    there(
        [
            (STAND_IN, "reuters_mix.npz", 50, [0, 13, 13, 13]),
            (REAL, "reuters_mix.npz", 200, [0, 401, 616, 53]),
        ]
    ),
)
def test_mix_of_the_evaluation(source, file, dims, counts, tmp_path, monkeypatch):
    found = data.load_mix(stand_ins.place(source, file, tmp_path, monkeypatch) / file)
    assert found.data.shape == (sum(counts), dims)
    assert np.bincount(found.counts).tolist() == counts
    assert found.feature_names == reuters_sets.MIX_TOPICS


@pytest.mark.parametrize(
    ("source", "file", "half", "dims"),
    there(
        [
            (STAND_IN, "reuters_digest.npz", 20, 70),
            (REAL, "reuters_digest.npz", 365, 1713),
        ]
    ),
)
def test_digest_of_the_evaluation(source, file, half, dims, tmp_path, monkeypatch):
    found = data.load_digest(stand_ins.place(source, file, tmp_path, monkeypatch) / file)
    assert found.data.shape == (2 * half, dims)
    assert found.counts.tolist() == [1] * half + [5] * half
    assert (found.stories[:half, 1:] == -1).all()
    assert found.feature_names == reuters_sets.DIGEST_TOPICS


# Chords and images


def test_chords_and_images_that_users_have(tmp_path):
    rng = np.random.default_rng(0)
    spectra, notes = rng.random((4, 5)).astype(np.float32), np.eye(4, 3, dtype=np.uint8)
    path = npz(tmp_path / "chords.npz", X=spectra, Z=notes)
    fails(lambda: data.load_all_chords(path), sha(path), "sha256=None")
    found = data.load_all_chords(path, sha256=sha(path))
    np.testing.assert_array_equal(found.spectra, spectra)
    np.testing.assert_array_equal(found.notes, notes)
    assert found.notes.dtype == np.int8
    npz(path, X=spectra, Z=notes[:3])
    fails(lambda: data.load_all_chords(path, sha256=None), "4 spectra", "notes of 3")
    npz(path, X=spectra, Z=2 * notes)
    fails(lambda: data.load_all_chords(path, sha256=None), "has 2 at (0, 0) of 'Z'")
    path = npz(tmp_path / "cambridge_10k.npz", X=spectra)
    fails(lambda: data.load_cambridge(path), sha(path), "sha256=None")
    np.testing.assert_array_equal(data.load_cambridge(path, sha256=None).data, spectra)
