"""The web page is what its sources give."""

import subprocess
from pathlib import Path

from service.page.routes import STATIC
from tests.service.page.node import install
from tests.service.page.test_page import BUILD, WEB, contents


def test_a_build_gives_the_files_that_are_stored(tmp_path: Path) -> None:
    web = install(WEB, tmp_path / "web")

    subprocess.run(["npm", "run", "check"], cwd=web, check=True, capture_output=True)  # noqa: S607 -- the same
    subprocess.run(["node", "build.mjs", str(tmp_path / "static")], cwd=web, check=True)  # noqa: S607 -- the same

    assert contents(tmp_path / "static") == contents(STATIC), BUILD
