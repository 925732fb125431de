"""Errors of the service in one shape: fields, a message made of them, and what a client sees of it.

All of them, each with the kind that a client sees. `-`: the server failed, `http/errors.py` chooses, or no
client of the server sees it:

    ServiceError                      -
        FieldInvalid                  invalid_input
            KeyInvalid                invalid_input
            RatesInvalid              invalid_input
            GlossaryInvalid           invalid_input
            MemoryInvalid             invalid_input
            TextsTooLong              too_large
        NotStored                     not_found
            UnknownGlossary           not_found
            UnknownMemory             not_found
            UnknownPair               not_found
        AccountsError                 -
            KeyRejected               unauthenticated
                MissingKey            unauthenticated
                UnknownKey            unauthenticated
            ScopeMissing              forbidden
            QuotaExceeded             quota_exceeded
            RateLimited               -
            StoreError                -
                DatabaseUrlInvalid    -
                SchemaUnknown         -
                NoDatabase            -
        UnknownDictionary             not_found
        TooManyGlossaries             invalid_input
        TooManyMemories               invalid_input
        ModelError                    -
        FileFormatError               -
            FileLimitError            -
        FileUnreadable                store_unavailable
        BatchError                    -
            BatchRejected             -
                OtherJob              -
                JournalDamaged        -
                InputProblem          -
                InputChanged          -
                OutputProblem         -
                OutputBusy            -
                ClusterMissing        -
                EngineDiffers         -
            BatchStopped              -
                JobCancelled          -
                ReadingStopped        -
                JournalFailed         -
                OutputFailed          -
                ClusterFailed         -
                PartitionDamaged      -
        JobError                      not_found
            UnknownJob                not_found
            UnknownDocument           not_found
            DocumentNotReady          not_ready
            NoResult                  not_found
            FilesUnavailable          store_unavailable
            FileRejected              not_found
            TooManyJobs               overloaded
            JobsFull                  no_room
            TooManyBytes              quota_exceeded
            JobUnreadable             not_found
            LeaseLost                 not_found
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self, dataclass_transform

RETRY_AFTER: Mapping[str, str] = {"Retry-After": "2"}
SERVER_FAILED = "the server failed; its log says where"


class ErrorKind(StrEnum):
    """Kind of error, for programs."""

    status: int
    """HTTP status of Dragoman's own API."""
    reason: str
    """Explanation for the documentation of a route."""

    def __new__(cls, value: str, status: int, reason: str) -> Self:
        kind = str.__new__(cls, value)
        kind._value_, kind.status, kind.reason = value, status, reason
        return kind

    MALFORMED = "malformed_request", 400, "The body or the URL cannot be parsed"
    UNAUTHENTICATED = (
        "unauthenticated",
        401,
        "The server requires an API key and there is none, or the key is not valid",
    )
    FORBIDDEN = "forbidden", 403, "The API key lacks the scope, or the server has disabled the feature"
    NOT_FOUND = "not_found", 404, "It does not exist, or no longer"
    METHOD_NOT_ALLOWED = "method_not_allowed", 405, "The route has no such method"
    CLIENT_TIMEOUT = "client_timeout", 408, "The body arrived too slowly"
    CONFLICT = "conflict", 409, "The job has not ended, or the model exists or is being changed"
    TOO_LARGE = (
        "too_large",
        413,
        "The body, the number of texts or the number of characters exceeds a limit",
    )
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type", 415, "The media type is not supported"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable", 416, "The file has none of the requested bytes"
    INVALID_INPUT = (
        "invalid_input",
        422,
        (
            "A field is unknown or invalid, the language pair is not served, or a text or file cannot be "
            "translated"
        ),
    )
    RATE_LIMITED = "rate_limited", 429, "Too many requests; `Retry-After` says when to retry"
    QUOTA_EXCEEDED = (
        "quota_exceeded",
        429,
        "The API key's characters of this month, or its stored bytes, are used up",
    )
    OVERLOADED = (
        "overloaded",
        429,
        "The queue is full, or the client has too much in progress; `Retry-After` says when to retry",
    )
    INTERNAL = "internal", 500, "The server failed, or a model cannot be loaded"
    NO_ROOM = "no_room", 503, "Memory or disk is full; `Retry-After` says when to retry"
    STORE_UNAVAILABLE = (
        "store_unavailable",
        503,
        "The database, the file storage or the index of models is not available",
    )
    NOT_READY = "not_ready", 503, "The server is starting or stopping"
    TIMEOUT = "timeout", 504, "The translation exceeded the server's time limit"


@dataclass_transform(eq_default=False)
class ServiceError(Exception):
    """Base class; each subclass is a dataclass without a decorator of its own."""

    MESSAGE: ClassVar[str] = ""
    """Text for people, with the names of fields in braces."""
    kind: ClassVar[ErrorKind | None] = None
    """Kind of error for clients; None if the server failed."""
    headers: ClassVar[Mapping[str, str]] = {}
    """Headers of the response."""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False)(cls)

    def __str__(self) -> str:
        return self.MESSAGE.format_map(vars(self))


class FieldInvalid(ServiceError):  # noqa: N818 -- clear without the suffix, like those below
    """A value cannot be used."""

    MESSAGE = "{field}: {problem}"
    kind = ErrorKind.INVALID_INPUT
    field: str
    problem: str
    """The problem, its position, the limit, and what to do."""


class NotStored(ServiceError):  # noqa: N818 -- as above
    """The caller has stored nothing with this id. The error does not reveal whether another caller has."""

    NOUN: ClassVar[str]
    kind = ErrorKind.NOT_FOUND
    id: str

    def __str__(self) -> str:
        return f"{self.NOUN} {self.id[:64]!r} not found"
