"""The `dragoman` command with a double in the engine's place, killed again and again.

`killing.py SEED FOLDER NUM_KILLS` takes a file through run after run, each in a process of its own that is
killed with SIGKILL, until one comes to its end; then it begins again, until so many were killed. Half of the
kills are before some line of the job's code, drawn from all that an undisturbed run comes by, so that no part
is left out, however short; the others are at moments drawn from the time it takes, be they in whatever call.
Prints what went wrong, if anything did.

Processes are forked after a run that imports all they need: to begin each from nothing would take minutes.
"""

import gc
import io
import os
import random
import shutil
import signal
import sys
import time
from contextlib import redirect_stderr, suppress
from pathlib import Path
from threading import RLock
from types import FrameType
from typing import Any

from tqdm import tqdm

from service.batch import run
from service.batch.pending_entries import ChunkLimits
from service.cli import batch_job
from tests.service import doubles

TRACED = (str(Path(run.__file__).parent), batch_job.__file__)
"""What the names of files of the job's code begin with."""
COUNTED_FILE = "lines"
OUTPUT = "out.txt"
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


def run_command(folder: Path, arguments: list[str], line: int | None = None, after_s: float = -1.0) -> int:
    """Its exit status, negative where it was killed: before a line (0 only counts them), or after a time."""
    process = os.fork()
    if process == 0:
        run_here(folder, arguments, line)
    if after_s >= 0:
        time.sleep(after_s)
        os.kill(process, signal.SIGKILL)
    _, ended = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(ended)


def run_here(folder: Path, arguments: list[str], line: int | None) -> None:
    status = 70
    try:
        with (folder / "log").open("a") as log:
            os.dup2(log.fileno(), 2)
        tracer = Tracer(line)
        if line is not None:
            sys.settrace(tracer)
        try:
            doubles.main(["batch", str(folder / "in.txt"), "-o", str(folder / OUTPUT), *arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        sys.settrace(None)
        (folder / COUNTED_FILE).write_text(str(tracer.num_lines))
    finally:
        os._exit(status)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name not in {"log", COUNTED_FILE}
    }


def prepare(folder: Path, lines: list[str]) -> None:
    folder.mkdir()
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in lines))


def warm_up(folder: Path, lines: list[str]) -> None:
    """Run the command in this process, so that forked ones find imported and ready what it needs."""
    tqdm.monitor_interval = 0  # no thread of this process, as it is forked
    tqdm.set_lock(RLock())  # forks share its default: one killed while it holds it stops all later ones
    prepare(folder, lines)
    with suppress(SystemExit), redirect_stderr(io.StringIO()):
        doubles.main(["batch", str(folder / "in.txt"), "-o", str(folder / OUTPUT)])
    gc.collect()
    gc.freeze()


def main(seed: int, folder: Path, num_kills: int) -> None:
    batch_job.CHUNKS = ChunkLimits(entries=CHUNK_ENTRIES, seconds=3600.0)
    draw = random.Random(seed)  # noqa: S311 -- no secret
    lines = [f"satz {draw.randrange(60)}" for _ in range(120)] + ["unusable", "ende"]
    warm_up(folder / "warm-up", lines)

    whole, killed = folder / "whole", folder / "killed"
    prepare(whole, lines)
    assert run_command(whole, [], line=0) == INCOMPLETE
    num_lines = int((whole / COUNTED_FILE).read_text())
    began_s = time.monotonic()
    assert run_command(whole, ["--force"]) == INCOMPLETE
    taken_s = time.monotonic() - began_s
    wanted = files_of(whole)
    translated = [line if line == "unusable" else line.upper() for line in lines]
    assert wanted[OUTPUT].decode().splitlines() == translated

    num_killed = 0
    while num_killed < num_kills:  # one file through runs until one comes to its end, and again
        prepare(killed, lines)
        arguments, status = list[str](), -signal.SIGKILL
        while status == -signal.SIGKILL:
            fate = draw.choice([(draw.randrange(1, num_lines), -1.0), (None, draw.uniform(0.0, taken_s))])
            status = run_command(killed, arguments, *fate)
            if files_of(killed).get(OUTPUT, wanted[OUTPUT]) != wanted[OUTPUT]:
                print(f"after {fate} the output is there and is another")  # noqa: T201 -- the report
            num_killed += status == -signal.SIGKILL
            arguments = ["--resume"]
        if status != INCOMPLETE or files_of(killed) != wanted:
            print(f"exit status {status}, files {files_of(killed)}, log {(killed / 'log').read_text()}")  # noqa: T201
        shutil.rmtree(killed)
    print(f"killed {num_killed} times")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
