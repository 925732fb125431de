"""API keys: their form, what is kept of them, and how one that is presented is compared.

A key reads `drg_<id>_<secret>`: 8 hexadecimal digits that name it everywhere, and 43 characters of URL-safe
base64 that are the 256 bits only its holder has.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from service.accounts.errors import KeyInvalid

SECRET_SIZE_BYTES = 32
ID_SIZE_BYTES = 4
MAX_NAME_CHARACTERS = 200
MAX_COUNT = 2**53 - 1
"""Largest limit: exact in JSON's numbers."""
DECOY_SHA256 = bytes(32)
"""What the secret of a key that is not there is compared with. No text is known whose hash it is."""

# DeepL's clients tell their free host by keys that end in `:fx`.
_FORM = re.compile(r"drg_(?P<id>[0-9a-f]{8})_(?P<secret>[A-Za-z0-9_-]{43})(?::fx)?", re.ASCII)


class Scope(StrEnum):
    """What a key is for. Its own usage may be read with any key."""

    TRANSLATE = "translate"
    """Texts: translating, detecting languages, scoring, aligning."""
    DOCUMENTS = "documents"
    """Whole files."""
    GLOSSARIES = "glossaries"
    """Making, listing and deleting the key's own glossaries."""
    ADMIN = "admin"
    """The server itself: its metrics, and having it look for new models."""


DEFAULT_SCOPES = frozenset({Scope.TRANSLATE, Scope.DOCUMENTS, Scope.GLOSSARIES})


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """How much a key may be used."""

    characters_per_month: int | None = None
    """In a calendar month, UTC; None for no limit."""
    requests_per_minute: int | None = None
    """In any 60 seconds; None for the server's own limit."""

    def __post_init__(self) -> None:
        for name, least in (("characters_per_month", 0), ("requests_per_minute", 1)):
            limit = getattr(self, name)
            if limit is not None and not least <= limit <= MAX_COUNT:
                raise KeyInvalid(name, f"{limit} is not between {least} and {MAX_COUNT}")


NO_LIMITS = KeyLimits()


def month_of(now: datetime) -> str:
    """The month whose limit counts: as in 2026-11, UTC."""
    return now.astimezone(UTC).strftime("%Y-%m")


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key. The key itself cannot be had from it."""

    id: str
    name: str
    secret_sha256: bytes = field(repr=False)
    """uint8 [32]: SHA-256 of the secret part as text."""
    scopes: frozenset[Scope]
    limits: KeyLimits
    created_at: datetime
    expires_at: datetime | None = None
    """UTC, as all times; from then on it is refused. None for never."""
    revoked_at: datetime | None = None

    def is_valid_at(self, now: datetime) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= now
        return not is_expired and self.revoked_at is None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key as it is shown to the one who made it, this once."""

    key: Key
    presented: str = field(repr=False)
    """The key itself, as its holder will present it."""


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A key as it came with a request."""

    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """What a new key shall be like."""

    name: str
    """For people: whose key it is, or what for."""
    scopes: frozenset[Scope] = DEFAULT_SCOPES
    limits: KeyLimits = NO_LIMITS
    expires_at: datetime | None = None

    def check(self, now: datetime) -> None:
        """Raises KeyInvalid if no key may be like this."""
        if not self.name.strip() or len(self.name) > MAX_NAME_CHARACTERS or not self.name.isprintable():
            raise KeyInvalid(
                "name", f"must be 1 to {MAX_NAME_CHARACTERS} printable characters, and not of spaces alone"
            )
        if not self.scopes:
            raise KeyInvalid("scopes", f"must be one or more of {', '.join(Scope)}")
        if self.expires_at is not None and self.expires_at <= now:
            raise KeyInvalid("expires", f"{self.expires_at.isoformat()} is not in the future")


def make_key(wishes: KeyOptions, now: datetime) -> NewKey:
    """A key that nobody has had before, of 256 random bits.

    Raises:
        KeyInvalid: naming the field.
    """
    wishes.check(now)
    key_id, secret = secrets.token_hex(ID_SIZE_BYTES), secrets.token_urlsafe(SECRET_SIZE_BYTES)
    key = Key(key_id, wishes.name, _sha256(secret), wishes.scopes, wishes.limits, now, wishes.expires_at)
    return NewKey(key, f"drg_{key_id}_{secret}")


def parse_key(presented: str) -> PresentedKey | None:
    """The parts of a key; None for what does not have the form of one."""
    form = _FORM.fullmatch(presented)
    return PresentedKey(form["id"], form["secret"]) if form else None


def is_secret_of(presented: PresentedKey, key: Key | None) -> bool:
    """Whether a secret is the key's. It takes as long for a key that is not there, and whatever is wrong."""
    expected = DECOY_SHA256 if key is None else key.secret_sha256
    return hmac.compare_digest(_sha256(presented.secret), expected) and key is not None


def _sha256(secret: str) -> bytes:
    # One round and no salt: guessing among 2 ** 256 is out of reach at any speed. NIST SP 800-63B, 5.1.2.2,
    # wants slow, salted hashes only of looked-up secrets with less than 112 bits of entropy.
    return hashlib.sha256(secret.encode("ascii")).digest()
