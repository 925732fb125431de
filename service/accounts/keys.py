"""API keys: their form, what is stored of them, and how a presented key is compared.

A key has the form `drg_<id>_<secret>`: the id is 8 hexadecimal digits that identify it everywhere; the secret
is 43 characters of URL-safe base64, the 256 bits that only its holder has.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from service.accounts.errors import KeyInvalid, ScopeMissing

SECRET_SIZE_BYTES = 32
ID_SIZE_BYTES = 4
MAX_NAME_CHARACTERS = 200
MAX_COUNT = 2**53 - 1
"""Largest limit that a JSON number represents exactly."""
DECOY_SHA256 = bytes(32)
"""Hash to compare with where there is no such key. No text is known to have it."""

# DeepL's clients choose the host of DeepL's free API for keys that end in `:fx`.
_FORM = re.compile(r"drg_(?P<id>[0-9a-f]{8})_(?P<secret>[A-Za-z0-9_-]{43})(?::fx)?", re.ASCII)


class Scope(StrEnum):
    """Permissions of a key. Every key may read its own usage."""

    TRANSLATE = "translate"
    """Texts: translate, detect languages, score, align."""
    DOCUMENTS = "documents"
    """Whole files."""
    GLOSSARIES = "glossaries"
    """The key's own glossaries: create, list, delete."""
    ADMIN = "admin"
    """The server itself: read metrics, reload, download and remove models."""


DEFAULT_SCOPES = frozenset({Scope.TRANSLATE, Scope.DOCUMENTS, Scope.GLOSSARIES})


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """Quota and rate limit of a key."""

    characters_per_month: int | None = None
    """Maximum characters in a calendar month, UTC; None for no limit."""
    requests_per_minute: int | None = None
    """Maximum requests in any 60 seconds; None for the server's limit."""

    def __post_init__(self) -> None:
        for name, least in (("characters_per_month", 0), ("requests_per_minute", 1)):
            limit = getattr(self, name)
            if limit is not None and not least <= limit <= MAX_COUNT:
                raise KeyInvalid(name, f"{limit} is not between {least} and {MAX_COUNT}")


NO_LIMITS = KeyLimits()


def month_of(now: datetime) -> str:
    """Return the month in UTC to which usage counts, such as 2026-11."""
    return now.astimezone(UTC).strftime("%Y-%m")


@dataclass(frozen=True, slots=True)
class Key:
    """The stored data of a key, from which the key itself cannot be derived."""

    id: str
    name: str
    secret_sha256: bytes = field(repr=False)
    """uint8 [32]: SHA-256 of the secret part as text."""
    scopes: frozenset[Scope]
    limits: KeyLimits
    created_at: datetime
    expires_at: datetime | None = None
    """Time, in UTC like all times, from which the key is rejected; None for never."""
    revoked_at: datetime | None = None

    def is_valid_at(self, now: datetime) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= now
        return not is_expired and self.revoked_at is None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key, as it is shown once to its creator."""

    key: Key
    presented: str = field(repr=False)
    """The key as its holder will present it."""


@dataclass(frozen=True, slots=True)
class ParsedKey:
    """A key as a request presents it."""

    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """Options of a new key."""

    name: str
    """Owner or purpose of the key, for people."""
    scopes: frozenset[Scope] = DEFAULT_SCOPES
    limits: KeyLimits = NO_LIMITS
    expires_at: datetime | None = None

    def check(self, now: datetime) -> None:
        """Check the options. Raises KeyInvalid."""
        if not self.name.strip() or len(self.name) > MAX_NAME_CHARACTERS or not self.name.isprintable():
            raise KeyInvalid(
                "name", f"must be 1 to {MAX_NAME_CHARACTERS} printable characters, and not only spaces"
            )
        if not self.scopes:
            raise KeyInvalid("scopes", f"must be one or more of {', '.join(Scope)}")
        if self.expires_at is not None and self.expires_at <= now:
            raise KeyInvalid("expires", f"{self.expires_at.isoformat()} is not in the future")


def make_key(options: KeyOptions, now: datetime) -> NewKey:
    """Create a key with a secret of 256 random bits.

    Raises:
        KeyInvalid: an option cannot be used; the error names the field.
    """
    options.check(now)
    key_id, secret = secrets.token_hex(ID_SIZE_BYTES), secrets.token_urlsafe(SECRET_SIZE_BYTES)
    key = Key(key_id, options.name, _sha256(secret), options.scopes, options.limits, now, options.expires_at)
    return NewKey(key, f"drg_{key_id}_{secret}")


def parse_key(presented: str) -> ParsedKey | None:
    """Split a key into its parts; return None for text without the form of a key."""
    form = _FORM.fullmatch(presented)
    return ParsedKey(form["id"], form["secret"]) if form else None


def is_secret_of(presented: ParsedKey, key: Key | None) -> bool:
    """Return whether a secret is the key's, in the same time whatever is wrong, even if there is no key."""
    expected = DECOY_SHA256 if key is None else key.secret_sha256
    return hmac.compare_digest(_sha256(presented.secret), expected) and key is not None


def _sha256(secret: str) -> bytes:
    # One round without salt is enough: nobody can guess one of 2 ** 256 secrets. NIST SP 800-63B, 5.1.2.2,
    # requires slow, salted hashes only of look-up secrets with less than 112 bits of entropy.
    return hashlib.sha256(secret.encode("ascii")).digest()


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, with scopes and limits."""

    key_id: str | None
    """Id of the caller's key; None without a key."""
    name: str
    scopes: frozenset[Scope]
    limits: KeyLimits
    client: str = ""
    """Client that has a share of what all share: the key, or an address without one."""

    def require(self, scope: Scope) -> None:
        """Raise ScopeMissing if the caller does not have this scope."""
        if scope not in self.scopes:
            raise ScopeMissing(scope)


ANONYMOUS = Caller(key_id=None, name="anyone", scopes=DEFAULT_SCOPES, limits=NO_LIMITS)
"""Every caller without a key, on a server that requires none; it does not have the scope `admin`."""


def caller_from_key(key: Key) -> Caller:
    return Caller(key.id, key.name, key.scopes, key.limits)
