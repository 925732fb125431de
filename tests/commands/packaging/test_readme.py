"""All of the README runs in an empty folder, from an installed wheel."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.commands.docs.shell_examples import Page, assert_prints, blocks, command_and_output
from tests.commands.docs.test_shell_examples import README
from tests.commands.packaging.test_wheel import build

SERVE, IMPORT = "make serve\n", "dragoman import "
pytestmark = pytest.mark.slow


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """Folder of the commands of an environment with the wheel, and with the packages of this environment."""
    (tmp_path / "sources").mkdir()
    wheel, _ = build(tmp_path / "sources", "wheel")
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    installed = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (installed / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf8")
    pip = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--ignore-installed", "--quiet", str(wheel)], check=True)
    return environment / "bin"


def test_the_readme_runs_from_a_wheel_in_an_empty_folder(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)  # with it the commands would be those of the checkout
    folder = tmp_path / "empty"
    folder.mkdir()
    page = Page(folder, commands)
    examples = blocks(README)
    assert ("sh", SERVE) in examples
    assert str(tmp_path) in page.run(f"{commands}/python -c 'import service; print(service.__path__)'", "")
    with page.server(SERVE.strip()):
        for kind, body in examples:
            if kind == "console":
                command, shown = command_and_output(body)
                assert_prints(page.run(command, shown), shown)
            elif kind == "python":
                page.save("example.py", body)
                printed = page.run(f"{commands}/python example.py", body)
                assert printed
                if "127.0.0.1" in body:
                    assert body.partition("# ")[2].strip() == printed.strip()
            elif IMPORT in body:
                # There is no network in tests: a folder without a model gets as far as the importers.
                with pytest.raises(RuntimeError, match="absent"):
                    page.run(f"{commands}/dragoman import ./absent", "")
