"""The options of a study, as its command line gives them."""

from types import SimpleNamespace


def options(tmp_path, **changed):
    return SimpleNamespace(
        **{"out": tmp_path, "quick": False, "minutes": 1e9, "missing": False, "join": []}
        | {"verify": 0}
        | changed
    )
