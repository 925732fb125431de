"""docs/reference/clients.md lists the programs that tests speak for."""

import ast

import pytest

from tests.docs.clients_page import PAGE, Client, clients, with_table
from tests.paths import ROOT


def test_the_page_has_the_table_of_the_list() -> None:
    page = PAGE.read_text(encoding="utf8")
    assert page == with_table(page), "run `python -m tests.docs.clients_page`"


@pytest.mark.parametrize("client", clients(), ids=lambda client: client.name)
def test_each_program_has_tests_that_exist(client: Client) -> None:
    assert client.tests
    for test in client.tests:
        path, _, name = test.partition("::")
        name, _, case = name.partition("[")
        content = (ROOT / "tests" / "service" / path).read_text(encoding="utf8")
        assert name in {
            node.name for node in ast.walk(ast.parse(content)) if isinstance(node, ast.FunctionDef)
        }
        assert f'"{case.removesuffix("]")}"' in content or not case
