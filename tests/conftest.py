"""What holds for all tests."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

import dragoman.graphs  # noqa: F401 -- onnxruntime must not report what tests do, whoever imports it first
from tests.examples import share_of
from tests.postgres import Postgres, run_postgres

# Of PyTorch, here and in commands that tests start. Tiny models gain nothing from a second
# thread, and wait for it while other tests compute.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("any_time", deadline=None)  # no test asserts a time
settings.load_profile("any_time")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected: all that they import stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set how many examples each property tries; Hypothesis has no setting of it for all together."""
    for test in {item.function for item in items if isinstance(item, pytest.Function)}:
        if is_hypothesis_test(test) and (chosen := getattr(test, "_hypothesis_internal_use_settings", None)):
            test._hypothesis_internal_use_settings = share_of(chosen)


@pytest.fixture(autouse=True, scope="session")
def no_settings_around() -> Iterator[None]:
    """Settings of whoever runs the tests change none of them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.upper().startswith("DRAGOMAN_"):
                patch.delenv(name)
        yield


@pytest.fixture(autouse=True, scope="module")
def collections_are_quick() -> None:
    """What earlier modules left behind is not looked at again: a router collects whenever it closes a bundle,
    which takes a second among all that the libraries of other tests keep.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests that want one; each has databases of its own."""
    with run_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def any_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'any.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database()
