"""The pages of guarantees and of clients name tests and settings that exist."""

import re

import pytest

from service.settings.settings import Settings
from tests.docs.clients_page import PAGE, Client, clients, with_table
from tests.paths import ROOT

REFERENCE = ROOT / "docs" / "reference"


def rows_of(name: str) -> list[str]:
    lines = (REFERENCE / name).read_text(encoding="utf8").splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith("| promise")]


ROWS = rows_of("guarantees.md")
VALUES = {"per_key", "unsupported", "br", "non_splitting_tags", "refused"}
"""Of settings and of requests."""


def test_every_promise_names_a_test_that_exists() -> None:
    for row in (*ROWS, *rows_of("file-guarantees.md")):
        named = re.findall(r"`(tests/[^`:]+)(?:::(\w+))?`", row)
        assert named, row
        for path, name in named:
            assert f"def {name or 'test_'}" in (ROOT / path).read_text(encoding="utf8"), row


def test_every_setting_that_is_named_is_one() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([a-z_]+)`", row.split("|")[2])}

    assert named - VALUES <= Settings.model_fields.keys()


def test_the_page_has_the_table_of_the_list() -> None:
    page = PAGE.read_text(encoding="utf8")
    assert page == with_table(page), "run `python -m tests.docs.clients_page`"


@pytest.mark.parametrize("client", clients(), ids=lambda client: client.name)
def test_each_program_has_tests_that_exist(client: Client) -> None:
    assert client.tests or client.calls
    for test in client.tests:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / "service" / path).read_text(encoding="utf8")
