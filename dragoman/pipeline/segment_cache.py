"""A cache of the hypotheses of recent segments.

Hypotheses depend on nothing but the source and the options of its search, so a cached result equals a new
one to the last bit. That holds for sampling with a seed, too.

A cached segment is answered sooner than a new one, so response times reveal what was translated before.
Partitions prevent this between callers: each finds only its own segments.
"""

from collections.abc import Callable, Hashable
from dataclasses import fields

from dragoman.decoding.strategy import Source
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics
from dragoman.scheduling.segment_request import Outcome
from dragoman.types import Hypothesis, SearchKind
from dragoman.weighted_cache import WeightedCache

_FIELDS = tuple(field.name for field in fields(Source) if field.name != "ids")


class SegmentCache:
    """The hypotheses of the `max_segments` most recently used sources, in all partitions together.

    Safe to use from several threads.
    """

    def __init__(self, max_segments: int, engine_metrics: EngineMetrics = NO_METRICS) -> None:
        """Create an empty cache; a `max_segments` of 0 disables it."""
        self._max_segments = max_segments
        self._engine_metrics = engine_metrics
        self._found: WeightedCache[Hashable, tuple[Hypothesis, ...]] = WeightedCache(
            max_segments, lambda _: 1
        )

    def __len__(self) -> int:
        return len(self._found)

    def find(self, source: Source, kind: SearchKind, partition: str = "") -> list[Hypothesis] | None:
        """Return the hypotheses of an equal source, best first; None if the partition has none."""
        if not self._max_segments:
            return None
        found = self._found.find(_key(source, kind, partition))
        if found is None:
            return None
        self._engine_metrics.cache_hit()
        return list(found)

    def storing(
        self, source: Source, kind: SearchKind, on_done: Callable[[Outcome], object], partition: str = ""
    ) -> Callable[[Outcome], object]:
        """Return a receiver of a source's outcome that stores hypotheses and then calls `on_done`."""
        has_new_seed = source.sampling is not None and source.sampling.seed is None  # that no later one has
        if not self._max_segments or has_new_seed:
            return on_done

        key = _key(source, kind, partition)

        def store(outcome: Outcome) -> None:
            if not isinstance(outcome, Exception):
                self._found.add(key, tuple(outcome))
            on_done(outcome)

        return store


def _key(source: Source, kind: SearchKind, partition: str) -> Hashable:
    """Return the partition and all that hypotheses depend on: every field of the source."""
    return (partition, kind, tuple(source.ids), *(getattr(source, name) for name in _FIELDS))
