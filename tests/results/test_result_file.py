"""Files give back what went in, and anything else is refused with the name of what is wrong."""

import copy
import errno
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ribp.errors import InputError, Notice, StorageError
from ribp.results import load, save
from ribp.results.result_file import _in_memory
from ribp.results.schema import SCHEMA_VERSION, problem
from ribp.testing.goodness import replicates
from tests.helpers import ROOT
from tests.helpers.result_cases import DIMS, MODELS, ROWS, prior_tree


@pytest.fixture
def path(tmp_path):
    return tmp_path / "result.nc"


@pytest.fixture(scope="module")
def original():
    return prior_tree()


@pytest.fixture(scope="module")
def content(tmp_path_factory, original):
    path = tmp_path_factory.mktemp("saved") / "result.nc"
    save(original, path)
    return path.read_bytes()


@pytest.fixture
def saved(path, content):
    path.write_bytes(content)
    return path


def refused(path, *words):
    with pytest.raises(StorageError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(path, name):
    names = {"row_names": list("abcdéf"), "dim_names": ["", "x" * 300, "漢"]}
    tree = prior_tree(
        name, n_warmup=len(name) % 2, warnings=[Notice("a", "naïve\0 \udc80")], **names
    )
    save(tree, path)
    found = load(path)
    assert found.identical(tree)
    for group, node in tree.children.items():
        for key, variable in node.variables.items():
            assert found[group].variables[key].dtype.kind == variable.dtype.kind


def test_what_was_loaded_can_be_saved(saved, original):
    save(load(saved), saved, overwrite=True)
    assert load(saved).identical(original)


@settings(max_examples=6)
@given(
    name=st.sampled_from(sorted(MODELS)),
    n_chains=st.integers(1, 3),
    n_warmup=st.integers(0, 2),
    n_draws=st.integers(1, 5),
    thin=st.integers(1, 3),
    dims=st.integers(1, 4),
    row_names=st.none() | st.lists(st.text(max_size=4), min_size=ROWS, max_size=ROWS),
)
def test_round_trip_of_any_size(tmp_path_factory, name, n_chains, row_names, **sizes):
    path = tmp_path_factory.mktemp("any") / "result.nc"
    tree = prior_tree(name, n_chains=n_chains, row_names=row_names, **sizes)
    save(tree, path)
    assert load(path).identical(tree)


def test_texts_that_were_read_as_objects_become_texts():
    names = np.array(["a", "bcé"], dtype=object)
    found = _in_memory(xr.DataTree(xr.Dataset(coords={"row": names, "draw": [0, 1]})))
    assert found["row"].dtype == "<U3"
    assert found["row"].to_numpy().tolist() == names.tolist()
    assert found["draw"].dtype == np.int64


def test_long_settings_are_no_problem(path):
    tree = prior_tree(warnings=[Notice("w", "w" * 200_000)])
    save(tree, path)
    assert load(path).identical(tree)


def test_nothing_is_left_of_the_file_after_loading(saved):
    tree = load(saved)
    saved.unlink()
    assert np.isfinite(tree["features"]["components"].to_numpy()).all()
    if Path("/proc/self/fd").is_dir():
        held = [os.readlink(f) for f in Path("/proc/self/fd").iterdir() if f.is_symlink()]
        assert not any(str(saved) in name for name in held)


def test_an_existing_file_is_only_replaced_if_asked(saved, content):
    other = prior_tree(seed=2)
    with pytest.raises(StorageError, match=r"is there already\. Pass overwrite=True"):
        save(other, saved)
    assert saved.read_bytes() == content
    save(other, saved, overwrite=True)
    assert load(saved).identical(other)
    assert os.listdir(saved.parent) == [saved.name]


def test_places_where_nothing_can_be_written(path, tmp_path):
    with pytest.raises(StorageError, match=r"there is no such folder\. Create"):
        save(prior_tree(), tmp_path / "none" / "result.nc")
    with pytest.raises(StorageError, match="is a folder"):
        save(prior_tree(), tmp_path)
    with pytest.raises(StorageError, match="cannot be written: File name too long"):
        save(prior_tree(), tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EACCES, "Ask for permission"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "Choose another folder"),
    ],
)
def test_a_failed_write_leaves_what_was_there(saved, content, monkeypatch, number, remedy):

    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match=remedy) as caught:
        save(prior_tree(seed=2), saved, overwrite=True)
    assert os.strerror(number) in str(caught.value)
    assert saved.read_bytes() == content
    assert os.listdir(saved.parent) == [saved.name]


FULL = """
import resource, sys
from tests.helpers.result_cases import prior_tree
from ribp.errors import StorageError
from ribp.results import save
tree = prior_tree(n_draws=50)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    save(tree, sys.argv[1])
except StorageError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_disk_that_fills_up_is_an_error_and_not_a_crash(path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], cwd=ROOT,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be written: File too large" in done.stdout
    assert os.listdir(path.parent) == []


def test_files_without_permission(saved, original, monkeypatch):
    def fail(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", fail)
    refused(saved, "cannot be read: Permission denied")
    with pytest.raises(StorageError, match="cannot be written: Permission denied"):
        save(original, saved, overwrite=True)


def test_files_that_are_not_results(tmp_path):
    refused(tmp_path / "none.nc", "does not exist")
    refused(tmp_path, "is a folder", "such as result.nc")
    path = tmp_path / "other.nc"
    path.write_bytes(b"")
    refused(path, "is empty")
    path.write_bytes(b"CDF\x01" + bytes(100))
    refused(path, "is not a netCDF 4 (HDF5) file")
    path.write_bytes(pickle.dumps({"a": 1}))
    refused(path, "is not a netCDF 4 (HDF5) file")
    path.unlink()
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(path, engine="h5netcdf")
    refused(path, "HDF5 file of another kind")


def test_truncated_files(saved, content):
    for size in (4, 8, 100, len(content) // 2, len(content) - 1):
        saved.write_bytes(content[:size])
        refused(saved)
    refused(saved, "is cut off: its end is missing")


def test_newer_older_and_impossible_schemas(saved):
    for version, words in (
        (SCHEMA_VERSION + 1, "was written by a newer ribp (schema 6); this one reads 5. Upgrade"),
        (SCHEMA_VERSION - 1, "was written by an older ribp (schema 4); this one reads 5. Fit"),
        (1, "was written by an older ribp (schema 1); this one reads 5. Fit again"),
        (0, "schema_version is not a whole number"),
        ("1", "schema_version is not a whole number"),
        ([1, 1], "schema_version is not a whole number"),
    ):
        with h5py.File(saved, "r+") as file:
            file.attrs["schema_version"] = version
        refused(saved, words)


def edit(change):
    """Return what changes a tree as a tamperer would change its file."""

    def apply(tree):
        groups = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
        change(groups)
        return xr.DataTree.from_dict(groups)

    return apply


def drop(group, name):
    return edit(lambda groups: groups.update({group: groups[group].drop_vars(name)}))


def put(group, **variables):
    return edit(lambda groups: groups.update({group: groups[group].assign(**variables)}))


def label(group, **labels):
    return edit(lambda groups: groups.update({group: groups[group].assign_coords(**labels)}))


def take(group, **which):
    return edit(lambda groups: groups.update({group: groups[group].isel(**which)}))


def attribute(**values):
    return edit(lambda groups: groups["/"].attrs.update(values))


def setting(**values):
    def change(groups):
        attrs = groups["/"].attrs
        attrs["settings"] = json.dumps(json.loads(attrs["settings"]) | values)

    return edit(change)


TAMPERED = {
    "features/components is missing": drop("/features", "components"),
    "posterior/mass is missing": drop("/posterior", "mass"),
    "laws/law_of_row is missing": drop("/laws", "law_of_row"),
    "features/background is missing": drop("/features", "background"),
    "the group warmup is missing": edit(lambda groups: groups.pop("/warmup")),
    "posterior/mass has the dimensions": put("/posterior", mass=("draw", np.ones(7))),
    "posterior/mass has the type": put(
        "/posterior", mass=(("chain", "draw"), np.ones((2, 7), int))
    ),
    "posterior/count_log_probs is there": put(
        "/posterior", count_log_probs=(("chain", "draw", "law", "count"), np.zeros((2, 7, 2, 11)))
    ),
    "features has 2 along dim instead of 3": take("/features", dim=[0, 1]),
    "laws has 5 along row instead of 6": take("/laws", row=range(5)),
    "features has 1 along chain instead of 2": take("/features", chain=[0]),
    "features has 1 along byte instead of 2": take("/features", byte=[0]),
    "posterior has 5 along count instead of 11": take("/posterior", count=range(5)),
    "there is nothing along draw": take("/features", draw=[]),
    "features has other chains than posterior": label("/features", chain=[0, 5]),
    "the numbers along draw are not in order": label("/features", draw=[0, 4, 2, 6]),
    "features has draws that posterior has not": label("/features", draw=[0, 2, 4, 9]),
    "features/draw does not hold whole numbers": label("/features", draw=[0.0, 2.0, 4.0, 5.5]),
    "features/row holds neither numbers nor names": label("/features", row=np.arange(ROWS) / 2),
    "posterior and features name dim differently": label("/features", dim=np.arange(DIMS) + 1),
    "laws and features name row differently": label("/laws", row=list("abcdef")),
    "must be one position among the 2 laws": put("/laws", law_of_row=("row", [0, 0, 1, 1, 1, 7])),
    "the text created is missing": edit(lambda groups: groups["/"].attrs.pop("created")),
    "neither 0 nor 1": attribute(interrupted=2),
    "the text warnings is not a list": attribute(warnings="{}"),
    "without a code and a text": attribute(warnings='["plain"]'),
    "judgement must be that of a fit": attribute(judgement='{"draws": 1}'),
    "the text versions is not JSON": attribute(versions="{"),
    "settings must be JSON text": attribute(settings="{"),
    "the text warnings is not JSON": attribute(warnings="[" * 100_000),
    "settings must have": attribute(settings="{}"),
    "settings must have method": attribute(settings="[]"),
    "along row instead of 7": setting(n_rows=7),
    "settings['n_dims'] must be a whole number": setting(n_dims="3"),
    "settings['seed'] must be at least 0": setting(seed=[1, -5]),
    "settings['seed'] must be below 2**128": setting(seed=[2**128]),
    "settings['n_chains'] must be between 0 and 10000": setting(n_chains=10**8),
    "settings['laws'] must be at most as many as the 6 rows": setting(
        laws=[f"exactly({k})" for k in range(100_000)]
    ),
    "settings['n_features'] must be between": setting(n_features=10**12),
    "exit(1)": setting(laws=["exit(1)", "exit(2)"]),
    "noise_scale is there": setting(likelihood={"name": "poisson", "background": True}),
    "noise_scale must be a number": setting(
        likelihood={"name": "gaussian", "background": True, "noise_scale": "big"}
    ),
}


@pytest.mark.parametrize("words", TAMPERED)
def test_tampered_trees_are_refused_by_name(original, words):
    assert words in problem(TAMPERED[words](original.copy()))
    assert problem(original) is None


@pytest.mark.parametrize("words", list(TAMPERED)[::6])
def test_tampered_files_are_refused_by_name(original, path, words):
    TAMPERED[words](original.copy()).to_netcdf(path, engine="h5netcdf")
    refused(path, "is damaged", words)


class Evil:
    """Creates a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))


def replace(file, name, **dataset):
    del file[name]
    file.create_dataset(name, **dataset)


CRAFTED = {
    "opaque": lambda f, evil: replace(f, "posterior/mass", data=np.void(evil)),
    "bytes of any length": lambda f, evil: replace(
        f, "posterior/mass", data=of_any_length(evil), dtype=h5py.vlen_dtype(np.uint8)
    ),
    "compound": lambda f, evil: replace(
        f, "posterior/mass", data=np.zeros(3, [("a", "f8"), ("b", "i4")])
    ),
    "reference": lambda f, evil: replace(f, "posterior/mass", data=f.ref, dtype=h5py.ref_dtype),
    "text": lambda f, evil: replace(f, "posterior/mass", data=evil.hex()),
    "opaque attribute": lambda f, evil: f.attrs.update({"evil": np.void(evil)}),
    "attribute of any length": lambda f, evil: f["posterior"].attrs.create(
        "evil", of_any_length(evil), dtype=h5py.vlen_dtype(np.uint8)
    ),
    "named type": lambda f, evil: f.update({"features/evil": np.dtype("f8")}),
    "soft link": lambda f, evil: f.update({"features/evil": h5py.SoftLink("/posterior/mass")}),
    "external link": lambda f, evil: f.update({"evil": h5py.ExternalLink("/etc/passwd", "/")}),
    "external data": lambda f, evil: f.create_dataset(
        "evil", (4,), "u1", external=[("/etc/passwd", 0, 4)]
    ),
    "virtual data": lambda f, evil: f.create_virtual_dataset("evil", layout(f)),
    "a group within itself": lambda f, evil: f["posterior"].update({"evil": f["posterior"]}),
    "a bomb": lambda f, evil: f.create_dataset("evil", (10**12,), "f8", chunks=(10**6,)),
}


def of_any_length(evil):
    found = np.empty(1, object)
    found[0] = np.frombuffer(evil, np.uint8)
    return found


def layout(file):
    found = h5py.VirtualLayout((2,), "f8")
    found[:] = h5py.VirtualSource("/tmp/other.h5", "x", (2,))
    return found


@pytest.mark.parametrize("craft", CRAFTED)
def test_crafted_files_are_refused_and_run_no_code(saved, tmp_path, craft):
    marker = tmp_path / "marker"
    evil = pickle.dumps(Evil(marker))
    with h5py.File(saved, "r+") as file:
        CRAFTED[craft](file, evil)
    refused(saved)
    assert not marker.exists()
    pickle.loads(evil)
    assert marker.exists()  # it would have been made


def test_a_file_larger_than_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr("ribp.results.result_file.memory", lambda: 100)
    refused(saved, "more than this machine's memory")


def test_a_text_that_holds_code_stays_a_text(path, tmp_path):
    marker = tmp_path / "marker"
    code = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    tree = prior_tree(warnings=[Notice(code, code)], dim_names=[code] * DIMS)
    save(tree, path)
    assert load(path).identical(tree)
    assert not marker.exists()


def test_objects_are_not_saved(path):
    tree = prior_tree()
    tree["posterior"] = tree["posterior"].to_dataset().assign(mine=("x", np.array([{}, {}])))
    with pytest.raises(InputError, match="/posterior/mine of type object"):
        save(tree, path)
    tree = prior_tree()
    tree.attrs["mine"] = {}
    with pytest.raises(InputError, match="the attribute mine of /, a dict"):
        save(tree, path)
    tree = prior_tree()
    del tree["warmup"]
    with pytest.raises(InputError, match="the group warmup is missing"):
        save(tree, path)
    assert not path.exists()


def test_variables_of_the_user_are_kept(path):
    tree = prior_tree()
    tree["posterior"] = tree["posterior"].to_dataset().assign(mine=("x", [1.5, np.nan]), one=3)
    save(tree, path)
    assert load(path).identical(tree)


def test_flipped_bytes_are_refused_or_harmless(saved, original, content):
    rng = np.random.default_rng(5)
    n_refused = n_same = 0
    n_files = replicates(40)
    for _ in range(n_files):
        broken = bytearray(content)
        for at in rng.integers(len(content), size=5):
            broken[at] ^= int(rng.integers(1, 256))
        saved.write_bytes(broken)
        try:
            n_same += load(saved).identical(original)
        except StorageError:
            n_refused += 1
    assert n_refused > 0.3 * n_files
    assert n_refused + n_same > 0.9 * n_files


def test_a_damaged_file_can_be_repaired_in_place(saved, original, content):
    chunks = b"TREE\x01\x00\x01\x00" + b"\xff" * 16  # followed by the size of the first one
    broken = bytearray(content)
    broken[content.rindex(chunks) + len(chunks) + 2] ^= 0x60  # of a label, read on opening
    saved.write_bytes(broken)
    refused(saved, "is damaged")
    saved.write_bytes(content)
    assert load(saved).identical(original)


def test_checksums_guard_the_numbers(saved, original, content):
    content = bytearray(content)
    value = original["features"]["components"].to_numpy().flat[17]
    at = content.index(np.float64(value).tobytes())
    content[at] ^= 1
    saved.write_bytes(content)
    refused(saved, "is damaged")


def test_errors_can_be_rebuilt():
    error = StorageError(Path("a.nc"), "is a folder", "Name a file.")
    assert str(error) == "a.nc is a folder. Name a file."
    twin = copy.copy(error)
    assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))
