"""Run a command of this package and turn what ends it into an exit status."""

import sys
from collections.abc import Callable

from export.checkpoint import CheckpointError
from training.errors import TrainingError, TrainingStopped

TO_FIX = 2
SIGNALLED = 128
"""The shell's convention: 128 plus the signal's number."""


def exit_status(work: Callable[[], object]) -> int:
    """Do the work and write to stderr what ends it early.

    Returns:
        0; 2 after an error that the caller can fix; 128 plus the number of a signal.
    """
    try:
        work()
    except (TrainingError, CheckpointError) as error:
        sys.stderr.write(f"error: {error}\n")
        return TO_FIX
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"error: {where}{error.strerror or error}\n")
        return TO_FIX
    except TrainingStopped as stopped:
        sys.stderr.write(f"{stopped}\n")
        return SIGNALLED + stopped.signal_number
    return 0
