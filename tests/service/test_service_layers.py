"""What the service may load."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def modules_after(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(*sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, cwd=PROJECT, text=True
    )
    return set(finished.stdout.split())


def test_the_application_needs_no_torch() -> None:
    loaded = modules_after("import service.app")

    assert "fastapi" in loaded
    assert loaded.isdisjoint({"torch", "export", "training"})


def test_the_server_needs_no_torch() -> None:
    loaded = modules_after("import service.server")

    assert "uvicorn" in loaded
    assert loaded.isdisjoint({"torch", "export", "training"})


def test_the_command_line_starts_without_the_web_framework() -> None:
    loaded = modules_after("import service.cli.app")

    assert "typer" in loaded
    assert loaded.isdisjoint({"fastapi", "uvicorn", "torch"})
