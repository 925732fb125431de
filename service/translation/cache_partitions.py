"""Partition the engine's segment cache by caller."""

from enum import Enum


class CachePartitioning(Enum):
    """Callers that share cached segments.

    A cached segment is answered sooner than a new one: response times show a caller what others who share the
    cache have translated.
    """

    SHARED = "shared"
    PER_KEY = "per_key"
    OFF = "off"
    """No segment is cached, not even for the same caller."""

    def partition_of(self, key_id: str | None) -> str:
        """Return the partition of a caller; the engine knows nothing else about callers.

        Args:
            key_id: the caller's key; all callers without one have one partition.
        """
        return key_id or "" if self is CachePartitioning.PER_KEY else ""
