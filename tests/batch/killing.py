"""The `dragoman` command with a double in the engine's place, killed again and again.

`killing.py SEED FOLDER NUM_KILLS` takes a file through run after run, each in a process of its own that is
killed with SIGKILL, until one comes to its end; then it begins anew, until so many were killed. Half of the
kills are before some line of the job's code, drawn from all that an undisturbed run comes by, so that no part
is left out, however short; the others are at moments drawn from the time it takes, be they in whatever call.
Prints what went wrong, if anything did.

Processes are forked: to begin each from nothing would take minutes.
"""

import gc
import os
import random
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from service.batch import run
from service.batch.journal_file import JournalFile
from service.batch.pending_entries import ChunkLimits
from service.cli import batch_job
from service.formats import lines as lines_format  # noqa: F401 -- the same
from tests.service import doubles

TRACED = (str(Path(run.__file__).parent), str(Path(run.__file__).parents[1] / "commands" / "batch"))
"""What the names of files of the job's code begin with."""
COUNTED_FILE = "lines"
OUTPUT, PROBLEMS = "out.txt", "out.txt.errors.jsonl"
CHUNK_ENTRIES = 8
INCOMPLETE = 1
"""Exit status: "unusable" cannot be translated."""


class Tracer:
    """Counts lines of the job's code, and kills this process before one of them."""

    def __init__(self, fatal_line: int | None) -> None:
        self.num_lines = 0
        self._fatal_line = fatal_line

    def __call__(self, frame: FrameType, what: str, argument: Any) -> "Tracer | None":
        del argument
        if not frame.f_code.co_filename.startswith(TRACED):
            return None
        if what == "line":
            self.num_lines += 1
            if self.num_lines == self._fatal_line:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


@dataclass(frozen=True, slots=True)
class Fate:
    """When a process is killed, if at all."""

    line: int | None = None
    """0 only counts them."""
    seconds: float | None = None


def run_command(folder: Path, arguments: list[str], fate: Fate) -> int:
    """Its exit status; negative where it was killed."""
    process = os.fork()
    if process == 0:
        run_here(folder, arguments, fate)
    if fate.seconds is not None:
        time.sleep(fate.seconds)
        os.kill(process, signal.SIGKILL)
    _, ended = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(ended)


def run_here(folder: Path, arguments: list[str], fate: Fate) -> None:
    status = 70
    try:
        with (folder / "log").open("a") as log:
            os.dup2(log.fileno(), 2)
        tracer = Tracer(fate.line)
        if fate.line is not None:
            sys.settrace(tracer)
        try:
            doubles.main(["batch", str(folder / "in.txt"), "-o", str(folder / "out.txt"), *arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        sys.settrace(None)
        (folder / COUNTED_FILE).write_text(str(tracer.num_lines))
    finally:
        os._exit(status)


@dataclass(frozen=True, slots=True)
class Whole:
    """What an undisturbed run leaves, and what it takes."""

    lines: list[str]
    output: bytes
    problems: bytes
    num_lines: int
    seconds: float


def run_undisturbed(folder: Path, draw: random.Random) -> Whole:
    lines = [f"satz {draw.randrange(60)}" for _ in range(120)] + ["unusable", "ende"]
    prepare(folder, lines)
    assert run_command(folder, [], Fate(line=0)) == INCOMPLETE
    num_lines = int((folder / COUNTED_FILE).read_text())
    began_s = time.monotonic()
    assert run_command(folder, ["--force"], Fate()) == INCOMPLETE
    taken_s = time.monotonic() - began_s
    output = (folder / OUTPUT).read_bytes()
    assert output.decode().splitlines() == [line if line == "unusable" else line.upper() for line in lines]
    return Whole(lines, output, (folder / PROBLEMS).read_bytes(), num_lines, taken_s)


def kill_until_whole(folder: Path, whole: Whole, draw: random.Random) -> int:
    """Take one file through runs until one comes to its end; gives how many were killed."""
    prepare(folder, whole.lines)
    num_kills, arguments = 0, list[str]()
    while True:
        by_line = Fate(line=draw.randrange(1, whole.num_lines))
        fate = draw.choice([by_line, Fate(seconds=draw.uniform(0.0, whole.seconds))])
        status = run_command(folder, arguments, fate)
        if (folder / OUTPUT).exists() and (folder / OUTPUT).read_bytes() != whole.output:
            print(f"after {fate} the output is there and is another")  # noqa: T201 -- the report
        if status != -signal.SIGKILL:
            break
        num_kills += 1
        arguments = ["--resume"]
    log = (folder / "log").read_text()
    if status != INCOMPLETE:
        print(f"the exit status is {status}: {log}")  # noqa: T201
    if (folder / OUTPUT).read_bytes() != whole.output:
        print(f"the output is another: {log}")  # noqa: T201
    if (folder / PROBLEMS).read_bytes() != whole.problems:
        print(f"the side file is another: {log}")  # noqa: T201
    if left := {path.name for path in folder.iterdir()} - {"in.txt", OUTPUT, PROBLEMS, "log", COUNTED_FILE}:
        print(f"there are {left}")  # noqa: T201
    shutil.rmtree(folder)
    return num_kills


def main(seed: int, folder: Path, num_kills: int) -> None:
    batch_job.CHUNKS = ChunkLimits(entries=CHUNK_ENTRIES, seconds=3600.0)
    draw = random.Random(seed)  # noqa: S311 -- no secret
    JournalFile.open(folder / "warm-up").close()  # what SQLAlchemy makes ready once
    gc.collect()
    gc.freeze()
    whole = run_undisturbed(folder / "whole", draw)
    killed = 0
    while killed < num_kills:
        killed += kill_until_whole(folder / "killed", whole, draw)
    print(f"killed {killed} times")  # noqa: T201


def prepare(folder: Path, lines: list[str]) -> None:
    folder.mkdir()
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
