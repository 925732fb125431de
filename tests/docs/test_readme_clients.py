"""What the README shows of other people's clients is what happens."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.docs.shell_examples import ROOT, SERVER_ON_PAGES, Page, blocks

SNIPPETS = [body for kind, body in blocks(ROOT / "README.md") if kind == "python" and SERVER_ON_PAGES in body]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The service with the bundled models, on a port of its own."""
    with Page(tmp_path_factory.mktemp("readme")).server("make serve") as address:
        yield address


def test_there_are_clients_in_the_readme() -> None:
    assert len(SNIPPETS) == 2
    assert all(len(list(filter(None, snippet.splitlines()))) == 3 for snippet in SNIPPETS)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_the_readmes_clients_print_what_it_says(snippet: str, server: str) -> None:
    (expected,) = re.findall(r"#\s*(.*)$", snippet.strip())
    code = snippet.replace(SERVER_ON_PAGES, server)

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == expected
