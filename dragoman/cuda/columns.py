"""Columns of the arrays that kernels and the engine share."""

from enum import IntEnum


class Fact(IntEnum):
    """Fact about a source, int32."""

    LENGTH = 0
    """Tokens so far."""
    MOST = 1
    LEAST = 2
    NUM_FORCED = 3
    CAN_REPLACE = 4
    """Whether bytes may spell U+FFFD."""
    STOPS_EARLY = 5
    STATUS = 6
    SOURCE_LENGTH = 7
    NUM_FINISHED = 8
    """Number of times that a hypothesis was kept as finished."""
    WANTS_ATTENTION = 9
    """Whether its attention is kept."""


class RowFact(IntEnum):
    """Fact about a hypothesis, int32."""

    LAST = 0
    """The token that it reads next."""
    UTF8 = 1
    """State of its bytes."""
    CACHE = 2
    """Row of the caches that it writes."""


class FinishedFact(IntEnum):
    """Fact about a finished hypothesis, int32."""

    PARENT = 0
    """Rank of the hypothesis that its last token extends."""
    NUM_TOKENS = 1
    LAST = 2
    ORDER = 3
    """Number of those that were kept before it; -1 for none."""


class SourceStatus(IntEnum):
    """SourceStatus of a source; one that is done keeps its state until it leaves."""

    RUNNING = 0
    DONE = 1
    FAULTY = 2
