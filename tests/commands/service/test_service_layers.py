"""What the service may load."""

import subprocess
import sys

import pytest

from service.formats import registry
from service.telemetry.tracing import NO_TRACING
from service.telemetry.tracing_setup import open_tracing
from tests.paths import ROOT

ENGINE_AND_SERVER = ("dragoman", "numpy", "onnxruntime", "fastapi", "pydantic", "sqlalchemy")
FORMATS = (
    "pyarrow",
    "pypdfium2",
    "lxml",
    "docx",
    *(f"service.formats.{kind.module}" for kind in registry._FORMATS.values()),
)


def modules_after(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(*sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, cwd=ROOT, text=True
    )
    return set(finished.stdout.split())


@pytest.mark.parametrize(
    ("module", "needed", "others"),
    [
        ("server.server", "service.server.app", ("torch", "export", "training", "ray", "pyarrow")),
        ("cli.app", "typer", ("fastapi", "uvicorn", "torch")),
        ("cli.translate", "service.translation.request", ("fastapi", "sqlalchemy", "torch")),
        ("jobs.worker", "service.jobs.store", ("fastapi", "uvicorn", "torch")),
        ("translation.translation_service", "service.work.threads", ("fastapi", "uvicorn", "torch")),
        ("formats.isolated_reader", "service.formats.entries", ENGINE_AND_SERVER),
        ("formats.registry", "service.formats.entries", FORMATS),
    ],
)
def test_a_module_loads_no_more_than_it_needs(module: str, needed: str, others: tuple[str, ...]) -> None:
    loaded = modules_after(f"import service.{module}")

    assert needed in loaded
    assert loaded.isdisjoint(others)


def test_without_an_endpoint_nothing_of_opentelemetry_is_imported() -> None:
    loaded = modules_after(
        "import service.server.app, service.server.server as o; o.Telemetry(o.open_tracing(None))"
    )

    assert loaded.isdisjoint({"opentelemetry.sdk", "opentelemetry.exporter"})
    assert open_tracing(None) is NO_TRACING
