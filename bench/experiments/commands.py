"""Commands in processes of their own, which end when a signal asks for it."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from training import stopping

LOOK_EVERY_S = 0.2
TRAINING = (
    "MALLOC_MMAP_MAX_=0",
    "MALLOC_TRIM_THRESHOLD_=100000000000",
    "MALLOC_TOP_PAD_=268435456",
    "OMP_WAIT_POLICY=PASSIVE",
)
"""What `make train` sets: a step's large arrays stay mapped, and threads that wait leave their cores to
others. docs/training.md tells more."""
ONE_THREAD = ("OMP_NUM_THREADS=1",)
"""Exports search with small matrices; on a busy machine threads that wait for one another take many times
as long as one does."""


class ExperimentError(Exception):
    """The caller, or a command that was started, must mend something first; the message says what."""


class Stopped(Exception):  # noqa: N818 -- what happened is no error
    """A signal asked for the end; the same command goes on."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"{signal.Signals(signal_number).name}: stopped; the same command goes on")
        self.signal_number = signal_number


class StopRequest(stopping.StopRequest):
    """Whether a signal asked for the end."""

    def give_up(self) -> None:
        """End what runs beside something that failed, as SIGTERM would; a signal that came stays."""
        self.signal_number = self.signal_number or signal.SIGTERM

    def check(self) -> None:
        """Go on only if nobody asked for the end.

        Raises:
            Stopped: somebody did.
        """
        if self.signal_number is not None:
            raise Stopped(self.signal_number)


def module_command(niceness: int, module: str, *arguments: str) -> list[str]:
    """One of this project's commands, kinder to others than this process."""
    settings = TRAINING if module == "training" else ONE_THREAD
    return ["nice", "-n", str(niceness), "env", *settings, sys.executable, "-m", module, *arguments]


def run_command(command: Sequence[str], log: Path, stop: StopRequest) -> None:
    """Run to the end, or until a signal comes, which is passed on once and waited for.

    The command leads a session of its own, so that Ctrl-C reaches it through here and not twice. What it
    prints goes to the end of `log`.

    Raises:
        Stopped: a signal came.
        ExperimentError: the command failed; it has said why in `log`.
    """
    stop.check()
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 -- our own modules
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    while process.poll() is None and stop.signal_number is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_EVERY_S)
    if stop.signal_number is not None:
        process.terminate()  # it may have ended meanwhile: then this does nothing
        process.wait()
    stop.check()
    if process.returncode:
        raise ExperimentError(f"`{' '.join(command)}` ended with status {process.returncode}; {log} says why")
