"""The `dragoman` command with a double in the engine's place, in a process that kills itself at some line."""

import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from service.batch import run
from service.batch.pending_entries import ChunkLimits
from service.cli import batch_job
from tests.forked import run_double

TRACED = (str(Path(run.__file__).parent), batch_job.__file__)
"""What the names of files of the job's code begin with."""
COUNTED_FILE = "lines"
CHUNK_ENTRIES = 8


class Tracer:
    """Counts lines of files whose names begin so, and kills this process before one of them."""

    def __init__(self, fatal_line: int | None, traced: tuple[str, ...] = TRACED) -> None:
        self.num_lines = 0
        self._fatal_line, self._traced = fatal_line, traced

    def __call__(self, frame: FrameType, what: str, argument: Any) -> "Tracer | None":
        del argument
        if not frame.f_code.co_filename.startswith(self._traced):
            return None
        if what == "line":
            self.num_lines += 1
            if self.num_lines == self._fatal_line:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def run_traced(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path, fatal_line: int | None
) -> None:
    """Be the command until its end, or until it comes to a line of the job's code.

    Without a fatal line nothing is traced, as that is slow. Line 0 counts the lines, in a file beside it.
    """
    gc.freeze()  # a router collects when it closes, which takes as long as all the rest
    batch_job.CHUNKS = ChunkLimits(entries=CHUNK_ENTRIES, seconds=3600.0)
    tracer = Tracer(fatal_line)
    if fatal_line is not None:
        sys.settrace(tracer)
    try:
        run_double(arguments, environment, folder, log)
    finally:
        sys.settrace(None)
        log.with_name(COUNTED_FILE).write_text(str(tracer.num_lines))
