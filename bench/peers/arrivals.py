"""Clients: those who wait for an answer before they ask again, and those who come when they come."""

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

Submit = Callable[[str], Future[Any]]
TIMEOUT_S = 300.0


class Front(Protocol):
    """A way in for single texts."""

    def submit(self, text: str) -> Future[Any]:
        """At once; the future's result is the translation."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Load:
    """What the clients saw together."""

    requests: int
    errors: int
    requests_per_s: float
    """Answered without error, over the time from the first request to the last answer."""
    latencies_s: list[float]
    """Of the answered requests, in no order."""


class PoolFront:
    """Each text is one call on a pool of threads."""

    def __init__(self, translate: Callable[[str], Any], threads: int) -> None:
        self._translate = translate
        self._pool = ThreadPoolExecutor(threads)

    def submit(self, text: str) -> Future[Any]:
        return self._pool.submit(self._translate, text)

    def close(self) -> None:
        self._pool.shutdown()


def poisson_arrivals(rate: float, count: int, seed: int) -> list[float]:
    """Seconds from the start at which `count` requests arrive, `rate` a second on average."""
    gaps = random.Random(seed)  # noqa: S311 -- arrivals, not secrets
    return list(accumulate(gaps.expovariate(rate) for _ in range(count)))


def open_loop(submit: Submit, texts: Sequence[str], rate: float, seed: int) -> Load:
    """Send each text when it is due, however many are still waiting.

    A latency counts from when the request was due: a system that is late to take it in does not look faster.
    """
    finished: list[tuple[float, bool]] = []
    pending: list[Future[Any]] = []
    began = time.perf_counter()
    for text, due_s in zip(texts, poisson_arrivals(rate, len(texts), seed), strict=True):
        if (early_s := began + due_s - time.perf_counter()) > 0:
            time.sleep(early_s)

        def note(future: Future[Any], due: float = began + due_s) -> None:
            finished.append((time.perf_counter() - due, future.exception() is None))

        future = _submitted(submit, text)
        future.add_done_callback(note)
        pending.append(future)
    _, late = wait(pending, timeout=TIMEOUT_S)
    seconds = time.perf_counter() - began
    return _load(finished[:], len(late), seconds)


def closed_loop(submit: Submit, texts: Sequence[str], clients: int) -> Load:
    """Each client sends a text, waits for its answer, and takes the next; all share one list."""

    def ask(text: str) -> tuple[float, bool]:
        began = time.perf_counter()
        error = _submitted(submit, text).exception(TIMEOUT_S)
        return time.perf_counter() - began, error is None

    with ThreadPoolExecutor(clients) as pool:
        began = time.perf_counter()
        answers = list(pool.map(ask, texts))
        seconds = time.perf_counter() - began
    return _load(answers, 0, seconds)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed; not a number for no values."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median_latency_s(load: Load) -> float:
    return statistics.median(load.latencies_s) if load.latencies_s else float("nan")


def _submitted(submit: Submit, text: str) -> "Future[Any]":
    """A refusal (a full queue, say) is an answer too: one that has failed."""
    try:
        return submit(text)
    except Exception as error:  # noqa: BLE001 -- counted as the request's error
        refused: Future[Any] = Future()
        refused.set_exception(error)
        return refused


def _load(answers: Sequence[tuple[float, bool]], num_late: int, seconds: float) -> Load:
    latencies = [latency for latency, is_ok in answers if is_ok]
    return Load(
        requests=len(answers) + num_late,
        errors=len(answers) - len(latencies) + num_late,
        requests_per_s=len(latencies) / seconds,
        latencies_s=latencies,
    )
