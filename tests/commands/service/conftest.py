"""The `dragoman` command and its models; databases with keys."""

from tests.service.accounts.conftest import database, keys, url
from tests.service.conftest import command, environment, models_dir, run_engine

__all__ = ["command", "database", "environment", "keys", "models_dir", "run_engine", "url"]
