"""Errors about glossaries. No message quotes an entry."""

from service.errors import ErrorKind, FieldInvalid, NotStored, ServiceError


class UnknownGlossary(NotStored):
    """The caller has no such glossary."""

    NOUN = "glossary"


class UnknownDictionary(ServiceError):  # noqa: N818 -- clear without the suffix, like those below
    """The glossary has no entries for the language pair."""

    MESSAGE = "the glossary has no entries for {pair}; it has {known}"
    kind = ErrorKind.NOT_FOUND
    pair: str
    known: str


class TooManyGlossaries(ServiceError):  # noqa: N818 -- as above
    """The caller has the maximum number already."""

    MESSAGE = "the limit of {limit} glossaries per key is reached; delete one first"
    kind = ErrorKind.INVALID_INPUT
    limit: int


class GlossaryInvalid(FieldInvalid):
    """A glossary that cannot be used. The problem gives the line or the position of an entry."""
