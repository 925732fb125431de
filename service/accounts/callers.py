"""Who makes a request."""

from dataclasses import dataclass

from service.accounts.errors import ScopeMissing
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, Key, KeyLimits, Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """One who may make requests, and what for."""

    key_id: str | None
    """None for those who come without a key."""
    name: str
    scopes: frozenset[Scope]
    limits: KeyLimits

    def require(self, scope: Scope) -> None:
        """Raises ScopeMissing if the caller may not do this."""
        if scope not in self.scopes:
            raise ScopeMissing(scope)


ANYONE = Caller(key_id=None, name="anyone", scopes=DEFAULT_SCOPES, limits=NO_LIMITS)
"""Every caller without a key, of a server that requires none. Only a key opens what is the operator's."""


def caller_with(key: Key) -> Caller:
    return Caller(key.id, key.name, key.scopes, key.limits)
