"""Servers with the double of tests/service in the engine's place."""

from tests.service.conftest import client, models_dir, serve, shared_server, translator

__all__ = ["client", "models_dir", "serve", "shared_server", "translator"]
