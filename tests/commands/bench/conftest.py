"""A server that clients attack."""

from tests.bench.test_hostile import site

__all__ = ["site"]
