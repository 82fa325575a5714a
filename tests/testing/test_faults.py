"""The faults that are put in on purpose follow the source when it moves."""

import pytest

from tests.faults import FAULTS, Fault, spoiled


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_fits_the_source(fault):
    assert fault.new in spoiled(fault)


def test_a_fault_that_fits_no_more_is_an_error():
    with pytest.raises(ValueError, match=r"no longer fits model\.py: its text is there 0 times"):
        spoiled(Fault("old", "model.py", "nowhere in it", ""))
