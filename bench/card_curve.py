"""Learning curves over all runs of a model, from the histories that `python -m training` writes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from training.history import LOSS_EVERY_STEPS, Event

MAX_RATE_DIFFERENCE = 0.05
"""Maximum relative difference in pairs per step between a history and its run."""


class CurveError(ValueError):
    """A history cannot be read, belongs to none of the model's runs, or is a run's second one."""


@dataclass(frozen=True, slots=True)
class Point:
    """A validation: greedy search on the lines held out from its run."""

    run: int
    """Number of the run, from 1."""
    pairs_seen: int
    """Number of pairs seen by this run and all before it."""
    bleu: float
    chrf: float


def read_curve(histories: Sequence[Path], runs: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Return all validations in the direction of the last run, in order.

    A history belongs to the run whose record has the step and pairs of its last event. A run may have none.

    Args:
        histories: files that `training.history` has written.
        runs: records of the model's runs, the first one first.

    Raises:
        CurveError: a history cannot be read, is empty, belongs to no run, or is the second one of a run.
    """
    before = [0, *accumulate(int(run.get("pairs_seen", 0)) for run in runs)]
    found: dict[int, list[Event]] = {}
    for path in histories:
        events = _read(path)
        number = _find_run(path, events[-1], runs)
        if number in found:
            raise CurveError(f"{path}: run {number} has a history already")
        found[number] = events
    directions = (None, f"{runs[-1].get('source_language')}-{runs[-1].get('target_language')}")
    return [
        Point(number, before[number - 1] + event.pairs_seen, event.bleu, event.chrf)
        for number, events in sorted(found.items())
        for event in events
        if event.bleu is not None and event.chrf is not None and event.direction in directions
    ]


def _read(path: Path) -> list[Event]:
    try:
        # A kill may have cut the last line short: text after the last line feed is not an event.
        lines = path.read_text(encoding="utf8").split("\n")[:-1]
        events = [Event(**json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError) as error:
        raise CurveError(f"{path} is no history of a run: {error}") from error
    if not events:
        raise CurveError(f"{path} has no events")
    return events


def _find_run(path: Path, last: Event, runs: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of the run whose last step, or last recorded one before it, ends the history.

    Raises:
        CurveError: there is no such run.
    """
    for number, run in enumerate(runs, start=1):
        steps, pairs = run.get("steps") or 0, run.get("pairs_seen") or 0
        is_stopped = 0 < steps - last.step < LOSS_EVERY_STEPS and pairs > last.pairs_seen
        if (steps, pairs) == (last.step, last.pairs_seen) or (
            is_stopped and abs(1 - last.pairs_seen / last.step * steps / pairs) < MAX_RATE_DIFFERENCE
        ):
            return number
    known = "; ".join(
        f"run {number}: step {run.get('steps')}, {run.get('pairs_seen')} pairs"
        for number, run in enumerate(runs, start=1)
    )
    raise CurveError(
        f"{path} ends at step {last.step} with {last.pairs_seen} pairs, which is none of the bundle's runs "
        f"({known})"
    )
