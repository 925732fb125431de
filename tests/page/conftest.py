"""Servers with the double of tests/service in the engine's place."""

from tests.service.conftest import client, keys, models_dir, serve, translator

__all__ = ["client", "keys", "models_dir", "serve", "translator"]
