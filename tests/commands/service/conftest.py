"""The `dragoman` command and its models; databases with keys."""

import pytest

from tests.service.accounts.conftest import database, keys, url
from tests.service.conftest import command, environment, models_dir, run_engine

__all__ = ["command", "database", "environment", "keys", "models_dir", "run_engine", "url"]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give each operation a node id: Schemathesis gives all the same, of which xdist runs one."""
    if (operation := getattr(item, "operation_label", None)) is not None:
        item._id = item.id.with_params(operation)  # pytest has no public way since 9.2
