"""The engine's threads: one per replica, with one queue for all.

The loop of each replica, which `_serve`, `_take` and `Replica.step` spell out:

    while not closed:
        fail sources whose deadline has passed, drop cancelled ones
        admit its share of the waiting sources of each tier, first those of whom was served least
        sleep if the replica has none
        encode some of them, or make one step for all, and deliver what is done
"""

import atexit
import math
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from ctypes import c_int64
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar

from dragoman.decoding.loop import AnyLane
from dragoman.errors import DeadlineExceeded, Overloaded, TranslatorClosed
from dragoman.forking import renew_after_fork
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics, QueueState
from dragoman.scheduling.policy import Capacity, Tier, WaitingList, fair_share, free_queue_slots, tier_of
from dragoman.scheduling.replica import FORCED_METHODS, Replica
from dragoman.scheduling.segment_request import SegmentRequest
from dragoman.types import Priority, SearchKind

RECENT_S = 1.0
"""Time after an interactive source in which more are expected, so that jobs leave capacity for them."""
EXIT_JOIN_S = 60.0
"""Longest wait for the threads before the interpreter exits. A step takes less; a callback may never end."""

Encoded = TypeVar("Encoded")


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """Limits of what runs and what waits."""

    replicas: int
    queue_size: int
    """Number of sources that may wait because of `submit`."""
    capacity: Capacity = field(default_factory=Capacity)
    engine_metrics: EngineMetrics = NO_METRICS

    def __post_init__(self) -> None:
        for name, value in (("replicas", self.replicas), ("queue_size", self.queue_size)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")


class Scheduler(Generic[Encoded]):
    """Searches for sources on its replicas' threads. Safe to use from several threads.

    Threads start with the first source. They end with `close`, when the scheduler is collected, or before the
    interpreter exits. In a forked process they start again, and only sources that were queued there are
    searched for.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[Sequence[int]]], Encoded],
        open_lane: Callable[[SearchKind], AnyLane[Encoded]],
        options: SchedulerOptions,
    ) -> None:
        """Create replicas without starting threads.

        Args:
            encode: called with ids of several sources; from several threads at once.
            open_lane: makes an empty lane for a kind of search.
            options: replicas, queue size, capacity.
        """
        self._options = options
        self._engine_metrics = options.engine_metrics
        self._new_replica = partial(Replica, encode, open_lane, options.capacity, options.engine_metrics)
        self._set_up()
        renew_after_fork(self)

    def _set_up(self) -> None:
        self._shared = _SharedState(self._options)
        self._replicas = [self._new_replica() for _ in range(self._options.replicas)]
        self._threads: list[_ReplicaThread] = []
        # The threads do not refer to this object, so that it can be collected: then they end by themselves.
        self._finalizer = weakref.finalize(self, self._shared.close)
        self._finalizer.atexit = False

    def renew(self) -> None:
        """Begin anew in a forked process, without the threads of its parent and what they search for.

        What they use now is never freed: it may be half changed.
        """
        is_closed = self._shared.is_closed
        self._finalizer.detach()
        self._set_up()
        self._shared.is_closed = is_closed

    def submit(self, requests: Sequence[SegmentRequest]) -> None:
        """Queue sources of one request, all or none.

        Raises:
            Overloaded: they do not fit into the queue (`free_queue_slots`); an empty queue takes any number.
            TranslatorClosed: the scheduler is closed.
        """
        mark = self._engine_metrics.trace_context()
        for request in requests:
            request.mark, request.is_limited = mark, True
        try:
            with self._shared.lock:
                self._start()
                self._shared.accept(requests)
        except Overloaded:
            self._engine_metrics.rejected(len(requests))
            raise

    def enqueue(self, requests: Sequence[SegmentRequest]) -> None:
        """Queue sources of one request that no queue size limits: parts of lists, and what follows a search.

        If the scheduler is closed, they fail with `TranslatorClosed`.
        """
        with self._shared.lock:
            is_closed = self._shared.is_closed
            if not is_closed:
                self._start()
                self._shared.add(requests)
        for request in requests if is_closed else ():
            request.finish(TranslatorClosed("the translator was closed before the request finished"))

    def cancel(self, requests: Iterable[SegmentRequest]) -> None:
        """Cancel sources: those that wait at once, those that run before their next step.

        Their `on_done` is not called.
        """
        with self._shared.lock:
            removed = self._shared.cancel(requests)
        if removed:
            self._engine_metrics.segments_left([request.record(None) for request in removed])

    def queue(self) -> QueueState:
        """Return how many sources wait and run now."""
        with self._shared.lock:
            num_waiting = self._shared.num_limited
        num_running = sum(replica.num_sources for replica in self._replicas)
        return QueueState(num_waiting, self._shared.options.queue_size, num_running)

    @property
    def is_closed(self) -> bool:
        """Return whether it was closed: by `close`, or by a fault on a replica's thread."""
        return self._shared.is_closed

    def close(self) -> None:
        """Fail what waits or runs with `TranslatorClosed` and end the threads. Idempotent."""
        with self._shared.lock:  # no threads are being started
            self._shared.close()
        _join(self._threads)

    def _start(self) -> None:
        """Start the threads unless they run. The caller holds the lock."""
        if self._shared.is_closed:
            raise TranslatorClosed("the translator is closed")
        if self._threads:
            return
        for number, replica in enumerate(self._replicas):
            thread = _ReplicaThread(self._shared, replica, number)
            thread.start()  # fails where the system allows no more threads
            self._threads.append(thread)


class _SharedState:
    """The state that replicas share. Callers of its methods hold `lock`."""

    def __init__(self, options: SchedulerOptions) -> None:
        self.options = options
        self.lock = threading.Lock()
        self.sleepers: list[SimpleQueue[None]] = []
        """Idle replicas: each wakes when it gets an item. The last to sleep wakes first: its memory is still
        in caches."""
        self.is_closed = False
        self.num_limited = 0
        """Number of waiting sources that count towards the queue size."""
        self.num_cancels = 0
        """Grows when a running source is cancelled: replicas then look for theirs."""
        self.num_changes = c_int64()
        """Grows when there is something to do for replicas: they then return from the kernels."""
        self.running = {tier: [0] * options.replicas for tier in Tier}
        self.last_interactive_s = -math.inf
        self.waiting: WaitingList[SegmentRequest] = WaitingList(options.capacity)

    def accept(self, requests: Sequence[SegmentRequest]) -> None:
        """Queue sources if the queue size allows it; raises Overloaded."""
        num_waiting, queue_size = self.num_limited, self.options.queue_size
        if num_waiting and requests:
            flow = requests[0].flow
            tier = tier_of(flow.num_tokens + sum([request.num_tokens for request in requests]))
            num_of_owner = 0 if flow.owner is None else self.waiting.num_of(flow.owner)
            if len(requests) > free_queue_slots(tier, queue_size, num_waiting, num_of_owner):
                raise Overloaded(num_waiting, queue_size, len(requests), num_of_owner)
        self.add(requests)

    def add(self, requests: Sequence[SegmentRequest]) -> None:
        """Queue sources of one request, unless they were cancelled."""
        requests = [request for request in requests if not request.is_cancelled]
        if not requests:
            return
        first, now_s = requests[0], time.monotonic()
        if first.is_limited or first.kind.method not in FORCED_METHODS:  # else counted with the search
            first.flow.num_tokens += sum([request.num_tokens for request in requests])
        tier = tier_of(first.flow.num_tokens)
        for request in requests:
            request.queued_s, request.tier = now_s, tier
        if first.priority is Priority.INTERACTIVE:
            self.last_interactive_s = now_s
        self.waiting.add(requests)
        self.num_limited += first.is_limited * len(requests)
        self.num_changes.value += 1
        self.wake(len(requests))

    def cancel(self, requests: Iterable[SegmentRequest]) -> list[SegmentRequest]:
        """Cancel sources; return those that waited, which are taken out."""
        removed = []
        for request in requests:
            request.is_cancelled = True
            if self.waiting.remove(request):
                removed.append(request)
            else:
                self.num_cancels += 1
                self.num_changes.value += 1
        self._count_out(removed)
        return removed

    def expire(self) -> list[SegmentRequest]:
        """Take out sources whose deadline has passed."""
        if self.waiting.next_deadline_s == math.inf:
            return []
        expired = self.waiting.expire(time.monotonic())
        self._count_out(expired)
        return expired

    def admit(self, replica: Replica[Encoded], number: int) -> list[SegmentRequest]:
        """Take out the sources that join a replica now."""
        for tier, running in self.running.items():
            running[number] = replica.num_sources_of(tier)
        num_arrivals = self.waiting.num_arrivals
        if num_arrivals == replica.rejected_at:
            return []
        admitted: list[SegmentRequest] = []
        is_rejected = True
        for tier, running in self.running.items():
            num_waiting = self.waiting.num_waiting(tier)
            if not num_waiting:
                continue
            share = fair_share(num_waiting, running, number)
            if share < 1 or not replica.wants_more(tier, num_waiting):
                is_rejected = False
                continue
            other_load = replica.other_load(tier).plus(request.kind.beam_size for request in admitted)
            most_jobs = self._most_jobs(replica) if tier is Tier.BULK else math.inf
            found = self.waiting.admit(tier, replica.load(tier), share, most_jobs, other_load)
            running[number] += len(found)
            admitted += found
        if is_rejected and not admitted:
            replica.rejected_at = num_arrivals
        self._count_out(admitted)
        return admitted

    def _most_jobs(self, replica: Replica[Encoded]) -> float:
        """Return how many bulk sources of jobs a replica may take now: few next to interactive ones."""
        if not self.waiting.has_jobs:
            return math.inf
        num_jobs = {tier: replica.num_jobs_of(tier) for tier in Tier}
        is_recent = time.monotonic() - self.last_interactive_s < RECENT_S
        if not is_recent and sum(num_jobs.values()) == replica.num_sources:
            return math.inf
        return self.options.capacity.max_jobs_with_interactive - num_jobs[Tier.BULK]

    def go_to_sleep(self) -> "SimpleQueue[None]":
        """Return a queue that gets an item when `add` or `close` wakes the replica."""
        awake = SimpleQueue[None]()
        self.sleepers.append(awake)
        if self.is_closed:  # before this replica was among the sleepers
            awake.put(None)
        return awake

    def wake(self, most: float) -> None:
        """Wake up to so many replicas that sleep."""
        while most > 0 and self.sleepers:
            with suppress(IndexError):  # `close` needs no lock
                self.sleepers.pop().put(None)
            most -= 1

    def close(self) -> None:
        """Let replicas end, and take out what waits. Needs no lock: a collection may call it anywhere."""
        self.is_closed = True
        self.num_changes.value += 1
        self.wake(math.inf)

    def take_all(self) -> list[SegmentRequest]:
        """Take out all that waits."""
        self.num_limited = 0
        return self.waiting.clear()

    def _count_out(self, requests: Iterable[SegmentRequest]) -> None:
        self.num_limited -= sum(request.is_limited for request in requests)


class _ReplicaThread(threading.Thread):
    """Runs a replica until the scheduler closes."""

    def __init__(self, shared: _SharedState, replica: Replica[Encoded], number: int) -> None:
        super().__init__(
            target=_serve, args=(shared, replica, number), name=f"dragoman-{number}", daemon=True
        )
        self.close = shared.close


def _serve(shared: _SharedState, replica: Replica[Encoded], number: int) -> None:
    """Run a replica until the scheduler closes: the body of its thread."""
    error: Exception = TranslatorClosed("the translator was closed before the translation finished")
    try:
        while (num_changes := _take(shared, replica, number)) is not None:
            replica.step(None if len(shared.waiting) else shared.num_changes, num_changes)
    except Exception as fault:  # noqa: BLE001 -- a fault of the engine must not leave callers waiting
        error = fault
    with shared.lock:
        shared.close()
        waiting = shared.take_all()
    _finish_all(shared, (*waiting, *replica.release()), lambda _: error)


def _take(shared: _SharedState, replica: Replica[Encoded], number: int) -> int | None:
    """Admit sources to a replica; sleep while it has none.

    Returns:
        The number of changes that it knows of; None when closed.
    """
    while True:
        num_changes = shared.num_changes.value  # before a look at what has changed
        # Read without the lock, to keep steps short: a source that arrives now is seen one step later.
        if replica.num_sources and not (len(shared.waiting) or shared.is_closed):
            replica.drop_cancelled(shared.num_cancels)
            if replica.num_sources:
                return num_changes
        with shared.lock:
            if shared.is_closed:
                return None
            expired = shared.expire()
            admitted = shared.admit(replica, number)
            is_idle = not (expired or admitted or replica.num_sources)
            awake = shared.go_to_sleep() if is_idle else None
        if awake is not None:
            awake.get()
            continue
        _finish_all(shared, expired, lambda request: DeadlineExceeded(request.deadline.timeout_s))
        replica.join(admitted)
        replica.drop_cancelled(shared.num_cancels)
        if replica.num_sources:
            return num_changes


def _finish_all(
    shared: _SharedState, requests: Sequence[SegmentRequest], fail: Callable[[SegmentRequest], Exception]
) -> None:
    """Record sources that get no hypotheses, and then call their `on_done`."""
    failed = [(request, fail(request)) for request in requests]
    if failed:
        shared.options.engine_metrics.segments_left([request.record(error) for request, error in failed])
    for request, error in failed:
        request.finish(error)


def _join(threads: Iterable[threading.Thread], timeout_s: float | None = None) -> None:
    """Wait until threads that were closed have ended."""
    until_s = None if timeout_s is None else time.monotonic() + timeout_s
    for thread in threads:
        # A callback may close from a replica's own thread; one that is being started ends by itself.
        if thread is not threading.current_thread() and thread.is_alive():
            thread.join(None if until_s is None else max(0.0, until_s - time.monotonic()))


def _end_threads() -> None:
    """End the threads of all schedulers, also of those that were collected.

    A thread that is in the kernels or in onnxruntime when the interpreter exits makes the process crash.
    """
    is_main = threading.current_thread() is threading.main_thread()
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    threads = [thread for thread in threading.enumerate() if isinstance(thread, _ReplicaThread)]
    for thread in threads:
        thread.close()
    _join(threads, EXIT_JOIN_S)
    if interrupted is not None:
        signal.signal(signal.SIGINT, interrupted)


atexit.register(_end_threads)
atexit.register(_end_threads)  # an interrupt that came before is raised when the first call begins
