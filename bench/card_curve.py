"""Learning curves over all runs of a model, from the histories that `python -m training` writes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from training.history import Event, read_events


class CurveError(ValueError):
    """A history cannot be read, has no events, or belongs to none of the model's runs."""


@dataclass(frozen=True, slots=True)
class Point:
    """A validation: greedy search on the lines held out from its run."""

    run: int
    """Number of the run, from 1."""
    pairs_seen: int
    """Number of pairs seen by this run and all before it."""
    bleu: float
    chrf: float


def read_curve(histories: Sequence[tuple[int, Path]], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return all validations in the direction of the last run, and the pairs seen at the end of each run.

    Args:
        histories: number of the run, from 1, and the file that `training.history` has written; a run may have
            none.
        runs: records of the model's runs, the first one first.

    Raises:
        CurveError: a history cannot be read, is empty, or goes on after the end of its run.
    """
    ends = [*accumulate(int(run.get("pairs_seen", 0)) for run in runs)]
    directions = (None, f"{runs[-1].get('source_language')}-{runs[-1].get('target_language')}")
    points = [
        Point(number, [0, *ends][number - 1] + event.pairs_seen, event.bleu, event.chrf)
        for number, path in sorted(histories)
        for event in _read(path, number, runs)
        if event.bleu is not None and event.chrf is not None and event.direction in directions
    ]
    return {"run_ends": ends, "points": [asdict(point) for point in points]}


def _read(path: Path, number: int, runs: Sequence[Mapping[str, Any]]) -> list[Event]:
    try:
        events = read_events(path)
    except (OSError, ValueError, TypeError) as error:
        raise CurveError(f"{path} is no history of a run: {error}") from error
    if not events:
        raise CurveError(f"{path} has no events")
    pairs_seen = runs[number - 1].get("pairs_seen") or 0 if 0 < number <= len(runs) else 0
    if events[-1].pairs_seen > pairs_seen:
        raise CurveError(f"{path} ends after {events[-1].pairs_seen} pairs, run {number} after {pairs_seen}")
    return events
