"""Who leaves when memory is wanted: pure policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from dragoman.manifest import Manifest

T = TypeVar("T")


class Opened(Protocol):
    """What is on the shelf: an open bundle."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def is_closed(self) -> bool:
        """Whether it is of no more use: a fault of its own may have closed it."""
        ...

    def close(self) -> None: ...


@dataclass(eq=False, slots=True)
class PoolEntry(Generic[T]):
    """Memory that a bundle takes: while it is opened, open, and until it is closed."""

    name: str
    size_bytes: int
    opened: T | None = None
    """None while it is being opened."""
    num_users: int = 0
    last_used: int = 0
    """On a clock that ticks with every use."""
    is_current: bool = True
    """Whether it takes users; if not, it is closed after the last."""
    is_kept: bool = False
    """Whether it must stay, as it could not be opened again."""


def choose_leaving(places: Sequence[PoolEntry[T]], needed_bytes: float) -> list[PoolEntry[T]]:
    """Places to clear so that `needed_bytes` come free; none where all that may leave would not be enough.

    Bundles without users go first, and of them the least recently used; then those in use in the same order,
    which are to be cleared after their last user.
    """
    leaving: list[PoolEntry[T]] = []
    may_leave = [
        place for place in places if place.is_current and place.opened is not None and not place.is_kept
    ]
    for place in sorted(may_leave, key=lambda place: (place.num_users > 0, place.last_used)):
        if needed_bytes <= 0:
            break
        leaving.append(place)
        needed_bytes -= place.size_bytes
    return leaving if needed_bytes <= 0 else []
