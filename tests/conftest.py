"""What holds for all tests."""

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def collections_are_quick() -> None:
    """What earlier modules left behind is not looked at again: a router collects whenever it closes a bundle,
    which takes a second among all that the libraries of other tests keep.
    """
    gc.collect()
    gc.freeze()
