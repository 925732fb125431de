"""The `dragoman` command and its models."""

from tests.service.conftest import command, environment, models_dir

__all__ = ["command", "environment", "models_dir"]
