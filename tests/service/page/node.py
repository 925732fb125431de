"""Packages of Node.js that tests install."""

import shutil
import subprocess
from pathlib import Path

import pytest

TIMEOUT_S = 120


def install(package: Path, folder: Path) -> Path:
    """Copy a package and install what it needs by its lock file; skip the test where npm cannot."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    copied = shutil.copytree(package, folder, ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--prefer-offline", "--no-audit"]
    installed = subprocess.run(
        command, cwd=copied, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if installed.returncode:
        pytest.skip(f"npm cannot install what {package.name} needs: {installed.stderr.strip()[-300:]}")
    return copied
