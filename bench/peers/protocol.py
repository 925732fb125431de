"""A worker process holds one engine with one model, and answers a JSON line with a JSON line.

Standard library only: Dragoman's worker runs it in the project's environment, the other engines' workers in
theirs. Requests are `{"do": ..., ...}`:

    run      batches of ids, search options    -> seconds, outputs
    memory                                     -> resident bytes, now and at most
    closed   texts, front, clients             -> what the clients saw
    open     texts, front, rate, seed          -> what arrived when
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from bench.peers.arrivals import Front, closed_loop, open_loop

Ids = list[int]
Request = dict[str, Any]
Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Search:
    """What every engine is asked for, in words that all of them know."""

    beam_size: int
    length_penalty: float = 1.0
    min_length: int = 0
    max_length: int | None = None
    """Most target tokens; None: twice the longest source's and 20 more."""

    def max_length_for(self, sources: list[Ids]) -> int:
        return self.max_length or max(2 * max(map(len, sources)) + 20, self.min_length)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is started with."""

    model: str
    workers: int
    """Batches at a time; each has one thread."""
    precision: str = "float32"
    options: tuple[tuple[str, Any], ...] = ()
    """Wishes that only this engine knows, by name."""


class Engine(Protocol):
    """One engine with one model. Safe to call from several threads."""

    def search(self, sources: list[Ids], search: Search) -> list[Ids]:
        """Best target ids per source, without the end-of-sentence id."""
        ...

    def front(self, name: str, search: Search) -> Front:
        """A way in for single texts; raises ValueError for a name it does not have."""
        ...

    def versions(self) -> dict[str, str]:
        """Of the packages that do the work."""
        ...


def read_setup(arguments: list[str]) -> Setup:
    """From the command line: one JSON object."""
    fields = json.loads(arguments[0])
    return Setup(**{**fields, "options": tuple(map(tuple, fields.get("options", ())))})


@contextmanager
def replies_on_stdout() -> Iterator[TextIO]:
    """The pipe to the coordinator; whatever a library prints goes to stderr instead."""
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with pipe:
        yield pipe


def serve(engine: Engine, workers: int, pipe: TextIO) -> None:
    """Answer until stdin ends. The first line says that the engine is loaded."""
    _reply(pipe, {"loaded": True, "versions": engine.versions()})
    for line in sys.stdin:
        _reply(pipe, answer(engine, workers, json.loads(line)))


def answer(engine: Engine, workers: int, request: Request) -> Reply:
    """Do what one request asks.

    Raises:
        ValueError: nothing is known by that name.
    """
    what = request["do"]
    if what == "run":
        return run(engine, workers, request["batches"], Search(**request["search"]))
    if what == "memory":
        return memory()
    if what in ("closed", "open"):
        front = engine.front(request["front"], Search(**request["search"]))
        try:
            if what == "closed":
                return asdict(closed_loop(front.submit, request["texts"], request["clients"]))
            return asdict(open_loop(front.submit, request["texts"], request["rate"], request["seed"]))
        finally:
            front.close()
    raise ValueError(f"a worker knows no {what!r}")


def run(engine: Engine, workers: int, batches: list[list[Ids]], search: Search) -> Reply:
    """All batches, `workers` of them at a time; timed without reading and writing JSON."""
    if workers == 1:
        began = time.perf_counter()
        outputs = [engine.search(batch, search) for batch in batches]
        seconds = time.perf_counter() - began
    else:
        with ThreadPoolExecutor(workers) as pool:
            began = time.perf_counter()
            outputs = list(pool.map(lambda batch: engine.search(batch, search), batches))
            seconds = time.perf_counter() - began
    return {"seconds": seconds, "outputs": outputs}


def memory() -> Reply:
    """Resident bytes of this process, from Linux's own account."""
    fields = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf8").splitlines()
    )
    return {
        "resident_bytes": int(fields["VmRSS"].split()[0]) * 1024,
        "peak_bytes": int(fields["VmHWM"].split()[0]) * 1024,
    }


def _reply(pipe: TextIO, reply: Reply) -> None:
    pipe.write(json.dumps(reply) + "\n")
    pipe.flush()
