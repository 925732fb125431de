"""What the README and the tutorials show is what happens: commands are run, and their output is compared."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.commands.docs.shell_examples import (
    FILE_NAME,
    SERVE,
    SERVER_ON_PAGES,
    Page,
    assert_prints,
    blocks,
    command_and_output,
)
from tests.paths import ROOT

README = ROOT / "README.md"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [README, *TUTORIALS]
SERVES = re.compile(r"(make|\.venv/bin/dragoman) serve\b[^\n]*\n")
MIN_WORDS, MAX_WORDS = 300, 800
CLIENTS = [body for kind, body in blocks(README) if kind == "python" and SERVER_ON_PAGES in body]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server with the bundled models, for all pages that add none to them."""
    with Page(tmp_path_factory.mktemp("served")).server(SERVE) as address:
        yield address


def ids(page: Path) -> str:
    return page.stem


def test_the_readme_names_every_tutorial() -> None:
    readme = README.read_text(encoding="utf8")
    assert [page.name for page in TUTORIALS if f"(docs/tutorials/{page.name})" not in readme] == []


@pytest.mark.parametrize("page", TUTORIALS, ids=ids)
def test_a_tutorial_is_short(page: Path) -> None:
    assert MIN_WORDS <= len(page.read_text(encoding="utf8").split()) <= MAX_WORDS


@pytest.mark.parametrize("page", TUTORIALS, ids=ids)
def test_every_example_of_a_tutorial_is_run(page: Path) -> None:
    content = page.read_text(encoding="utf8")
    not_run = [
        body
        for kind, body in blocks(page)
        if not (
            (kind == "console" and body.startswith("$ "))
            or (kind == "sh" and SERVES.fullmatch(body))
            or FILE_NAME.match(body)
        )
    ]

    assert not_run == []
    assert content.count("```") == 2 * len(blocks(page))
    assert not re.search(r"^ {4}", re.sub(r"```.*?```", "", content, flags=re.DOTALL), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, server: str, tmp_path: Path) -> None:
    examples = Page(tmp_path)
    with ExitStack() as servers:
        for kind, body in blocks(page):
            if kind == "console":
                command, shown = command_and_output(body)
                assert_prints(examples.run(command, shown), shown)
            elif body.strip() == SERVE and not examples.has_own_models:
                examples.use_server(server)
            elif kind == "sh" and SERVES.fullmatch(body):
                servers.enter_context(examples.server(body.strip()))
            elif name := FILE_NAME.match(body):
                examples.save(name[1], body)


def test_there_are_clients_in_the_readme() -> None:
    assert len(CLIENTS) == 2
    assert all(len(list(filter(None, client.splitlines()))) == 3 for client in CLIENTS)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_readmes_clients_print_what_it_says(client: str, server: str) -> None:
    (expected,) = re.findall(r"#\s*(.*)$", client.strip())
    code = client.replace(SERVER_ON_PAGES, server)

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == expected
