"""Static batching: a queue in front of a translate function, whose batches are closed before they run."""

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any

Translate = Callable[[list[str]], Sequence[Any]]
QueuedText = tuple[str, "Future[Any]"]


class StaticBatches:
    """Runs batches of up to `max_texts` texts that arrive within `wait_s` seconds of the first one.

    A result that is an exception becomes the error of its future; an exception that an engine raises becomes
    the error of all futures of the batch.
    """

    def __init__(self, engines: Sequence[Translate], *, max_texts: int, wait_s: float) -> None:
        """Start a thread for each of `engines`, which runs one batch at a time."""
        self._max_texts = max_texts
        self._wait_s = wait_s
        self._queue: queue.Queue[QueuedText | None] = queue.Queue()
        self._collect_lock = Lock()
        self._pool = ThreadPoolExecutor(len(engines))
        for engine in engines:
            self._pool.submit(self._work, engine)

    def submit(self, text: str) -> "Future[Any]":
        future: Future[Any] = Future()
        self._queue.put((text, future))
        return future

    def close(self) -> None:
        """Finish all submitted texts, then end the threads."""
        self._queue.put(None)
        self._pool.shutdown()

    def _work(self, translate: Translate) -> None:
        while batch := self._collect():
            try:
                answers = translate([text for text, _ in batch])
            except Exception as error:  # noqa: BLE001 -- the futures carry it
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _collect(self) -> list[QueuedText]:
        """Return the next batch; empty at the end."""
        with self._collect_lock:
            batch = [self._queue.get()]
            deadline = time.monotonic() + self._wait_s
            with suppress(queue.Empty):
                while batch[-1] is not None and len(batch) < self._max_texts:
                    batch.append(self._queue.get(timeout=max(0.0, deadline - time.monotonic())))
            if batch[-1] is None:
                self._queue.put(None)  # for the next batch, and for the other threads
            return [one for one in batch if one is not None]
