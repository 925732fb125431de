"""What the README shows is what happens: its console commands are run, its output compared."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf8")
SERVER_IN_README = "http://127.0.0.1:8000"
CONSOLE = re.compile(r"```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)
EXAMPLES = [(match["command"], match["output"]) for match in CONSOLE.finditer(README)]
SCORE = re.compile(r'"(score|confidence)":\s*-?[0-9.]+')


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The service with the bundled model, on a port of its own."""
    command = [sys.executable, "-m", "service", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield _wait_until_ready(process)
        finally:
            process.terminate()


def _wait_until_ready(process: subprocess.Popen[str]) -> str:
    if process.stderr is None:
        raise RuntimeError("the server's log is not connected")
    for line in process.stderr:
        if found := re.search(r"http://[0-9.]+:\d+", line):
            address = found.group()
            break
    else:
        raise RuntimeError("the server ended before it listened")
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:  # noqa: S310 -- our server
                if answer.status == 200:
                    return address
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server was not ready in a minute")


def run(command: str, address: str) -> str:
    """The command as a reader would type it, at the root, with the tests' environment for .venv."""
    command = command.replace(SERVER_IN_README, address)
    command = command.replace(".venv/bin/", f"{Path(sys.executable).parent}/")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_readme_shows_a_translation_by_curl_and_by_shell() -> None:
    commands = [command for command, _ in EXAMPLES]

    assert any(command.startswith("curl ") for command in commands)
    assert any("dragoman translate" in command for command in commands)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command[:30] for command, _ in EXAMPLES])
def test_the_readmes_commands_print_what_it_shows(command: str, shown: str, server: str) -> None:
    printed = run(command, server)

    if command.startswith("curl "):
        # The last digits of a score depend on the processor.
        printed, shown = (SCORE.sub('"score": 0', text) for text in (printed, shown))
        assert json.loads(printed) == json.loads(shown)
    else:
        assert printed.split() == shown.split()


def test_links_in_the_docs_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []
