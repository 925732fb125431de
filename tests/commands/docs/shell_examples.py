"""Shell examples of a page, and a folder to run them in.

A page is run from its first line to its last in one folder, which looks like the root of the repository:

- a block of ``console`` has one command after `$`, and the output that it must print;
- a block of ``sh`` starts the server that later commands call;
- a block whose first line is `# NAME.SUFFIX` is saved under that name;
- in an output, a line `...` stands for any lines, and `^C` for an interrupt by the reader.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.paths import ROOT
from tests.service.conftest import is_ready

SERVER_ON_PAGES = "http://127.0.0.1:8000"
SERVE = "make serve"
"""How pages start the server."""
BLOCK = re.compile(r"^```(?P<kind>[a-z]+)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w-]+\.[a-z]+)\n")
OWN_FOLDERS = ("models", "runs")
"""Folders that examples may write to: each page has its own."""
INTERRUPT, OMISSION = "^C", "..."
EXIT_STOPPED = 3
JOURNAL_BYTES = 100_000
"""A journal of this size has some translations."""
MAX_SECONDS = 240
JOB_ID = re.compile(r"\b[0-9a-f]{32}\b")
VARYING = [
    # The last digits of a score depend on the processor.
    (re.compile(r'"(score|confidence)":-?[0-9.]+'), r'"\1":0'),
    (re.compile(r"BLEU [0-9.]+, chrF [0-9.]+"), "BLEU 0, chrF 0"),
    (re.compile(r"in [0-9]+ s with at most [0-9]+ MiB"), "in 0 s with at most 0 MiB"),
    # Of a resumed job, only a part is translated now.
    (
        re.compile(r"(?<![0-9,])([0-9,]+) entries, (?!\1 )[0-9,]+ translated now"),
        r"\1 entries, some translated now",
    ),
    (re.compile(r'_difference": [0-9.e-]+'), '_difference": 0'),
    (re.compile(r'_at":"[^"]+"'), '_at":""'),
    (JOB_ID, "id"),
]


class Page:
    """Run the examples of a page in a folder."""

    def __init__(self, folder: Path, commands: Path | None = None) -> None:
        """Make the folder look like a checkout; leave it empty for the commands of an installation."""
        self._folder = folder
        self._commands = commands or Path(sys.executable).parent
        self._address = SERVER_ON_PAGES
        self._job_ids: dict[str, str] = {}
        if commands is not None:
            return
        for path in ROOT.iterdir():
            if not path.name.startswith(".") and path.name not in OWN_FOLDERS:
                (folder / path.name).symlink_to(path)
        (folder / "models").mkdir()
        for path in (ROOT / "models").iterdir():
            (folder / "models" / path.name).symlink_to(path)

    @property
    def has_own_models(self) -> bool:
        """Whether an example has written a model, which only a server in this folder has."""
        return not all(path.is_symlink() for path in (self._folder / "models").iterdir())

    def use_server(self, address: str) -> None:
        """Send requests to a server that runs already."""
        self._address = address

    @contextmanager
    def server(self, command: str) -> Iterator[str]:
        """Start the server as the page does, but on a free port; yield its address."""
        command = command.replace(SERVE, ".venv/bin/dragoman serve") + " --port 0"
        with self._start(command, stderr=subprocess.PIPE) as process:
            try:
                self._address = _wait_until_ready(process)
                yield self._address
            finally:
                process.terminate()

    def save(self, name: str, content: str) -> None:
        (self._folder / name).write_text(self._adapt(content), encoding="utf8")

    def run(self, command: str, shown: str) -> str:
        """Return what the command prints; raise if its exit status is not that of success."""
        interrupts = INTERRUPT in shown.splitlines()
        with self._start(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE) as process:
            try:
                if interrupts:
                    self._wait_for_translations(process)
                    os.killpg(process.pid, signal.SIGINT)
                printed, _ = process.communicate(timeout=MAX_SECONDS)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if process.returncode != (EXIT_STOPPED if interrupts else 0):
            raise RuntimeError(f"exit status {process.returncode}: {command}\n{printed}")
        self._job_ids.update(zip(JOB_ID.findall(shown), JOB_ID.findall(printed), strict=False))
        return printed.replace(self._address, SERVER_ON_PAGES)

    def _start(
        self, command: str, *, stderr: int, stdout: int | None = subprocess.DEVNULL
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["/bin/bash", "-c", self._adapt(command)],
            cwd=self._folder,
            env={**os.environ, "LC_ALL": "C.UTF-8", "DRAGOMAN_DRAIN_S": "0"},
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def _adapt(self, text: str) -> str:
        """Replace what differs from the reader's machine: the environment, the port, and ids of jobs."""
        text = text.replace(".venv/bin/", f"{self._commands}/")
        text = text.replace(SERVER_ON_PAGES, self._address)
        return JOB_ID.sub(lambda shown: self._job_ids.get(shown[0], shown[0]), text)

    def _wait_for_translations(self, process: subprocess.Popen[str]) -> None:
        """Wait until a batch job has finished some translations, but not all."""
        while process.poll() is None:
            if any(path.stat().st_size > JOURNAL_BYTES for path in self._folder.glob("*.journal-wal")):
                return
            time.sleep(0.05)
        raise RuntimeError("the command ended before it was interrupted")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return kind and content of each fenced block."""
    return [(found["kind"], found["body"]) for found in BLOCK.finditer(page.read_text(encoding="utf8"))]


def command_and_output(body: str) -> tuple[str, str]:
    """Split a block of ``console``."""
    command, _, shown = body.partition("\n")
    return command.removeprefix("$ "), shown


def assert_prints(printed: str, shown: str) -> None:
    """Compare without white space and what varies between runs."""
    printed = _words(printed)
    expected = _words("\n".join(line for line in shown.splitlines() if line != INTERRUPT))
    pattern = ".*".join(re.escape(part.strip()) for part in f" {expected} ".split(f" {OMISSION} "))
    if not re.fullmatch(pattern, printed, re.DOTALL):
        raise AssertionError(f"printed: {printed}\nexpected: {expected}")


def _words(text: str) -> str:
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def _wait_until_ready(process: subprocess.Popen[str]) -> str:
    found = (re.search(r"http://[0-9.]+:\d+", line) for line in process.stderr or ())
    address = next((match.group() for match in found if match), None)
    if address is None:
        raise RuntimeError("the server ended before it listened")
    with httpx.Client(base_url=address, timeout=TIMEOUT_S) as client:
        until(lambda: is_ready(client))
    return address
