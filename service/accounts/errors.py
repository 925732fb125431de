"""Everything accounts raise on purpose.

AccountsError
├─ KeyRefused             the caller needs another key
│  ├─ MissingKey          none was presented, and the server requires one
│  ├─ UnknownKey          there is no such key, or it has expired or was revoked
│  └─ ScopeMissing        the key is not for this
├─ QuotaExceeded          the key's characters of this month are used up
├─ RateLimited            too many requests in too short a time
├─ GlossaryError
│  ├─ UnknownGlossary     the caller has no such glossary
│  ├─ GlossaryInvalid     names the field, the limit and what to do
│  └─ TooManyGlossaries   the caller has as many as one may have
├─ KeyInvalid             a key cannot be made or revoked like this: names the field
├─ RatesInvalid           a setting of rates cannot be used
└─ StoreError             the operator must fix it: names the database and the cause
   ├─ DatabaseUrlInvalid  the setting cannot be used
   ├─ SchemaUnknown       another version of this program made the tables
   └─ NoDatabase          what was asked for needs one, and none is set
"""

from dataclasses import dataclass


class AccountsError(Exception):
    """Root of the tree. No message, and no `repr`, holds a key or a password."""


class KeyRefused(AccountsError):  # noqa: N818 -- says it without the suffix, as do those below
    """The caller needs another key."""


@dataclass(eq=False)
class MissingKey(KeyRefused):
    """No key was presented."""

    def __str__(self) -> str:
        return "a key is required; ask the server's operator for one"


@dataclass(eq=False)
class UnknownKey(KeyRefused):
    """What was presented is no key of this server. Whether it ever was one is told to nobody but the log."""

    def __str__(self) -> str:
        return "the key is not valid; ask the server's operator for another"


@dataclass(eq=False)
class ScopeMissing(KeyRefused):
    """The caller is known, and may not do this."""

    scope: str

    def __str__(self) -> str:
        return f"the key has no scope `{self.scope}`; ask the server's operator for one that has it"


@dataclass(eq=False)
class QuotaExceeded(AccountsError):  # noqa: N818 -- as above
    """A charge would pass the month's limit; nothing of it was counted."""

    limit: int
    """Characters a month."""
    used: int
    """Characters of this month before the charge."""
    asked: int
    """Characters of the charge."""
    month: str
    """As in 2026-11, UTC."""

    def __str__(self) -> str:
        return (
            f"{self.asked} characters are asked for, and {self.used} of {self.limit} are used in "
            f"{self.month} (UTC); send less, or wait for the next month"
        )


@dataclass(eq=False)
class RateLimited(AccountsError):  # noqa: N818 -- as above
    """Too many requests in too short a time; this one was not counted by the limit that refused it."""

    limit: str
    """As in `20 per 1 minute`."""
    retry_after_s: int
    """Seconds after which a request may pass, rounded up; 1 or more."""

    def __str__(self) -> str:
        return f"more than {self.limit}; try again in {self.retry_after_s} s"


class GlossaryError(AccountsError):
    """Something about glossaries."""


@dataclass(eq=False)
class UnknownGlossary(GlossaryError):  # noqa: N818 -- as above
    """The caller has no such glossary; whether anybody else has is not told."""

    glossary_id: str

    def __str__(self) -> str:
        return f"there is no glossary {self.glossary_id[:64]!r}"


@dataclass(eq=False)
class GlossaryInvalid(GlossaryError):  # noqa: N818 -- as above
    """A glossary cannot be made of this. The message quotes nothing of it but the places of its entries."""

    field: str
    """`name`, `source`, `target` or `entries`."""
    problem: str
    """What is wrong, where, the limit, and what to do."""

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"


@dataclass(eq=False)
class TooManyGlossaries(GlossaryError):  # noqa: N818 -- as above
    """The caller has as many as one may have."""

    limit: int

    def __str__(self) -> str:
        return (
            f"there are {self.limit} glossaries already, which is the most a key may have; delete one first"
        )


@dataclass(eq=False)
class KeyInvalid(AccountsError):  # noqa: N818 -- as above
    """A key cannot be made or revoked like this."""

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
    """The database cannot be used, or not now. What was asked of it was not done."""

    database: str
    """Its file, or its URL without the password."""
    cause: str

    def __str__(self) -> str:
        return f"database {self.database}: {self.cause}"


class DatabaseUrlInvalid(StoreError):  # noqa: N818 -- as above
    """The setting cannot be used."""


class SchemaUnknown(StoreError):  # noqa: N818 -- as above
    """Another version of this program made the tables."""


class NoDatabase(StoreError):  # noqa: N818 -- as above
    """What was asked for needs a database, and none is set."""
