"""A pool of doubles, a router over them, and real bundles with other languages than they were made for."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.bundle import Bundle, read_bundle
from dragoman.manifest import Manifest
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.options import RouterOptions
from dragoman.routing.router import Router
from tests.engine.conftest import copy_with
from tests.engine.routing.doubles import (
    TIMEOUT_S,
    DoubleBundles,
    DoubleTranslator,
    languages,
    until,
    write_bundle,
)
from tests.paths import TINY

SIZE_BYTES = 10
"""Estimated memory of each bundle of the router."""
SCORES = {"de-en": -0.5, "en-fr": -0.25}


only_one_fits = pytest.mark.parametrize("options", [RouterOptions(budget_bytes=SIZE_BYTES)])

TINY_BUNDLE = TINY / "bundle-int8"


def relabel(folder: Path, name: str, source: str, target: str) -> Path:
    """A copy of the tiny model, which says that it is for other languages."""
    return copy_with(folder, TINY_BUNDLE, name=name, languages=languages([source], [target]))


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model as `de-en` and as `en-fr`."""
    folder = tmp_path_factory.mktemp("tiny-models")
    relabel(folder / "de-en", "tiny-de-en", "de", "en")
    relabel(folder / "en-fr", "tiny-en-fr", "en", "fr")
    return folder


@pytest.fixture
def models(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "models" / "de-en", "de-en")
    write_bundle(tmp_path / "models" / "en-fr", "en-fr", ["en"], ["fr"])
    return tmp_path / "models"


@pytest.fixture
def bundles() -> DoubleBundles:
    return DoubleBundles(SCORES)


@pytest.fixture
def options() -> RouterOptions:
    return RouterOptions()


@pytest.fixture
def router(models: Path, bundles: DoubleBundles, options: RouterOptions) -> Iterator[Router]:
    with Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES, options) as router:
        yield router
        bundles.may_open.set()
        for double in bundles.opened:
            double.released.set()


@pytest.fixture
def first(router: Router, bundles: DoubleBundles) -> DoubleTranslator:
    """Of the pivot; open already."""
    router.preload(["de-en"])
    return bundles.named("de-en")


@pytest.fixture
def second(router: Router, bundles: DoubleBundles) -> DoubleTranslator:
    """Of the pivot; open already."""
    router.preload(["en-fr"])
    return bundles.named("en-fr")


SIZES = {"a": 10, "b": 10, "c": 10, "big": 25}
"""Estimated memory of bundles by name."""


def size_of(manifest: Manifest) -> int:
    return SIZES[manifest.name]


class PoolMaker:
    """Bundles with these names, and pools over them."""

    def __init__(self, folder: Path, bundles: DoubleBundles) -> None:
        self.bundles = bundles
        self.stocked = {name: read_bundle(write_bundle(folder / name, name)) for name in SIZES}
        self.pools: list[BundlePool[DoubleTranslator]] = []

    def pool(self, budget_bytes: int | None = None) -> BundlePool[DoubleTranslator]:
        """With everything in it and room for so much."""
        pool = BundlePool(self.bundles.open, size_of, budget_bytes)
        pool.set_bundles(self.stocked)
        self.pools.append(pool)
        return pool

    def rewritten(self, name: str) -> Bundle:
        """Another bundle of the same name."""
        folder = self.stocked[name].path.parent / "new" / name
        return read_bundle(write_bundle(folder, name, filler="new"))


def get(pool: BundlePool[DoubleTranslator], name: str) -> BundleHandle[DoubleTranslator]:
    return pool.acquire(name).result(TIMEOUT_S)


def use(pool: BundlePool[DoubleTranslator], name: str) -> DoubleTranslator:
    with get(pool, name) as double:
        return double


def in_seconds(seconds: float) -> float:
    return time.monotonic() + seconds


def until_leaving(pool: BundlePool[DoubleTranslator], name: str) -> None:
    """Wait until an open bundle takes no new users."""

    def takes_none() -> bool:
        requested = pool.acquire(name)
        if requested.done():
            requested.result().release()
        return requested.cancel()

    until(takes_none)


@pytest.fixture
def pool_maker(tmp_path: Path, bundles: DoubleBundles) -> Iterator[PoolMaker]:
    pool_maker = PoolMaker(tmp_path, bundles)
    yield pool_maker
    bundles.may_open.set()
    for pool in pool_maker.pools:
        pool.close()
