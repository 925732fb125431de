"""Check that every locked version has a wheel for each platform and Python, without installing anything.

`make platforms` runs it, with uv. Exit status 1: some combination lacks a wheel.
It is printed with the reason that uv gives.
"""

import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

REQUIREMENTS = Path(__file__).parent
LOCKS = ("serving.txt", "export.txt")
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
"""Platforms by uv's names. onnxruntime has no wheel for macOS on x86-64."""
MACOS = {"MACOSX_DEPLOYMENT_TARGET": "14.0"}
"""The oldest macOS that onnxruntime has a wheel for; uv's own default is older."""


def main() -> int:
    status = 0
    for lock, python, platform in product(LOCKS, PYTHONS, PLATFORMS):
        problem = find_problem(lock, python, platform)
        print(f"{lock}, Python {python}, {platform}: {problem or 'complete'}", flush=True)
        status = status or int(problem is not None)
    return status


def find_problem(lock: str, python: str, platform: str) -> str | None:
    """Return why a lock file cannot be installed from wheels; None if it can."""
    uv = Path(sys.executable).with_name("uv")
    with tempfile.TemporaryDirectory() as target:
        command = [str(uv), "pip", "install", "--dry-run", "--quiet", "--target", target]
        command += ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
        command += ["--python-version", python, "--python-platform", platform]
        command += ["--requirement", str(REQUIREMENTS / lock)]
        done = subprocess.run(  # noqa: S603 -- fixed words
            command, env=os.environ | MACOS, capture_output=True, text=True, check=False
        )
    return " ".join(done.stderr.split()) if done.returncode else None


if __name__ == "__main__":
    sys.exit(main())
