"""Load generators: closed loop (each client waits for its response) and open loop (Poisson arrivals)."""

import math
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

Submit = Callable[[str], Future[Any]]
TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Load:
    """Results of all clients together."""

    requests: int
    errors: int
    requests_per_s: float
    """Successful requests per second, from the first request to the last response."""
    latencies_s: list[float]
    """Latencies of the successful requests, in no order."""


def poisson_arrivals(rate: float, count: int, seed: int) -> list[float]:
    """Return arrival times of `count` requests in seconds from the start, `rate` per second on average."""
    gaps = random.Random(seed)  # noqa: S311 -- arrivals, not secrets
    return list(accumulate(gaps.expovariate(rate) for _ in range(count)))


def open_loop(submit: Submit, texts: Sequence[str], rate: float, seed: int) -> Load:
    """Send each text when it is due, however many are still waiting.

    Latency counts from when the request was due, so that a system that accepts requests late looks no faster.
    """
    finished: list[tuple[float, bool]] = []
    pending: list[Future[Any]] = []
    began = time.perf_counter()
    for text, due_s in zip(texts, poisson_arrivals(rate, len(texts), seed), strict=True):
        if (early_s := began + due_s - time.perf_counter()) > 0:
            time.sleep(early_s)

        def note(future: Future[Any], due: float = began + due_s) -> None:
            finished.append((time.perf_counter() - due, future.exception() is None))

        future = _submit_safely(submit, text)
        future.add_done_callback(note)
        pending.append(future)
    _, late = wait(pending, timeout=TIMEOUT_S)
    seconds = time.perf_counter() - began
    return _load(finished[:], len(late), seconds)


def closed_loop(submit: Submit, texts: Sequence[str], clients: int) -> Load:
    """Let each client send a text, wait for the response and take the next one from a shared list."""

    def ask(text: str) -> tuple[float, bool]:
        began = time.perf_counter()
        error = _submit_safely(submit, text).exception(TIMEOUT_S)
        return time.perf_counter() - began, error is None

    with ThreadPoolExecutor(clients) as pool:
        began = time.perf_counter()
        answers = list(pool.map(ask, texts))
        seconds = time.perf_counter() - began
    return _load(answers, 0, seconds)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that a `share` of all values does not exceed; NaN if there are no values."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _submit_safely(submit: Submit, text: str) -> "Future[Any]":
    """Submit a text; turn an exception (a full queue, say) into a failed future."""
    try:
        return submit(text)
    except Exception as error:  # noqa: BLE001 -- counted as the request's error
        rejected: Future[Any] = Future()
        rejected.set_exception(error)
        return rejected


def _load(answers: Sequence[tuple[float, bool]], num_late: int, seconds: float) -> Load:
    latencies = [latency for latency, is_ok in answers if is_ok]
    return Load(
        requests=len(answers) + num_late,
        errors=len(answers) - len(latencies) + num_late,
        requests_per_s=len(latencies) / seconds,
        latencies_s=latencies,
    )
