"""Bundles of random models that the kernels can run."""

from tests.imports.parity.conftest import exported, split

__all__ = ["exported", "split"]
