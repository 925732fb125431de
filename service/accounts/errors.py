"""Errors that accounts raise on purpose; `service/errors.py` has the tree of all errors."""

from collections.abc import Mapping

from service.errors import ErrorKind, FieldInvalid, ServiceError

BEARER_CHALLENGE: Mapping[str, str] = {"WWW-Authenticate": "Bearer"}


class AccountsError(ServiceError):
    """Base class. No message and no `repr` contains a key or a password."""


class KeyRejected(AccountsError):  # noqa: N818 -- clear without the suffix, like those below
    """The caller needs another key."""

    kind = ErrorKind.UNAUTHENTICATED
    headers = BEARER_CHALLENGE


class MissingKey(KeyRejected):
    """No key was presented."""

    MESSAGE = "a key is required; ask the server's operator for one"


class UnknownKey(KeyRejected):
    """The key is not valid on this server. Only the log says whether it has expired or was revoked."""

    MESSAGE = "the key is not valid; ask the server's operator for another"


class ScopeMissing(AccountsError):  # noqa: N818 -- as above
    """The caller is known, but its key does not have the scope that the request needs."""

    MESSAGE = "the key has no scope `{scope}`; ask the server's operator for one that has it"
    kind = ErrorKind.FORBIDDEN
    scope: str


class QuotaExceeded(AccountsError):  # noqa: N818 -- as above
    """A charge would exceed the month's limit; none of it was counted."""

    MESSAGE = (
        "{requested} more characters exceed the limit of {limit} in {month} (UTC), of which {used} are used; "
        "send less, or wait for the next month"
    )
    kind = ErrorKind.QUOTA_EXCEEDED
    limit: int
    """Maximum characters per month."""
    used: int
    """Characters used this month before the charge."""
    requested: int
    """Characters of the charge."""
    month: str
    """Month in UTC, such as 2026-11."""


class RateLimited(AccountsError):  # noqa: N818 -- as above
    """Too many requests in too short a time; the limit that rejected this one did not count it."""

    MESSAGE = "the limit of {limit} is exceeded; try again in {retry_after_s} s"
    limit: str
    """The limit, such as `20 per 1 minute`."""
    retry_after_s: int
    """Seconds after which to retry, rounded up; 1 or more."""


class KeyInvalid(FieldInvalid, AccountsError):  # noqa: N818 -- as above
    """A key cannot be created or revoked with these values."""


class RatesInvalid(FieldInvalid, AccountsError):  # noqa: N818 -- as above
    """A setting of rates, `rate_limit` or `rate_storage_url`, cannot be used."""


class StoreError(AccountsError):
    """The database cannot be used, at present or at all. The operation was not carried out."""

    MESSAGE = "database {database}: {cause}"
    database: str
    """File of the database, or its URL without the password."""
    cause: str


class DatabaseUrlInvalid(StoreError):  # noqa: N818 -- as above
    """The setting cannot be used."""


class SchemaUnknown(StoreError):  # noqa: N818 -- as above
    """Another version of this program created the tables."""


class NoDatabase(StoreError):  # noqa: N818 -- as above
    """The operation needs a database, and none is set."""
