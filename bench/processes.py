"""Memory of processes, as Linux counts them, and our modules in fresh processes."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 2**20
LOOK_S = 0.02
"""Interval in seconds at which the peak memory of a running process is read."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of a process, now and at most."""

    resident_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Resident memory at a time since the beginning."""

    at_s: float
    size_bytes: int


def memory(pid: int | str = "self") -> Memory:
    """Return the memory of a process; zero if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf8").splitlines()
    except OSError:
        return Memory(0, 0)
    fields = dict(line.split(":", 1) for line in lines)
    return Memory(*(1024 * int(fields.get(name, "0").split()[0]) for name in ("VmRSS", "VmHWM")))


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """Measurements of one process."""

    seconds: float
    peak_bytes: int
    """Peak memory of the largest process: its own, or of one that it started, at any depth."""


def run_process(*command: object) -> ProcessRun:
    """Run a command and measure it.

    Raises:
        subprocess.CalledProcessError: its exit status is not 0.
    """
    began_s, peak_bytes = time.perf_counter(), 0
    words = [*map(str, command)]
    with subprocess.Popen(words) as process:  # noqa: S603 -- our own commands
        while process.poll() is None:
            # wait4's figure would include this process's memory.
            pids = [process.pid, *descendants(process.pid)]
            peak_bytes = max(peak_bytes, *(memory(pid).peak_bytes for pid in pids))
            time.sleep(LOOK_S)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return ProcessRun(time.perf_counter() - began_s, peak_bytes)


def descendants(pid: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        lists = [(task / "children").read_text(encoding="ascii") for task in tasks]
    except OSError:
        return []  # the process has ended meanwhile
    children = [int(child) for listed in lists for child in listed.split()]
    return [*children, *(grandchild for child in children for grandchild in descendants(child))]


@contextmanager
def sample_memory(read_bytes: Callable[[], int], every_s: float) -> Iterator[list[MemorySample]]:
    """Call `read_bytes` at once and every `every_s` seconds, on a thread."""
    seen: list[MemorySample] = []
    is_over = threading.Event()
    began = time.perf_counter()

    def watch() -> None:
        while True:
            seen.append(MemorySample(time.perf_counter() - began, read_bytes()))
            if is_over.wait(every_s):
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def run_json(module: str, *words: object, python: str = sys.executable, given: object = None) -> Any:
    """Run one of our modules in a fresh process, with `given` as JSON on its input; return what it prints."""
    command = [python, "-m", module, *map(str, words)]
    done = subprocess.run(  # noqa: S603 -- our own modules
        command, input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)
