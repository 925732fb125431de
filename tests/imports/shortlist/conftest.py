"""Commands that run in the process of the tests."""

from tests.imports.export.conftest import run_main

__all__ = ["run_main"]
