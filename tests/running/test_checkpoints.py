"""Checkpoints: chains that go on from one are the same, bit for bit, and bad ones are refused."""

import errno
import io
import json
import os
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from ribp.errors import StorageError
from ribp.files import read_arrays, write_atomically
from ribp.likelihoods.data import with_missing
from ribp.rows.local import in_memory
from ribp.running import checkpoint as module
from ribp.running.checkpoint import Checkpoint
from tests.helpers.running_cases import (
    NAMES,
    SAMPLED,
    SHORT,
    Heard,
    read_back,
    run,
    save_often,
)
from tests.helpers.same_bits import assert_same_chains

pytestmark = [pytest.mark.jit, pytest.mark.usefixtures("short_searches")]


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    save_often(monkeypatch)


@pytest.mark.parametrize(
    ("name", "at"), [(name, 0) for name in SAMPLED] + [(name, 4) for name in NAMES] + [("gibbs", 9)]
)
def test_a_chain_read_back_goes_on_as_if_never_stopped(name, at, tmp_path):
    whole, _ = run(name, SHORT)
    folder = Checkpoint(tmp_path)
    part = replace(SHORT, n_warmup=min(at, 6), n_draws=max(at - 6, 0))
    run(name, part, checkpoint=folder)
    if at < 6:  # what was warm-up then is warm-up still
        assert len(read_back(folder, name, part)[0].draws.warmup) == at
    resumed, _ = run(
        name, SHORT, read_back(Checkpoint(tmp_path), name, SHORT), Checkpoint(tmp_path)
    )
    for one, other in zip(whole, resumed, strict=True):
        assert_same_chains(one, other)
        assert one.log_joint == other.log_joint


def test_more_draws_than_first_asked(tmp_path):
    longer = replace(SHORT, n_draws=12)
    whole, _ = run("gibbs", longer)
    run("gibbs", SHORT, checkpoint=Checkpoint(tmp_path))
    resumed, _ = run("gibbs", longer, read_back(Checkpoint(tmp_path), "gibbs", longer))
    for one, other in zip(whole, resumed, strict=True):
        assert_same_chains(one, other)


def test_jobs_do_not_matter():
    one, _ = run("gibbs", SHORT, n_jobs=1)
    two, _ = run("gibbs", SHORT, n_jobs=2)
    other, _ = run("gibbs", replace(SHORT, seed=(3, 5)))
    for first, second in zip(one, two, strict=True):
        assert_same_chains(first, second)
    with pytest.raises(AssertionError):
        assert_same_chains(one[0], other[0])
    with pytest.raises(AssertionError):
        assert_same_chains(one[0], one[1])


def test_a_file_is_whole_or_absent(tmp_path):
    path = tmp_path / "file"

    def half(file):
        file.write(b"half")
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        write_atomically(path, half)
    assert list(tmp_path.iterdir()) == []
    write_atomically(path, lambda file: file.write(b"old"))
    with pytest.raises(ValueError):  # noqa: PT011
        write_atomically(path, half)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def full_disk(path, write):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_does_not_stop_a_chain(tmp_path, monkeypatch):
    whole, _ = run("gibbs", SHORT)
    monkeypatch.setattr(module, "write_atomically", full_disk)
    heard = Heard(2)
    chains, ended = run("gibbs", SHORT, checkpoint=Checkpoint(tmp_path), progress=heard)
    for one, other in zip(whole, chains, strict=True):
        assert_same_chains(one, other)
    assert len(heard.said) == 2  # once for each chain, not at every sweep
    assert "No space left" in heard.said[0]
    assert len(ended.warnings) == 2
    assert str(tmp_path) in ended.warnings[0].text


def test_a_disk_that_was_full_for_a_while_loses_nothing(tmp_path, monkeypatch):
    write, calls = module.write_atomically, []

    def sometimes(path, how):
        calls.append(path)
        if 5 < len(calls) < 12:
            full_disk(path, how)
        write(path, how)

    monkeypatch.setattr(module, "write_atomically", sometimes)
    whole, ended = run("gibbs", SHORT, checkpoint=Checkpoint(tmp_path), n_jobs=1)
    assert ended.warnings == []
    for one, other in zip(whole, read_back(Checkpoint(tmp_path), "gibbs", SHORT), strict=True):
        assert_same_chains(one, other)


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("mine")
    with pytest.raises(StorageError, match="not empty"):
        Checkpoint(tmp_path / "taken").check_free()
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        Checkpoint(tmp_path / "file").check_free()
    with pytest.raises(StorageError, match="cannot be written"):
        Checkpoint(tmp_path / "file" / "below").check_free()
    Checkpoint(tmp_path / "new" / "folder").check_free()
    assert (tmp_path / "taken" / "thesis.txt").read_text() == "mine"
    with pytest.raises(StorageError, match="holds no run"):
        Checkpoint(tmp_path / "taken").settings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not of a ribp checkpoint"),
        ("[1]", "not of a ribp checkpoint"),
        (json.dumps({"kind": "other"}), "not of a ribp checkpoint"),
        (json.dumps({"kind": "ribp checkpoint", "schema_version": 9}), "schema 9.*Upgrade"),
        (json.dumps({"kind": "ribp checkpoint", "schema_version": 1}), "schema 1.*Start afresh"),
        (json.dumps({"kind": "ribp checkpoint", "schema_version": 4}), "schema 4.*reads 6.*afresh"),
    ],
)
def test_settings_of_another_kind(tmp_path, text, says):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(StorageError, match=says):
        Checkpoint(tmp_path).settings()


def damage(path, how):
    raw = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "other":
        np.savez(path, something=np.ones(3))
    else:
        np.savez(path, generator=np.array([{"an": "object"}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize("how", ["missing", "cut", "empty", "other", "pickle"])
@pytest.mark.parametrize("file", ["chain-0.npz", "chain-0-draws-0000.npz"])
def test_damaged_files_are_named(tmp_path, file, how):
    run("gibbs", SHORT, checkpoint=Checkpoint(tmp_path))
    damage(tmp_path / file, how)
    if (file, how) == ("chain-0.npz", "missing"):  # as if it had never been written
        assert read_back(Checkpoint(tmp_path), "gibbs", SHORT)[0].state is None
        return
    with pytest.raises(StorageError, match="chain-0"):
        read_back(Checkpoint(tmp_path), "gibbs", SHORT)


def digest(values):
    return in_memory(with_missing(np.array(values))).look().digest


def test_data_have_a_fingerprint():
    data = [[1.0, np.nan], [2.0, 3.0]]
    others = ([[1.0, 0.0], [2.0, 3.0]], [[1.0, np.nan], [2.0, 4.0]], [[1.0, np.nan, 2.0, 3.0]])
    assert digest(data) == digest([list(row) for row in data])
    assert len({digest(data), *map(digest, others)}) == 4


def bomb(path, compression=zipfile.ZIP_STORED, shape=(10**12,), content=b""):
    """Write an archive whose one array is claimed to have this shape."""
    header = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, claim)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("rows.npy", header.getvalue() + content)


@pytest.mark.parametrize(
    "how",
    [{}, {"compression": zipfile.ZIP_DEFLATED, "shape": (10**6,), "content": bytes(8 * 10**6)}],
)
def test_archives_that_claim_more_than_they_hold(tmp_path, how):
    bomb(tmp_path / "arrays.npz", **how)
    with pytest.raises(ValueError, match="claims to hold more"):
        read_arrays(tmp_path / "arrays.npz")
    with pytest.raises(StorageError, match="damaged"):
        Checkpoint(tmp_path).arrays()


def test_one_array_listed_many_times(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, rows=np.zeros(10**5))
    with zipfile.ZipFile(path, "a") as archive:
        archive.filelist += archive.filelist * 1000
        archive._didModify = True
    with pytest.raises(ValueError, match="claims to hold more"):
        read_arrays(path)


def test_a_state_of_another_model_is_refused(tmp_path):
    run("gibbs", SHORT, checkpoint=Checkpoint(tmp_path))
    path = tmp_path / "chain-0.npz"
    arrays = read_arrays(path)
    arrays["state.count_log_probs"] = arrays["state.count_log_probs"][:0]
    np.savez(path, **arrays)
    with pytest.raises(StorageError, match="chain-0"):
        read_back(Checkpoint(tmp_path), "gibbs", SHORT)
