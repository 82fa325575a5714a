"""What tests of files share."""

import pytest

from ribp.io.formats import read_data


@pytest.fixture
def read(tmp_path):
    """Write content to a file and read it as data."""

    def write_and_read(content, name="data.csv", **arguments):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_data(path, **arguments)

    return write_and_read
