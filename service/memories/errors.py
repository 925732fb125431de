"""Errors about translation memories."""

from dataclasses import dataclass

from service.message_template import MessageTemplate


class TranslationMemoryError(MessageTemplate, Exception):
    """Base class of errors about translation memories. No message quotes a text of a memory."""


@dataclass(eq=False)
class UnknownMemory(TranslationMemoryError):  # noqa: N818 -- the name is clear without the suffix
    """The caller has no such memory. The error does not reveal whether another caller has."""

    memory_id: str

    def __str__(self) -> str:
        return f"memory {self.memory_id[:64]!r} not found"


@dataclass(eq=False)
class UnknownPair(TranslationMemoryError):  # noqa: N818 -- as above
    """The memory has no such pair."""

    pair_id: str

    def __str__(self) -> str:
        return f"pair {self.pair_id[:64]!r} not found"


@dataclass(eq=False)
class TooManyMemories(TranslationMemoryError):  # noqa: N818 -- as above
    """The caller has the maximum number already."""

    MESSAGE = "the limit of {limit} memories per key is reached; delete one first"
    limit: int


@dataclass(eq=False)
class MemoryInvalid(TranslationMemoryError):  # noqa: N818 -- as above
    """A memory, or a field about one, that cannot be used. The problem gives the position of a pair."""

    MESSAGE = "{field}: {problem}"
    field: str
    problem: str
    """The problem, its position, the limit, and what to do."""
