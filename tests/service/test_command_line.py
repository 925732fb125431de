"""The `dragoman` command, in a process of its own, with a double in the engine's place."""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
TIMEOUT_S = 60


def test_lines_are_translated_in_order(run: Run) -> None:
    finished = run("translate", stdin="eins\r\n\n  \nzwölf\nende".encode())

    assert finished.stdout == "EINS\r\n\n  \nZWÖLF\nENDE".encode()
    assert finished.stderr == b""
    assert finished.returncode == 0


def test_no_input_gives_no_output(run: Run) -> None:
    finished = run("translate")

    assert (finished.stdout, finished.stderr, finished.returncode) == (b"", b"", 0)


def test_files_may_stand_in_for_stdin_and_stdout(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"eins\nzwei\n")

    finished = run("translate", "in.txt", "-o", "out.txt")

    assert finished.stdout == b""
    assert (tmp_path / "out.txt").read_bytes() == b"EINS\nZWEI\n"
    assert run("translate", "-", stdin=b"eins").stdout == b"EINS"


def test_input_and_output_may_not_be_one_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"eins\n")

    finished = run("translate", "in.txt", "-o", "./in.txt")

    assert finished.returncode == 2
    assert (tmp_path / "in.txt").read_bytes() == b"eins\n"


def test_a_line_with_an_error_stays_and_is_reported(run: Run) -> None:
    finished = run("translate", stdin=b"eins\nunusable\ndrei\n")

    assert finished.stdout == b"EINS\nunusable\nDREI\n"
    assert finished.stderr == b"dragoman: line 2: is not usable; written unchanged\n"
    assert finished.returncode == 1


def test_input_that_is_not_utf8_is_an_error_after_the_lines_before_it(run: Run) -> None:
    finished = run("translate", stdin=b"eins\nzwei\ndr\xe4i\n")

    assert finished.stdout == b"EINS\nZWEI\n"
    assert finished.stderr.startswith(b"dragoman: line 3 is not UTF-8: byte 0xe4 at position 3")
    assert finished.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "--beam-size", "99"], b"beam_size: 99 is not between 1 and 32"),
        (["translate", "--length-penalty", "nan"], b"length_penalty: nan is not"),
        (["translate", "--model", "absent"], b"bundle absent: neither absent nor"),
        (["translate", "absent.txt"], b"No such file or directory: 'absent.txt'"),
        (["translate", "-o", "absent/out.txt"], b"No such file or directory: 'absent/out.txt'"),
        (["translate", "--config", "absent.toml"], b"absent.toml does not exist"),
        (["serve", "--port", "70000"], b"port (or DRAGOMAN_PORT)"),
        (["serve", "--model", "absent"], b"bundle absent: neither absent nor"),
        (["info", "--model", "absent"], b"bundle absent: neither absent nor"),
    ],
)
def test_what_a_user_can_mend_is_said_in_one_line(run: Run, arguments: list[str], message: bytes) -> None:
    finished = run(*arguments)

    assert finished.returncode == 2
    assert finished.stderr.startswith(b"dragoman: ")
    assert message in finished.stderr
    assert finished.stderr.count(b"\n") == 1


def test_unknown_environment_variables_stop_a_command(run: Run) -> None:
    finished = run("translate", DRAGOMAN_MODLE="x")

    assert finished.returncode == 2
    assert b"unknown environment variable(s) DRAGOMAN_MODLE" in finished.stderr


@pytest.mark.parametrize("subcommand", ["translate", "serve"])
def test_a_damaged_bundle_is_refused(run: Run, models_dir: Path, subcommand: str) -> None:
    (models_dir / "tiny" / "decoder.onnx").write_bytes(b"x")

    finished = run(subcommand)

    assert finished.returncode == 2
    assert finished.stderr.startswith(b"dragoman: bundle ")
    assert b"decoder.onnx has 1 bytes" in finished.stderr
    assert b"Traceback" not in finished.stderr


def test_a_full_disk_is_an_error(run: Run) -> None:
    finished = run("translate", "-o", "/dev/full", stdin=b"eins\n")

    assert finished.returncode == 2
    assert b"No space left on device" in finished.stderr


def test_a_reader_that_leaves_is_no_error_to_speak_of(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    # More than a pipe holds, so that the writer meets the closed end.
    (tmp_path / "in.txt").write_bytes(b"ja\n" * 100_000)
    process = subprocess.Popen(
        [*command, "translate", str(tmp_path / "in.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"JA\n"
        process.stdout.close()

        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_an_interrupt_ends_quietly_after_a_whole_line(
    command: list[str], environment: dict[str, str]
) -> None:
    process = subprocess.Popen(
        [*command, "translate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        # More than an output buffer holds, so that something comes out before the input ends.
        process.stdin.write(b"ja\n" * 4000)
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)

        assert process.stdout.read().endswith(b"JA\n")
        assert process.stderr.read().strip() == b""
    assert process.returncode == 128 + signal.SIGINT


def shown_on(terminal: int) -> Iterator[bytes]:
    """What was written to a pseudo-terminal whose other end is closed."""
    with suppress(OSError), open(terminal, "rb", buffering=0) as screen:
        yield from iter(lambda: screen.read(1000), b"")


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
        timeout=TIMEOUT_S,
    )
    os.close(stderr)
    shown = b"".join(shown_on(terminal))

    assert finished.stdout == b"EINS\nunusable\n"
    assert b"2 lines" in shown
    assert b"dragoman: line 2: is not usable; written unchanged\r\n" in shown


def test_models_shows_languages_precision_size_and_whether_files_verify(run: Run) -> None:
    finished = run("models")

    header, row = finished.stdout.decode().splitlines()
    assert header.split() == ["NAME", "LANGUAGES", "PRECISION", "SIZE", "VERIFIED"]
    assert row.split() == ["tiny", "de", "->", "en", "int8", "0.0", "MB", "yes"]
    assert finished.returncode == 0


def test_models_fails_on_a_bad_bundle_and_says_why(run: Run, models_dir: Path) -> None:
    (models_dir / "tiny" / "encoder.onnx").write_bytes(b"e" * 12_000)
    (models_dir / "another").mkdir()

    finished = run("models")

    rows = finished.stdout.decode().splitlines()[1:]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [("another", "no"), ("tiny", "no")]
    assert finished.stderr.decode().splitlines() == [
        "another: manifest.json is missing",
        "tiny: encoder.onnx is damaged: its sha256 differs from the manifest's",
    ]
    assert finished.returncode == 1


def test_models_without_a_models_folder_is_an_error(run: Run) -> None:
    finished = run("models", DRAGOMAN_MODELS_DIR="absent")

    assert finished.returncode == 2
    assert finished.stderr == b"dragoman: models_dir: folder absent not found\n"


def test_info_tells_versions_and_the_facts_of_the_bundle(run: Run) -> None:
    finished = run("info")

    facts = {
        label: value
        for label, _, value in (
            re.sub(r"\s{2,}", "\t", line).partition("\t") for line in finished.stdout.decode().splitlines()
        )
    }
    assert facts["onnxruntime"] == version("onnxruntime")
    assert facts["model"] == "tiny-de-en"
    assert facts["languages"] == "de -> en"
    assert facts["segment limits"] == "256 source, 200 target tokens"
    assert facts["licence"] == "CC-BY-4.0"
    assert facts["score: captions"] == "bleu 31.5"


def test_the_module_is_the_command(environment: dict[str, str]) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "service", "--version"], capture_output=True, check=True, env=environment
    )

    assert finished.stdout.startswith(b"dragoman ")


@pytest.fixture
def server(command: list[str], environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A `dragoman serve` process that listens, and its address."""
    process = subprocess.Popen(
        [*command, "serve", "--port", "0"], stderr=subprocess.PIPE, env=environment, text=True
    )
    with process:
        assert process.stderr is not None
        address = next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.:]+", line)))
        yield process, address
        process.kill()


def test_serve_answers_and_ends_with_status_0_when_told_to_stop(
    server: tuple[subprocess.Popen[str], str],
) -> None:
    process, address = server
    with httpx.Client(base_url=address, timeout=TIMEOUT_S) as client:
        while client.get("/readyz").status_code != httpx.codes.OK:
            time.sleep(0.01)
        assert client.post("/v1/translate", json={"text": "a"}).json()["model"] == "tiny-de-en"

    process.send_signal(signal.SIGTERM)

    assert process.wait(TIMEOUT_S) == 0
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()


def test_requests_under_way_are_answered_before_the_server_stops(
    server: tuple[subprocess.Popen[str], str],
) -> None:
    process, address = server
    with httpx.Client(base_url=address, timeout=TIMEOUT_S) as client, ThreadPoolExecutor(1) as clients:
        while client.get("/readyz").status_code != httpx.codes.OK:
            time.sleep(0.01)
        answer = clients.submit(client.post, "/v1/translate", json={"text": ["slow"] * 2})
        time.sleep(0.4)

        process.send_signal(signal.SIGTERM)

        assert answer.result(TIMEOUT_S).status_code == 200
    assert process.wait(TIMEOUT_S) == 0


def test_an_address_in_use_is_an_error(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        finished = run("serve", "--port", str(taken.getsockname()[1]))

    assert finished.returncode != 0
    assert b"address already in use" in finished.stderr
