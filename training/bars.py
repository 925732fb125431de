"""Progress bars that stay quiet in log files."""

import sys
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

from tqdm import tqdm

TERMINAL_INTERVAL_S = 0.1
LOG_INTERVAL_S = 60.0

T = TypeVar("T")
StepBar: TypeAlias = "tqdm[Any]"


def bar_over(items: Iterable[T], description: str, unit: str) -> Iterable[T]:
    """The items, with a bar on standard error."""
    return tqdm(items, desc=description, unit=unit, mininterval=_interval_s())


def step_bar(total: int, first_step: int) -> StepBar:
    """A bar over training steps, moved by its owner."""
    return tqdm(total=total, initial=first_step, unit="step", desc="train", mininterval=_interval_s())


def write_line(line: str) -> None:
    """One line on standard error, above a bar if there is one."""
    tqdm.write(line, file=sys.stderr)


def _interval_s() -> float:
    """A file cannot be redrawn, so there each refresh is a new piece of text: one a minute is enough."""
    return TERMINAL_INTERVAL_S if sys.stderr.isatty() else LOG_INTERVAL_S
