"""Choice of the bundles to close when memory is needed: pure policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from dragoman.manifest import Manifest

T = TypeVar("T")


class OpenBundle(Protocol):
    """An open bundle in the pool."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def is_closed(self) -> bool:
        """Return whether it is unusable: it may have closed itself after an error."""
        ...

    def close(self) -> None: ...


@dataclass(eq=False, slots=True)
class PoolEntry(Generic[T]):
    """Memory of a bundle from the start of opening until it is closed."""

    name: str
    size_bytes: int
    opened: T | None = None
    """None while the bundle is being opened."""
    num_users: int = 0
    last_used: int = 0
    """Time of last use, on a clock that counts uses."""
    is_current: bool = True
    """Whether it takes new users; if not, it is closed after the last."""
    is_kept: bool = False
    """Whether it must stay open, as it could not be opened again."""


def choose_leaving(entries: Sequence[PoolEntry[T]], needed_bytes: float) -> list[PoolEntry[T]]:
    """Choose entries to close that free `needed_bytes`; none if all candidates together would not be enough.

    Unused bundles go first, the least recently used of them first; then those in use in the same order, to be
    closed after their last user.
    """
    leaving: list[PoolEntry[T]] = []
    may_leave = [
        entry for entry in entries if entry.is_current and entry.opened is not None and not entry.is_kept
    ]
    for entry in sorted(may_leave, key=lambda entry: (entry.num_users > 0, entry.last_used)):
        if needed_bytes <= 0:
            break
        leaving.append(entry)
        needed_bytes -= entry.size_bytes
    return leaving if needed_bytes <= 0 else []
