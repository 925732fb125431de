"""Pool of open bundles: opened on first use, kept within a memory budget, closed when memory is needed.

A caller acquires a handle. Handles of open bundles are granted at once; others wait in order of arrival. The
one that has waited longest decides what is closed: unused bundles, the least recently used first, and if
that does not free enough memory, bundles in use, which take no new users until they are free. So no bundle is
closed in use, and no caller waits forever while others keep requesting other bundles.
"""

import gc
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from dragoman.bundle import Bundle
from dragoman.errors import BundleError, DeadlineExceeded, MemoryBudgetExceeded, TranslatorClosed
from dragoman.forking import renew_after_fork
from dragoman.graphs.process_memory import compacted_memory
from dragoman.manifest import Manifest
from dragoman.pipeline.pending_translation import resolve
from dragoman.routing.bundle_scan import open_with_retry
from dragoman.routing.pool_entries import OpenBundle, PoolEntry, choose_leaving

logger = logging.getLogger(__name__)
T = TypeVar("T", bound=OpenBundle)


class BundleHandle(Generic[T]):
    """An open bundle, which stays open until `release`. A context manager."""

    def __init__(self, opened: T, give_back: Callable[[], None]) -> None:
        self.opened = opened
        """The open bundle; not to be used after `release`."""
        self._release = give_back
        self._is_released = False

    def release(self) -> None:
        """Release the bundle; idempotent, quick, and safe on any thread."""
        if not self._is_released:
            self._is_released = True
            del self.opened  # so that a released handle does not keep the bundle alive
            self._release()

    def __enter__(self) -> T:
        return self.opened

    def __exit__(self, *_: object) -> None:
        self.release()


@dataclass(eq=False, slots=True)
class _OfferedBundle:
    """A bundle that the pool offers."""

    bundle: Bundle
    size_bytes: int
    failure: Exception | None = None
    """Why it could not be opened; it is not tried again before the next scan."""


@dataclass(eq=False, slots=True)
class _Waiter(Generic[T]):
    name: str
    queued_s: float
    deadline_s: float
    future: Future[BundleHandle[T]]


class BundlePool(Generic[T]):
    """Bundles by name. Safe to use from several threads; only `close` ends its own threads."""

    def __init__(
        self,
        open_bundle: Callable[[Path], T],
        estimate_bytes: Callable[[Manifest], int],
        budget_bytes: int | None,
    ) -> None:
        """Create an empty pool.

        Args:
            open_bundle: opens a folder; called on a thread of its own, for several bundles at once.
            estimate_bytes: returns the memory that an open bundle takes.
            budget_bytes: limit for all bundles together; None for no limit.
        """
        self._open_bundle = open_bundle
        self._estimate_bytes = estimate_bytes
        self._budget_bytes = math.inf if budget_bytes is None else budget_bytes
        self._offers: dict[str, _OfferedBundle] = {}
        self._pool_entries: list[PoolEntry[T]] = []
        self._is_closed = False
        self._clock = 0
        self.version = 0
        """Grows whenever `bundles` may have changed."""
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Keep what is open; in a forked process nobody waits for a bundle, opens or uses one."""
        self._changed = threading.Condition()
        self._pool_entries = [replace(entry, num_users=0) for entry in self._pool_entries if entry.opened]
        self._current = {entry.name: entry for entry in self._pool_entries if entry.is_current}
        self._leaving: Collection[PoolEntry[T]] = ()
        self._waiters: list[_Waiter[T]] = []
        self._closer_thread: threading.Thread | None = None
        self._openers: set[threading.Thread] = set()
        self.version += 1

    def bundles(self) -> dict[str, Bundle]:
        """Return the bundles that the pool offers, by name."""
        with self._changed:
            return {name: offer.bundle for name, offer in self._offers.items()}

    def opened_by_name(self) -> dict[str, T]:
        """Return those of `opened` that take new users, by name."""
        with self._changed:
            return {name: entry.opened for name, entry in self._current.items() if entry.opened is not None}

    def opened(self) -> tuple[T, ...]:
        """Return the bundles that are open now. Without a handle, they may be closed at any time."""
        with self._changed:
            return tuple(entry.opened for entry in self._pool_entries if entry.opened is not None)

    @property
    def used_bytes(self) -> int:
        """Estimated memory of open bundles, including those being opened or closed."""
        with self._changed:
            return sum(entry.size_bytes for entry in self._pool_entries)

    def set_bundles(self, bundles: Mapping[str, Bundle], damaged: Collection[str] = ()) -> None:
        """Replace the offered bundles.

        Bundles that changed or are missing take no new users and are closed after the last. Those that
        could not be opened may be tried again.

        Args:
            bundles: all bundles to offer, by name.
            damaged: names of folders that cannot be opened. A bundle that was opened before stays offered and
                open.
        """
        with self._changed:
            offers = {name: self._offer(name, bundle) for name, bundle in bundles.items()}
            for name in damaged:
                if name in self._current and name not in offers:
                    offers[name] = self._offers[name]
            for name, entry in tuple(self._current.items()):
                entry.is_kept = name in damaged
                if offers.get(name) is not self._offers[name]:
                    self._retire(entry)
            self._offers = offers
            self.version += 1
            self._changed.notify_all()

    def acquire(self, name: str, deadline_s: float = math.inf) -> Future[BundleHandle[T]]:
        """Request a bundle.

        Args:
            name: name of the bundle.
            deadline_s: on the clock of `time.monotonic`; afterwards the bundle is not needed any more.

        Returns:
            The handle, done at once if the bundle is open; otherwise callbacks run on the pool's thread and
            must be quick. It fails with what opening raised, with `BundleError` if there is no such bundle or
            it alone exceeds the budget, with `MemoryBudgetExceeded`, or with `DeadlineExceeded` while it was
            being opened.

        Raises:
            TranslatorClosed: the pool is closed.
        """
        waiter = _Waiter[T](name, time.monotonic(), deadline_s, Future())
        with self._changed:
            if self._is_closed:
                raise TranslatorClosed("the bundle pool is closed")
            outcome = self._rejection(waiter) or self._grant(waiter)
            if outcome is None:
                self._waiters.append(waiter)
                self._start_keeper()
                self._changed.notify_all()
        if outcome is not None:
            _deliver(waiter, outcome)
        else:
            waiter.future.add_done_callback(self._on_cancelled)
        return waiter.future

    def close(self) -> None:
        """Close every bundle, in use or not, and end the threads. Never call it in callbacks. Idempotent."""
        with self._changed:
            self._is_closed = True
            waiters, self._waiters = self._waiters, []
            self._changed.notify_all()
            threads = [*self._openers, *([] if self._closer_thread is None else [self._closer_thread])]
        for waiter in waiters:
            _deliver(waiter, TranslatorClosed("the bundle pool was closed before it opened the bundle"))
        for thread in threads:
            thread.join()
        for entry in tuple(self._pool_entries):
            self._close_entry(entry)

    def _on_cancelled(self, acquired: Future[BundleHandle[T]]) -> None:
        """Wake the keeper when a waiter is cancelled, so that no bundle is closed for it."""
        if acquired.cancelled():
            with self._changed:
                self._changed.notify_all()

    # The following run on the pool's own threads.

    def _keep(self) -> None:
        while True:
            with self._changed:
                task = self._next_task()
            if task is None:
                return
            try:
                task()
            except Exception:  # keep running, as others wait
                logger.exception("cannot close a bundle")

    def _open(self, entry: PoolEntry[T], offer: _OfferedBundle) -> None:
        outcome: T | Exception
        try:
            outcome = open_with_retry(self._open_bundle, offer.bundle.path)
            if outcome.is_closed:
                outcome = TranslatorClosed(f"{entry.name} was closed before its first use")
        except Exception as error:  # noqa: BLE001 -- reported to the waiters
            outcome = error
        with self._changed:
            self._openers.discard(threading.current_thread())
            if isinstance(outcome, Exception):
                offer.failure = outcome
                self._pool_entries.remove(entry)
                if entry.is_current:
                    self._retire(entry)
            else:
                entry.opened = outcome
                if entry.is_current and outcome.manifest != offer.bundle.manifest:
                    self._correct(entry, Bundle(offer.bundle.path, outcome.manifest))
            self._changed.notify_all()

    def _close_entry(self, entry: PoolEntry[T]) -> None:
        """Close a bundle, and count its memory as free only then."""
        try:
            with compacted_memory():  # returns freed memory to the system
                opened, entry.opened = entry.opened, None
                if opened is not None:
                    opened.close()
                del opened
                gc.collect()  # translated texts form reference cycles, which hold the bundle
        finally:
            with self._changed:
                self._pool_entries.remove(entry)
                self._changed.notify_all()

    # The following need the lock.

    def _offer(self, name: str, bundle: Bundle) -> _OfferedBundle:
        """Return the existing offer if the bundle is the same, else a new one."""
        known = self._offers.get(name)
        if known is None or known.bundle != bundle:
            return _OfferedBundle(bundle, self._estimate_bytes(bundle.manifest))
        known.failure = None
        return known

    def _retire(self, entry: PoolEntry[T]) -> None:
        entry.is_current = False
        del self._current[entry.name]

    def _rejection(self, waiter: _Waiter[T]) -> Exception | None:
        """Return an error if waiting is pointless."""
        offer = self._offers.get(waiter.name)
        if offer is None:
            return BundleError(waiter.name, ("the bundle was removed",))
        if offer.failure is not None:
            return offer.failure.with_traceback(None)
        if offer.size_bytes > self._budget_bytes:
            problem = (
                f"it needs about {offer.size_bytes} bytes of memory, but the budget is {self._budget_bytes}; "
                "increase the budget, or use fewer replicas or a smaller model"
            )
            return BundleError(waiter.name, (problem,))
        if time.monotonic() < waiter.deadline_s:
            return None
        entry = self._current.get(waiter.name)
        if self._budget_bytes == math.inf or (entry is not None and entry not in self._leaving):
            return DeadlineExceeded(waiter.deadline_s - waiter.queued_s)
        return MemoryBudgetExceeded(waiter.name, offer.size_bytes, int(self._budget_bytes))

    def _grant(self, waiter: _Waiter[T]) -> BundleHandle[T] | None:
        entry = self._current.get(waiter.name)
        if entry is None or entry.opened is None or entry in self._leaving:
            return None
        if entry.opened.is_closed:
            self._retire(entry)  # its users fail; the next one opens the bundle again
            return None
        entry.num_users += 1
        self._touch(entry)
        return BundleHandle(entry.opened, partial(self._release, entry))

    def _touch(self, entry: PoolEntry[T]) -> None:
        self._clock += 1
        entry.last_used = self._clock

    def _release(self, entry: PoolEntry[T]) -> None:
        with self._changed:
            entry.num_users -= 1
            self._touch(entry)
            if self._waiters or not entry.is_current:
                self._changed.notify_all()

    def _correct(self, entry: PoolEntry[T], bundle: Bundle) -> None:
        """Record what was opened, if the folder was changed before."""
        self._offers[entry.name] = offer = self._offer(entry.name, bundle)
        entry.size_bytes = offer.size_bytes
        self.version += 1

    def _next_task(self) -> Callable[[], None] | None:
        """Wait for the keeper's next task and return it; None when the pool is closed."""
        while not self._is_closed:
            outcomes, head = self._serve_waiters()
            if outcomes:
                return partial(_deliver_all, outcomes)
            if not any(entry.num_users for entry in self._leaving):
                for entry in self._leaving:
                    self._retire(entry)
                self._leaving = ()
            for entry in self._pool_entries:
                if not entry.is_current and not entry.num_users and entry.opened is not None:
                    return partial(self._close_entry, entry)
            if head is None or not self._begin_opening(head):
                self._changed.wait(self._time_to_next_deadline_s())
        return None

    def _serve_waiters(self) -> tuple[list[tuple[_Waiter[T], BundleHandle[T] | Exception]], str | None]:
        """Grant and reject in order of arrival. The head is the first whose bundle has no pool entry: it
        decides what leaves, which is not granted to later waiters.
        """
        outcomes: list[tuple[_Waiter[T], BundleHandle[T] | Exception]] = []
        waiting: list[_Waiter[T]] = []
        head = None
        self._leaving = ()
        for waiter in self._waiters:
            if waiter.future.cancelled():
                continue
            outcome = self._rejection(waiter) or self._grant(waiter)
            if outcome is not None:
                outcomes.append((waiter, outcome))
                continue
            waiting.append(waiter)
            if head is None and waiter.name not in self._current:
                head = waiter.name
                self._leaving = self._choose_leaving(self._offers[head].size_bytes)
        self._waiters = waiting
        return outcomes, head

    def _choose_leaving(self, wanted_bytes: int) -> list[PoolEntry[T]]:
        """Choose entries to close until so much is free; retired ones count as free already."""
        staying_bytes = sum(entry.size_bytes for entry in self._pool_entries if entry.is_current)
        return choose_leaving(self._pool_entries, staying_bytes + wanted_bytes - self._budget_bytes)

    def _begin_opening(self, name: str) -> bool:
        """Open a bundle on its own thread, if the budget allows; return whether it does."""
        offer = self._offers[name]
        used_bytes = sum(entry.size_bytes for entry in self._pool_entries)
        if used_bytes + offer.size_bytes > self._budget_bytes:
            return False
        entry = PoolEntry[T](name, offer.size_bytes)
        self._pool_entries.append(entry)
        self._current[name] = entry
        opener = threading.Thread(target=self._open, args=(entry, offer), name=f"dragoman-open-{name}")
        self._openers.add(opener)
        opener.start()
        return True

    def _start_keeper(self) -> None:
        if self._closer_thread is None:
            self._closer_thread = threading.Thread(target=self._keep, name="dragoman-pool", daemon=True)
            self._closer_thread.start()

    def _time_to_next_deadline_s(self) -> float | None:
        """Return the time until the next deadline; None if there is none."""
        deadline_s = min((waiter.deadline_s for waiter in self._waiters), default=math.inf)
        return None if deadline_s == math.inf else max(0.0, deadline_s - time.monotonic())


def _deliver_all(outcomes: Iterable[tuple[_Waiter[T], BundleHandle[T] | Exception]]) -> None:
    for waiter, outcome in outcomes:
        _deliver(waiter, outcome)


def _deliver(waiter: _Waiter[T], outcome: BundleHandle[T] | Exception) -> None:
    if not resolve(waiter.future, outcome) and isinstance(outcome, BundleHandle):
        outcome.release()
