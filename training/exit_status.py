"""Exit statuses of this package's commands."""

import sys
from collections.abc import Callable

from export.checkpoint_folder import CheckpointError
from training.errors import TrainingError, TrainingStopped

FIXABLE_ERROR = 2
SIGNALLED = 128
"""Added to the signal's number, as shells do."""


def exit_status(work: Callable[[], object]) -> int:
    """Run `work` and write the error or signal that ends it early to stderr.

    Returns:
        0 on success; 2 after an error that the caller can fix; 128 plus the number of a signal.
    """
    try:
        work()
    except (TrainingError, CheckpointError) as error:
        sys.stderr.write(f"error: {error}\n")
        return FIXABLE_ERROR
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"error: {where}{error.strerror or error}\n")
        return FIXABLE_ERROR
    except TrainingStopped as stopped:
        sys.stderr.write(f"{stopped}\n")
        return SIGNALLED + stopped.signal_number
    return 0
