"""The pages of guarantees name tests and settings that exist."""

import re

import pytest

from service.settings.settings import Settings
from tests.paths import ROOT

REFERENCE = ROOT / "docs" / "reference"


def rows_of(name: str) -> list[str]:
    lines = (REFERENCE / name).read_text(encoding="utf8").splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith("| promise")]


ROWS = rows_of("guarantees.md")
VALUES = {"per_key", "unsupported", "br", "non_splitting_tags", "refused"}
"""Of settings and of requests."""


@pytest.mark.parametrize("row", [*ROWS, *rows_of("file-guarantees.md")])
def test_every_promise_names_a_test_that_exists(row: str) -> None:
    named = re.findall(r"`(tests/[^`:]+)(?:::(\w+))?`", row)

    assert named
    for path, name in named:
        content = (ROOT / path).read_text(encoding="utf8")
        assert f"def {name or 'test_'}" in content


def test_every_setting_that_is_named_is_one() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([a-z_]+)`", row.split("|")[2])}

    assert named - VALUES <= Settings.model_fields.keys()
