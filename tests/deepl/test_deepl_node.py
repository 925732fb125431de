"""DeepL's own client for Node.js, against a server with the bundled models."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.servers import COMMAND, ROOT, Server

SOURCES = Path(__file__).parent / "node"
TIMEOUT_S = 120


def run(*command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def test_all_that_the_client_does_with_glossaries_works(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = shutil.copytree(SOURCES, tmp_path / "node", ignore=shutil.ignore_patterns("node_modules"))
    installed = run("npm", "ci", "--prefer-offline", "--no-audit", folder=folder)
    if installed.returncode:
        pytest.skip(f"npm cannot install the client: {installed.stderr.strip()[-300:]}")
    server = Server(COMMAND, tmp_path, models_dir=ROOT / "models")
    server.start()
    try:
        finished = run(
            "node",
            "--test",
            "glossaries.mjs",
            folder=folder,
            DEEPL_SERVER_URL=server.address,
            DEEPL_AUTH_KEY="any",
        )
    finally:
        server.kill()
    assert finished.returncode == 0, finished.stdout
