"""The caller of a request."""

from dataclasses import dataclass

from service.accounts.errors import ScopeMissing
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, Key, KeyLimits, Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, with scopes and limits."""

    key_id: str | None
    """Id of the caller's key; None without a key."""
    name: str
    scopes: frozenset[Scope]
    limits: KeyLimits

    def require(self, scope: Scope) -> None:
        """Raise ScopeMissing if the caller does not have this scope."""
        if scope not in self.scopes:
            raise ScopeMissing(scope)


ANONYMOUS = Caller(key_id=None, name="anyone", scopes=DEFAULT_SCOPES, limits=NO_LIMITS)
"""Every caller without a key, on a server that requires none; it does not have the scope `admin`."""


def caller_from_key(key: Key) -> Caller:
    return Caller(key.id, key.name, key.scopes, key.limits)
