"""The `dragoman` command as a process: signals, pipes, terminals, addresses, and who parses files."""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

import httpx
import onnxruntime
import pytest

from service.formats import isolation, records
from service.formats.plain_text import PlainTextFormat
from tests.engine.routing.doubles import TIMEOUT_S, until, write_bundle
from tests.forked import ForkedProcess, run_command, run_double, run_to_end
from tests.service.conftest import NO_TLS, TINY_BUNDLE, Run, double_server, is_ready
from tests.service.test_memories_over_http import TMX

QUICK_SERVER = {"DRAGOMAN_DETECTION": "off", "DRAGOMAN_DRAIN_S": "0"}


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


@contextmanager
def started(command: list[str], environment: dict[str, str], **streams: Any) -> Iterator[Any]:
    with subprocess.Popen(command, env=environment, **streams) as process:
        yield process
        process.kill()


def test_a_reader_that_leaves_is_no_error_to_speak_of(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    # More than a pipe holds, so that the writer meets the closed end.
    path = tmp_path / "in.txt"
    path.write_bytes(b"ja\n" * 100_000)
    with started([*command, "translate", "--file", str(path)], environment, **PIPES) as process:
        assert process.stdout.readline() == b"JA\n"
        process.stdout.close()

        assert process.stderr.read() == b""
        assert process.wait(TIMEOUT_S) == 128 + signal.SIGPIPE


def test_an_interrupt_ends_quietly_after_a_whole_line(
    command: list[str], environment: dict[str, str]
) -> None:
    with started([*command, "translate"], environment, **PIPES) as process:
        # More than an output buffer holds, so that something comes out before the input ends.
        process.stdin.write(b"ja\n" * 4000)
        process.stdin.flush()
        first_line = process.stdout.readline()
        process.send_signal(signal.SIGINT)

        assert (first_line + process.stdout.read()).endswith(b"JA\n")
        assert process.stderr.read().strip() == b""
        assert process.wait(TIMEOUT_S) == 128 + signal.SIGINT


def test_progress_is_shown_on_a_terminal_only(command: list[str], environment: dict[str, str]) -> None:
    terminal, stderr = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    finished = subprocess.run(
        [*command, "translate"],
        input=b"eins\nunusable\n",
        stdout=subprocess.PIPE,
        stderr=stderr,
        check=False,
        env=environment,
    )
    os.close(stderr)
    shown = b""
    with suppress(OSError):  # how a terminal ends whose other end is closed
        while block := os.read(terminal, 1000):
            shown += block
    os.close(terminal)

    assert finished.stdout == b"EINS\nunusable\n"
    assert b"2 lines" in shown
    assert b"dragoman: line 2: is not usable; written unchanged\r\n" in shown


def address_in(log: Path) -> str | None:
    """Where a server listens, once it has said so."""
    found = re.search(r"http://[\d.]+:\d+\b", log.read_text())
    return found and found[0]


def test_a_server_finds_new_models_and_ends_with_status_0_on_sigterm(
    environment: dict[str, str], models_dir: Path, tmp_path: Path
) -> None:
    del environment["DRAGOMAN_MODEL"]
    serve = ["serve", "--port", "0", "--watch", "0.1"]
    log = tmp_path / "log"
    log.touch()
    with ForkedProcess(run_double, serve, environment | QUICK_SERVER, tmp_path, log) as process:
        until(lambda: (address_in(log) or process.poll()) is not None)
        with httpx.Client(base_url=str(address_in(log)), timeout=TIMEOUT_S, verify=NO_TLS) as client:
            until(lambda: is_ready(client))
            write_bundle(models_dir / "later", "tiny-en-fr", ["en"], ["fr"])
            body = {"text": "eins", "source": "de", "target": "fr"}
            until(lambda: client.post("/v1/translate", json=body).status_code == httpx.codes.OK)
            assert client.post("/v1/translate", json=body).json()["model"] == "tiny-de-en + tiny-en-fr"

        process.send_signal(signal.SIGTERM)

        assert process.wait(TIMEOUT_S) == 0
    assert "Traceback" not in log.read_text()


def test_an_address_in_use_is_an_error(environment: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        arguments = ["serve", "--port", str(taken.getsockname()[1])]
        status, problem = run_to_end(run_double, arguments, environment | QUICK_SERVER, tmp_path)

    assert status != 0
    assert "is in use; choose another with --port" in problem


def test_a_typed_line_is_answered_before_the_next(environment: dict[str, str]) -> None:
    """On a terminal; a pipe would be read ahead."""
    terminal, inner = pty.openpty()
    command = [sys.executable, "-m", "service", "translate", "--model", str(TINY_BUNDLE)]
    streams = {"stdin": inner, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **streams, env=environment) as process:  # type: ignore[call-overload]
        try:
            os.write(terminal, b"Ja.\n")
            assert process.stdout.readline() == b"Yes.\n"
        finally:
            process.terminate()
            os.close(inner)
            os.close(terminal)


@pytest.mark.skipif(
    "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="CUDA is in this onnxruntime"
)
def test_commands_run_on_the_provider_requested_or_not_at_all(
    run_engine: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    variables = environment | {"DRAGOMAN_PROVIDERS": "cuda,cpu"}
    served = run_to_end(run_command, ["serve", "--model", str(TINY_BUNDLE)], variables, tmp_path)
    translated = run_engine("translate", "--providers", "cuda,cpu", "--model", str(TINY_BUNDLE))

    assert translated.stdout == b""
    for status, problem in (served, (translated.returncode, translated.stderr.decode())):
        assert status == 2
        assert problem.startswith("dragoman: provider 'cuda' is missing in onnxruntime")
        assert "install onnxruntime-gpu" in problem


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["translate", "--kernels", "native"], {"DRAGOMAN_THREADS": "2"}),
        (["serve", "--kernels", "native", "--threads", "2"], {}),
        (["serve"], {"DRAGOMAN_KERNELS": "native", "DRAGOMAN_THREADS": "2"}),
    ],
    ids=["translate", "serve", "serve with a variable"],
)
def test_commands_run_on_the_kernels_required_or_not_at_all(
    environment: dict[str, str], tmp_path: Path, arguments: list[str], variables: dict[str, str]
) -> None:
    command = [*arguments, "--model", str(TINY_BUNDLE)]
    status, problem = run_to_end(run_command, command, environment | variables, tmp_path)

    assert status == 2
    assert problem.startswith("dragoman: ")
    assert "the native kernels cannot run this bundle: a replica has one thread with them, not 2" in problem
    assert "Traceback" not in problem


TEXT = ("a.txt", b"ein Hund\n")
LANGUAGES = {"source": "de", "target": "en"}
TERMS = ("a.csv", b"Hund,dog\n")
JSON_GLOSSARY = {
    "name": "x",
    "dictionaries": [{**LANGUAGES, "entries": [{"source": "Katze", "target": "cat"}]}],
}
ROUTES: dict[tuple[str, str], tuple[dict[str, str], tuple[str, bytes]]] = {
    ("post", "/v1/jobs"): (LANGUAGES, TEXT),
    ("post", "/v1/memories"): ({"name": "x", **LANGUAGES}, ("a.tmx", TMX.encode())),
    ("post", "/v1/memories/{memory_id}/pairs"): ({}, ("a.tmx", TMX.encode())),
    ("post", "/v1/glossaries"): ({"name": "x", **LANGUAGES}, TERMS),
    ("put", "/v1/glossaries/{glossary_id}"): ({"name": "x", **LANGUAGES}, TERMS),
    ("put", "/v1/glossaries/{glossary_id}/dictionaries"): (LANGUAGES, TERMS),
    ("post", "/v2/document"): ({"source_lang": "DE", "target_lang": "EN"}, TEXT),
    ("post", "/translate_file"): (LANGUAGES, TEXT),
}
"""Fields and a file for each route that takes one."""


@pytest.fixture(scope="module")
def isolating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with double_server(tmp_path_factory.mktemp("server"), file_isolation="on") as (found, _):
        found.headers["Authorization"] = "DeepL-Auth-Key any"
        yield found


def _takes_a_file(operation: dict[str, Any], schemas: dict[str, Any]) -> bool:
    content = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data", {})
    schema = content.get("schema", {})
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    properties = schema.get("properties", {}).values()
    return any(each.get("format") == "binary" or "contentMediaType" in each for each in properties)


def test_the_routes_that_take_files_are_all_tested_here(isolating: httpx.Client) -> None:
    described = isolating.get("/openapi.json").json()
    found = {
        (method, path)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if _takes_a_file(operation, described["components"]["schemas"])
    }
    assert found == ROUTES.keys()


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_leaves_the_parsing_to_a_process_of_its_own(
    isolating: httpx.Client, method: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a file is parsed in the server's process")

    started: list[int] = []
    start = isolation._start_reader

    def count(source: int) -> Popen[bytes]:
        started.append(source)
        return start(source)

    monkeypatch.setattr(isolation, "_start_reader", count)
    for kind in records.RecordKind:
        monkeypatch.setitem(records._PARSERS, kind, fail)
    monkeypatch.setattr(PlainTextFormat, "read", fail)
    monkeypatch.setattr(PlainTextFormat, "write", fail)
    fields, file = ROUTES[method, path]
    memory = isolating.post("/v1/memories", json={"name": "x", **LANGUAGES, "pairs": []}).json()
    glossary = isolating.post("/v1/glossaries", json=JSON_GLOSSARY).json()

    sent = isolating.request(
        method,
        path.format(memory_id=memory["id"], glossary_id=glossary["id"]),
        data=fields,
        files={"file": file},
    )

    assert sent.is_success, sent.text
    assert started
