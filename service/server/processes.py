"""Several server processes, forked from one that has loaded what they share."""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from dragoman.errors import DragomanError
from dragoman.graphs.process_memory import c_function
from service.errors import ServiceError
from service.settings.settings import SettingsError

MIN_LIFE_S = 10.0
"""Seconds that a process lives if nothing is wrong with all of them."""
MAX_SHORT_LIVES = 5
"""Processes that may end sooner, one after the other. Then all end."""
MAX_PAUSE_S = 8.0
"""Maximum seconds before another process takes the place of one that ended."""
EXIT_NOT_STARTED = 3
"""Exit status if the server cannot start, for example because the port is in use; same as uvicorn's."""
STOPS = (signal.SIGTERM, signal.SIGINT)
PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl(2): the signal that a process gets when its parent ends."""

logger = logging.getLogger(__name__)


class Processes:
    """Processes that all run the same function, each with its number. For the main thread."""

    def __init__(self, run: Callable[[int], None]) -> None:
        self._run = run
        self._pid = os.getpid()
        self._started: dict[int, tuple[float, int]] = {}
        """When the processes were started, in seconds, and their numbers, by id."""
        self._is_stopping = False

    def supervise(self, count: int) -> int:
        """Run processes until SIGTERM or SIGINT, which all of them get; replace those that end before.

        Returns:
            The exit status: not 0 if they ended at once again and again, or one could not start.
        """
        for stop in STOPS:
            signal.signal(stop, self._stop)
        for number in range(count):
            self._start(number)
        exit_status = num_short = 0
        while self._started:
            pid, status = os.wait()
            started = self._started.pop(pid, None)
            if self._is_stopping or started is None:  # None: a process that its own parent left behind
                continue
            started_s, number = started
            num_short = num_short + 1 if time.monotonic() - started_s < MIN_LIFE_S else 0
            code = os.waitstatus_to_exitcode(status)
            if code == EXIT_NOT_STARTED or num_short >= MAX_SHORT_LIVES:
                logger.error("process %d ended with status %d; all end, as others would as well", pid, code)
                exit_status = EXIT_NOT_STARTED
                self._stop(signal.SIGTERM, None)
                continue
            logger.error("process %d ended with status %d; another takes its place", pid, code)
            self._pause(min(MAX_PAUSE_S, 0.25 * 2**num_short))
            self._start(number)
        return exit_status

    def _pause(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while not self._is_stopping and time.monotonic() < end_s:
            time.sleep(0.05)

    def _start(self, number: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # until the child has handlers of its own
        pid = os.fork()
        if not pid:
            self._be_child(number)
        self._started[pid] = (time.monotonic(), number)
        if self._is_stopping:  # since before the process was known
            os.kill(pid, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)

    def _be_child(self, number: int) -> None:
        """Run the function and end, without ending what belongs to the parent."""
        status = 1
        try:
            signal.signal(signal.SIGTERM, end)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
            os.setpgid(0, 0)  # an interrupt from the keyboard reaches the parent only, which passes it on
            set_option = c_function("prctl")
            if set_option is not None:
                set_option(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() == self._pid:
                self._run(number)
            status = 0
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except (DragomanError, ServiceError, SettingsError, OSError) as error:
            logger.error("%s", error)  # noqa: TRY400 -- no traceback: an operator can fix it
            status = EXIT_NOT_STARTED
        except Exception:
            logger.exception("the process cannot go on")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True
        for pid in self._started:
            with suppress(ProcessLookupError):  # it has ended, and is removed next
                os.kill(pid, number)


def end(_signal: int, _frame: FrameType | None) -> None:
    """End the process without an error: a requested stop is no failure. For signals."""
    sys.exit(0)
