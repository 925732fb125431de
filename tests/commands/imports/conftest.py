"""Bundles of the tiny checkpoint, and commands that run in the process of the tests."""

from tests.imports.export.conftest import bundle, run_main

__all__ = ["bundle", "run_main"]
