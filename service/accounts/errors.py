"""Errors that accounts raise on purpose.

AccountsError
├─ KeyRejected             the caller needs another key
│  ├─ MissingKey          no key was presented, and the server requires one
│  ├─ UnknownKey          there is no such key, or it has expired or was revoked
│  └─ ScopeMissing        the key does not have the scope that the request needs
├─ QuotaExceeded          the key has used up its characters of this month
├─ RateLimited            too many requests in too short a time
├─ GlossaryError
│  ├─ UnknownGlossary     the caller has no such glossary
│  ├─ GlossaryInvalid     names the field, the limit and what to do
│  └─ TooManyGlossaries   the caller has the maximum number already
├─ KeyInvalid             a key cannot be created or revoked; names the field
├─ RatesInvalid           a setting of rates cannot be used
└─ StoreError             the operator must fix it; names the database and the cause
   ├─ DatabaseUrlInvalid  the setting cannot be used
   ├─ SchemaUnknown       another version of this program created the tables
   └─ NoDatabase          the operation needs a database, and none is set
"""

from dataclasses import dataclass


class AccountsError(Exception):
    """Base class. No message and no `repr` contains a key or a password."""


class KeyRejected(AccountsError):  # noqa: N818 -- the name is clear without the suffix
    """The caller needs another key."""


@dataclass(eq=False)
class MissingKey(KeyRejected):
    """No key was presented."""

    def __str__(self) -> str:
        return "a key is required; ask the server's operator for one"


@dataclass(eq=False)
class UnknownKey(KeyRejected):
    """The key is not valid on this server. Only the log says whether it has expired or was revoked."""

    def __str__(self) -> str:
        return "the key is not valid; ask the server's operator for another"


@dataclass(eq=False)
class ScopeMissing(KeyRejected):
    """The caller is known, but its key does not have the scope that the request needs."""

    scope: str

    def __str__(self) -> str:
        return f"the key has no scope `{self.scope}`; ask the server's operator for one that has it"


@dataclass(eq=False)
class QuotaExceeded(AccountsError):  # noqa: N818 -- as above
    """A charge would exceed the month's limit; none of it was counted."""

    limit: int
    """Maximum characters per month."""
    used: int
    """Characters used this month before the charge."""
    requested: int
    """Characters of the charge."""
    month: str
    """Month in UTC, such as 2026-11."""

    def __str__(self) -> str:
        return (
            f"{self.requested} more characters exceed the limit of {self.limit} in {self.month} (UTC), "
            f"of which {self.used} are used; send less, or wait for the next month"
        )


@dataclass(eq=False)
class RateLimited(AccountsError):  # noqa: N818 -- as above
    """Too many requests in too short a time; the limit that rejected this one did not count it."""

    limit: str
    """The limit, such as `20 per 1 minute`."""
    retry_after_s: int
    """Seconds after which to retry, rounded up; 1 or more."""

    def __str__(self) -> str:
        return f"the limit of {self.limit} is exceeded; try again in {self.retry_after_s} s"


class GlossaryError(AccountsError):
    """An error about glossaries."""


@dataclass(eq=False)
class UnknownGlossary(GlossaryError):  # noqa: N818 -- as above
    """The caller has no such glossary. The error does not reveal whether another caller has."""

    glossary_id: str

    def __str__(self) -> str:
        return f"glossary {self.glossary_id[:64]!r} not found"


@dataclass(eq=False)
class GlossaryInvalid(GlossaryError):  # noqa: N818 -- as above
    """A glossary that cannot be used. The message gives line numbers of entries, but quotes none of them."""

    field: str
    """`name`, `source`, `target` or `entries`."""
    problem: str
    """The problem, its position, the limit, and what to do."""

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"


@dataclass(eq=False)
class TooManyGlossaries(GlossaryError):  # noqa: N818 -- as above
    """The caller has the maximum number already."""

    limit: int

    def __str__(self) -> str:
        return f"the limit of {self.limit} glossaries per key is reached; delete one first"


@dataclass(eq=False)
class KeyInvalid(AccountsError):  # noqa: N818 -- as above
    """A key cannot be created or revoked with these values."""

    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"


@dataclass(eq=False)
class RatesInvalid(AccountsError):  # noqa: N818 -- as above
    """A setting of rates cannot be used."""

    field: str
    """`rate_limit` or `rate_storage_url`."""
    problem: str

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"


@dataclass(eq=False)
class StoreError(AccountsError):
    """The database cannot be used, at present or at all. The operation was not carried out."""

    database: str
    """File of the database, or its URL without the password."""
    cause: str

    def __str__(self) -> str:
        return f"database {self.database}: {self.cause}"


class DatabaseUrlInvalid(StoreError):  # noqa: N818 -- as above
    """The setting cannot be used."""


class SchemaUnknown(StoreError):  # noqa: N818 -- as above
    """Another version of this program created the tables."""


class NoDatabase(StoreError):  # noqa: N818 -- as above
    """The operation needs a database, and none is set."""
