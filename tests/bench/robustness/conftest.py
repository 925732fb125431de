"""The tiny bundle, opened once."""

from collections.abc import Iterator

import pytest

from dragoman import Router
from tests.paths import TINY


@pytest.fixture(scope="module")
def tiny() -> Iterator[Router]:
    with Router.open({"tiny": TINY / "bundle-fp32"}) as router:
        yield router
