"""What Node.js runs: DeepL's client, and the build of the web page."""

import os
import subprocess
from pathlib import Path

from service.page.routes import STATIC
from tests.commands.browser.servers import COMMAND, Server
from tests.paths import ROOT
from tests.service.page.node import TIMEOUT_S, install
from tests.service.page.test_page import BUILD, WEB, contents

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


def test_a_build_gives_the_files_that_are_stored(tmp_path: Path) -> None:
    web = install(WEB, tmp_path / "web")

    subprocess.run(["npm", "run", "check"], cwd=web, check=True, capture_output=True)  # noqa: S607 -- the same
    subprocess.run(["node", "build.mjs", str(tmp_path / "static")], cwd=web, check=True)  # noqa: S607 -- the same

    assert contents(tmp_path / "static") == contents(STATIC), BUILD
