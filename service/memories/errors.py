"""Errors about translation memories. No message quotes a text of a memory."""

from service.errors import ErrorKind, FieldInvalid, NotStored, ServiceError


class UnknownMemory(NotStored):
    """The caller has no such memory."""

    NOUN = "memory"


class UnknownPair(NotStored):
    """The memory has no such pair."""

    NOUN = "pair"


class TooManyMemories(ServiceError):  # noqa: N818 -- clear without the suffix
    """The caller has the maximum number already."""

    MESSAGE = "the limit of {limit} memories per key is reached; delete one first"
    kind = ErrorKind.INVALID_INPUT
    limit: int


class MemoryInvalid(FieldInvalid):
    """A memory, or a field about one, that cannot be used. The problem gives the position of a pair."""
