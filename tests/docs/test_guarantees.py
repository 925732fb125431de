"""The page of guarantees names tests that exist, and settings that there are."""

import re
from pathlib import Path

import pytest

from service.settings import Settings

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "reference" / "guarantees.md").read_text(encoding="utf8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
VALUES = {"per_key", "unsupported", "br", "non_splitting_tags", "refused"}
"""Of settings and of requests."""


@pytest.mark.parametrize("row", ROWS)
def test_every_promise_names_a_test_that_exists(row: str) -> None:
    named = re.findall(r"`(tests/[^`:]+)(?:::(\w+))?`", row)

    assert named
    for path, name in named:
        content = (PROJECT / path).read_text(encoding="utf8")
        assert f"def {name or 'test_'}" in content


def test_every_setting_that_is_named_is_one() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([a-z_]+)`", row.split("|")[2])}

    assert named - VALUES <= Settings.model_fields.keys()
