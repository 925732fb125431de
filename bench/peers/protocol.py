"""Protocol of worker processes: each runs one engine with one model and answers JSON lines with JSON lines.

Standard library only: Dragoman's worker runs it in the project's environment, the other engines' workers in
theirs. A request has batches of ids and search options; its reply has seconds and outputs.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TextIO

Ids = list[int]
Request = dict[str, Any]
Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Search:
    """Search options that all engines have."""

    beam_size: int
    length_penalty: float = 1.0
    min_length: int = 0
    max_length: int | None = None
    """Maximum number of target tokens; None: twice the longest source plus 20, at least `min_length`."""

    def max_length_for(self, sources: list[Ids]) -> int:
        return self.max_length or max(2 * max(map(len, sources)) + 20, self.min_length)


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings with which a worker starts."""

    model: str
    workers: int
    """Number of concurrent batches, with one thread each."""
    precision: str = "float32"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options that only this engine has."""


class Engine(Protocol):
    """One engine with one model. Methods may be called from several threads."""

    def search(self, sources: list[Ids], search: Search) -> list[Ids]:
        """Return the best target ids of each source, without the end-of-sentence id."""
        ...

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that do the work."""
        ...


def run_worker(start: Callable[[Setup], Engine]) -> None:
    """Start the engine that the command line sets up as JSON, and answer requests until stdin ends.

    The first reply says that the engine is loaded. Everything else that is printed goes to stderr.
    """
    setup = Setup(**json.loads(sys.argv[1]))
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with pipe:
        engine = start(setup)
        _reply(pipe, {"loaded": True, "versions": engine.versions()})
        for line in sys.stdin:
            _reply(pipe, run(engine, setup.workers, **json.loads(line)))


def run(engine: Engine, workers: int, batches: list[list[Ids]], search: Mapping[str, Any]) -> Reply:
    """Run all batches, `workers` at a time; the time excludes reading and writing JSON."""
    options = Search(**search)
    with ThreadPoolExecutor(workers) as pool:
        began = time.perf_counter()
        outputs = list(
            (pool.map if workers > 1 else map)(lambda batch: engine.search(batch, options), batches)
        )
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "outputs": outputs}


def _reply(pipe: TextIO, reply: Reply) -> None:
    pipe.write(json.dumps(reply) + "\n")
    pipe.flush()
