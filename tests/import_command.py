"""`dragoman import`, run where some packages cannot be imported."""

import os
import subprocess
import sys
from pathlib import Path


def run_import(
    folder: Path, *arguments: str | Path, blocked: str = "torch"
) -> subprocess.CompletedProcess[str]:
    """Import into `models` of a folder; processes that the command starts lack the package, too."""
    package = folder / "blocked" / blocked
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(
        f"raise ModuleNotFoundError('{blocked} is blocked', name='{blocked}')", encoding="utf8"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "DRAGOMAN_MODELS_DIR": str(folder / "models"),
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, "-m", "service", "import", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
