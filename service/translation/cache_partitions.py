"""Who shares the engine's memory of known segments."""

from enum import Enum


class CachePartitioning(Enum):
    """Which callers find each other's known segments.

    A known segment is answered sooner than a new one: whoever shares the memory can tell from the time of an
    answer what others had translated.
    """

    SHARED = "shared"
    PER_KEY = "per_key"
    OFF = "off"
    """No segment is remembered, not even for the same caller."""

    def partition_of(self, key_id: str | None) -> str:
        """Return the partition of a caller, whom the engine knows by nothing else.

        Args:
            key_id: the caller's key; all callers without one have one partition.
        """
        return key_id or "" if self is CachePartitioning.PER_KEY else ""
