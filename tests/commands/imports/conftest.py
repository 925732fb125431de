"""Bundles whose cards change."""

from tests.imports.export.conftest import bundle

__all__ = ["bundle"]
