"""Helpers for tests of the bundle pool."""

import time
from pathlib import Path

from dragoman.bundle import Bundle, read_bundle
from dragoman.manifest import Manifest
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from tests.engine.routing.doubles import TIMEOUT_S, DoubleBundles, DoubleTranslator, until, write_bundle

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
