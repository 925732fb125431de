"""Errors about glossaries."""

from dataclasses import dataclass

from service.message_template import MessageTemplate


class GlossaryError(MessageTemplate, Exception):
    """Base class of errors about glossaries. No message quotes an entry."""


@dataclass(eq=False)
class UnknownGlossary(GlossaryError):  # noqa: N818 -- the name is clear without the suffix
    """The caller has no such glossary. The error does not reveal whether another caller has."""

    glossary_id: str

    def __str__(self) -> str:
        return f"glossary {self.glossary_id[:64]!r} not found"


@dataclass(eq=False)
class UnknownDictionary(GlossaryError):  # noqa: N818 -- as above
    """The glossary has no entries for the language pair."""

    MESSAGE = "the glossary has no entries for {pair}; it has {known}"
    pair: str
    known: str


@dataclass(eq=False)
class TooManyGlossaries(GlossaryError):  # noqa: N818 -- as above
    """The caller has the maximum number already."""

    MESSAGE = "the limit of {limit} glossaries per key is reached; delete one first"
    limit: int


@dataclass(eq=False)
class GlossaryInvalid(GlossaryError):  # noqa: N818 -- as above
    """A glossary that cannot be used. The problem gives the line or the position of an entry."""

    MESSAGE = "{field}: {problem}"
    field: str
    problem: str
    """The problem, its position, the limit, and what to do."""
