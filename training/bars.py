"""Progress bars that stay quiet in log files."""

import sys
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

from tqdm import tqdm

TERMINAL_INTERVAL_S = 0.1
LOG_INTERVAL_S = 60.0

T = TypeVar("T")
StepBar: TypeAlias = "tqdm[Any]"


def progress_bar(items: Iterable[T], description: str, unit: str) -> Iterable[T]:
    """Yield the items and show a bar on standard error."""
    return tqdm(items, desc=description, unit=unit, mininterval=_interval_s())


def step_bar(total: int, first_step: int) -> StepBar:
    """Return a bar over training steps; the caller updates it."""
    return tqdm(total=total, initial=first_step, unit="step", desc="train", mininterval=_interval_s())


def write_line(line: str) -> None:
    """Write one line to standard error, above the bar if there is one."""
    tqdm.write(line, file=sys.stderr)


def _interval_s() -> float:
    """Return the time between refreshes: in a file each one adds text, so once a minute is enough."""
    return TERMINAL_INTERVAL_S if sys.stderr.isatty() else LOG_INTERVAL_S
