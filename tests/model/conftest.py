"""Tiny models gain nothing from a second thread."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _one_thread(one_torch_thread: None) -> None:
    pass
