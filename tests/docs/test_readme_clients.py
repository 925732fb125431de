"""What the README shows of other people's clients is what happens."""

import re
import subprocess
import sys

import pytest

from tests.docs.test_readme import README, ROOT, SERVER_IN_README, server

__all__ = ["server"]

SNIPPETS = [
    snippet
    for snippet in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    if SERVER_IN_README in snippet
]


def test_there_are_clients_in_the_readme() -> None:
    assert len(SNIPPETS) == 2
    assert all(len(list(filter(None, snippet.splitlines()))) == 3 for snippet in SNIPPETS)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_the_readmes_clients_print_what_it_says(snippet: str, server: str) -> None:
    (expected,) = re.findall(r"#\s*(.*)$", snippet.strip())
    code = snippet.replace(SERVER_IN_README, server)

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == expected
