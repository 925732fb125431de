"""Segments that were translated lately, so that the same one is not searched for again.

A source's hypotheses depend on nothing but the source and the wishes for its search, so what was found once
would be found again, to the last bit; what was drawn at random, too, with the same seed.

A known segment is answered sooner than a new one, so the time of an answer tells whether somebody has asked
for the same before. Partitions keep this from callers who must not learn it: each finds only its own.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields

from dragoman.decoding.strategy import Source
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics
from dragoman.scheduling.replica import Outcome
from dragoman.types import Hypothesis, SearchKind

_FIELDS = tuple(field.name for field in fields(Source) if field.name != "ids")


class SegmentCache:
    """The hypotheses of the last `max_segments` sources asked for, in all partitions together.

    Safe to use from several threads.
    """

    def __init__(self, max_segments: int, engine_metrics: EngineMetrics = NO_METRICS) -> None:
        """0 recalls nothing."""
        self._max_segments = max_segments
        self._engine_metrics = engine_metrics
        self._found: OrderedDict[Hashable, tuple[Hypothesis, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._found)

    def find(self, source: Source, kind: SearchKind, partition: str = "") -> list[Hypothesis] | None:
        """The hypotheses of an equal source, best first; None if its partition did not ask for it lately."""
        if not self._max_segments:
            return None
        key = _key(source, kind, partition)
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
        if found is None:
            return None
        self._engine_metrics.found_in_cache()
        return list(found)

    def keeping(
        self, source: Source, kind: SearchKind, tell: Callable[[Outcome], None], partition: str = ""
    ) -> Callable[[Outcome], None]:
        """A receiver of a source's outcome that remembers hypotheses before it calls `tell`."""
        if not self._max_segments or _is_drawn_anew(source):
            return tell

        def keep_and_tell(outcome: Outcome) -> None:
            if not isinstance(outcome, Exception):
                self._keep(_key(source, kind, partition), outcome)
            tell(outcome)

        return keep_and_tell

    def _keep(self, key: Hashable, hypotheses: list[Hypothesis]) -> None:
        """What was not asked for longest is forgotten."""
        with self._lock:
            self._found[key] = tuple(hypotheses)
            self._found.move_to_end(key)
            if len(self._found) > self._max_segments:
                self._found.popitem(last=False)


def _key(source: Source, kind: SearchKind, partition: str) -> Hashable:
    """Who may find a source, and all that its hypotheses depend on: every field that it has."""
    return (partition, kind, tuple(source.ids), *(getattr(source, name) for name in _FIELDS))


def _is_drawn_anew(source: Source) -> bool:
    """Whether its seed is one that nobody will ask for again."""
    return source.sampling is not None and source.sampling.seed is None
