"""Errors that accounts raise on purpose.

AccountsError
├─ KeyRejected             the caller needs another key
│  ├─ MissingKey          no key was presented, and the server requires one
│  ├─ UnknownKey          there is no such key, or it has expired or was revoked
│  └─ ScopeMissing        the key does not have the scope that the request needs
├─ QuotaExceeded          the key has used up its characters of this month
├─ RateLimited            too many requests in too short a time
├─ FieldInvalid           names the field, the limit and what to do
│  ├─ KeyInvalid          a key cannot be created or revoked
│  └─ RatesInvalid        a setting of rates cannot be used
└─ StoreError             the operator must fix it; names the database and the cause
   ├─ DatabaseUrlInvalid  the setting cannot be used
   ├─ SchemaUnknown       another version of this program created the tables
   └─ NoDatabase          the operation needs a database, and none is set
"""

from dataclasses import dataclass

from service.message_template import MessageTemplate


class AccountsError(MessageTemplate, Exception):
    """Base class. No message and no `repr` contains a key or a password."""


class KeyRejected(AccountsError):  # noqa: N818 -- the name is clear without the suffix
    """The caller needs another key."""


class MissingKey(KeyRejected):
    """No key was presented."""

    MESSAGE = "a key is required; ask the server's operator for one"


class UnknownKey(KeyRejected):
    """The key is not valid on this server. Only the log says whether it has expired or was revoked."""

    MESSAGE = "the key is not valid; ask the server's operator for another"


@dataclass(eq=False)
class ScopeMissing(KeyRejected):
    """The caller is known, but its key does not have the scope that the request needs."""

    MESSAGE = "the key has no scope `{scope}`; ask the server's operator for one that has it"
    scope: str


@dataclass(eq=False)
class QuotaExceeded(AccountsError):  # noqa: N818 -- as above
    """A charge would exceed the month's limit; none of it was counted."""

    MESSAGE = (
        "{requested} more characters exceed the limit of {limit} in {month} (UTC), of which {used} are used; "
        "send less, or wait for the next month"
    )
    limit: int
    """Maximum characters per month."""
    used: int
    """Characters used this month before the charge."""
    requested: int
    """Characters of the charge."""
    month: str
    """Month in UTC, such as 2026-11."""


@dataclass(eq=False)
class RateLimited(AccountsError):  # noqa: N818 -- as above
    """Too many requests in too short a time; the limit that rejected this one did not count it."""

    MESSAGE = "the limit of {limit} is exceeded; try again in {retry_after_s} s"
    limit: str
    """The limit, such as `20 per 1 minute`."""
    retry_after_s: int
    """Seconds after which to retry, rounded up; 1 or more."""


@dataclass(eq=False)
class FieldInvalid(AccountsError):  # noqa: N818 -- as above
    """A value cannot be used."""

    MESSAGE = "{field}: {problem}"
    field: str
    problem: str
    """The problem, its position, the limit, and what to do."""


class KeyInvalid(FieldInvalid):
    """A key cannot be created or revoked with these values."""


class RatesInvalid(FieldInvalid):
    """A setting of rates, `rate_limit` or `rate_storage_url`, cannot be used."""


@dataclass(eq=False)
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
