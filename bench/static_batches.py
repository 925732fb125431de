"""Static batching: a queue in front of a translate function, whose batches are closed before they run."""

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock, Thread
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
        self._threads = [Thread(target=self._work, args=(one,), daemon=True) for one in engines]
        for thread in self._threads:
            thread.start()

    def submit(self, text: str) -> "Future[Any]":
        future: Future[Any] = Future()
        self._queue.put((text, future))
        return future

    def close(self) -> None:
        """Finish all submitted texts, then end the threads."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

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
            first = self._queue.get()
            if first is None:
                return []
            batch = [first]
            deadline = time.monotonic() + self._wait_s
            while len(batch) < self._max_texts:
                try:
                    waiting = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    break
                if waiting is None:
                    self._queue.put(None)
                    break
                batch.append(waiting)
        return batch
