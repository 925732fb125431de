"""A cache whose values together have a maximum weight."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from dragoman.forking import renew_after_fork

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class WeightedCache(Generic[K, V]):
    """Values by key; the least recently used ones are dropped. Safe to use from several threads."""

    def __init__(self, max_weight: int, weigh: Callable[[V], int]) -> None:
        """Create an empty cache.

        Args:
            max_weight: of all values together; one heavier value is kept alone.
            weigh: returns the weight of a value, which never changes.
        """
        self._max_weight = max_weight
        self._weigh = weigh
        self._values: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Forget who held the lock."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def find(self, key: K) -> V | None:
        """Return the value of a key; None if there is none."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, made if there is none. Of two made at a time, the first is kept."""
        found = self.find(key)
        return self.add(key, make()) if found is None else found

    def add(self, key: K, value: V) -> V:
        """Add a value, unless the key has one; return the value that it has then."""
        with self._lock:
            if key not in self._values:
                self._weight += self._weigh(value)
            kept = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            while self._weight > self._max_weight and len(self._values) > 1:
                _, oldest = self._values.popitem(last=False)
                self._weight -= self._weigh(oldest)
        return kept
