"""DeepL's client for Node.js."""

import os
import subprocess
from pathlib import Path

from tests.commands.browser.servers import COMMAND, Server
from tests.paths import ROOT
from tests.service.page.node import TIMEOUT_S, install

SOURCES = Path(__file__).parent / "node"


def test_all_that_the_client_does_with_glossaries_works(tmp_path: Path) -> None:
    folder = install(SOURCES, tmp_path / "node")
    server = Server(COMMAND, tmp_path, models_dir=ROOT / "models")
    server.start()
    variables = {**os.environ, "DEEPL_SERVER_URL": server.address, "DEEPL_AUTH_KEY": "any"}
    command = ["node", "--test", "glossaries.mjs"]
    try:
        finished = subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    finally:
        server.kill()
    assert finished.returncode == 0, finished.stdout
