"""Commands in separate processes that end at a stop signal."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from training import stopping

POLL_S = 0.2
TRAINING = (
    "MALLOC_MMAP_MAX_=0",
    "MALLOC_TRIM_THRESHOLD_=100000000000",
    "MALLOC_TOP_PAD_=268435456",
    "OMP_WAIT_POLICY=PASSIVE",
)
"""Environment that `make train` sets: a step's large arrays stay mapped, and waiting threads release their
cores. docs/guides/training.md explains it."""
ONE_THREAD = ("OMP_NUM_THREADS=1",)
"""Environment of other commands. Exports search with small matrices; on a busy machine, threads that wait for
each other take many times as long as a single one."""


class ExperimentError(Exception):
    """The user must fix something first, or a command failed; the message says what."""


class ExperimentStopped(Exception):  # noqa: N818 -- not an error
    """A signal stopped the command; the same command resumes."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"{signal.Signals(signal_number).name}: stopped; the same command goes on")
        self.signal_number = signal_number


class StopRequest(stopping.StopRequest):
    """The stop signal that has arrived, if any."""

    def give_up(self) -> None:
        """Stop everything as SIGTERM would, because something failed; keep an earlier signal."""
        self.signal_number = self.signal_number or signal.SIGTERM

    def check(self) -> None:
        """Check for a stop request.

        Raises:
            Stopped: there is one.
        """
        if self.signal_number is not None:
            raise ExperimentStopped(self.signal_number)


def module_command(niceness: int, module: str, *arguments: str) -> list[str]:
    """Return the command line of one of this project's modules, with a higher niceness."""
    settings = TRAINING if module == "training" else ONE_THREAD
    return ["nice", "-n", str(niceness), "env", *settings, sys.executable, "-m", module, *arguments]


def run_command(command: Sequence[str], log: Path, stop: StopRequest) -> None:
    """Run a command to its end; at a stop request, terminate it and wait.

    The command runs in its own session, so that Ctrl-C reaches it only once, through this process. Its output
    is appended to `log`.

    Raises:
        Stopped: a signal arrived.
        ExperimentError: the command failed; `log` says why.
    """
    stop.check()
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 -- our own modules
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    while process.poll() is None and stop.signal_number is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
    if stop.signal_number is not None:
        process.terminate()  # has no effect if it has ended meanwhile
        process.wait()
    stop.check()
    if process.returncode:
        raise ExperimentError(f"`{' '.join(command)}` ended with status {process.returncode}; {log} says why")
