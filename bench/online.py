"""Single requests: throughput and latency of several ways to serve the same model.

Closed loop: each client waits for its response. Open loop: requests arrive at random (Poisson), at shares of
the rate that the reference reaches with 64 waiting clients; latency counts from when a request was due.
"""

import asyncio
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
from tqdm import tqdm

from bench.contenders import REFERENCE, Contender, Worker, parser_of, running, select_contenders, versions_of
from bench.peers.arrivals import Load, closed_loop, median_latency_s, open_loop, percentile
from bench.peers.protocol import Search
from bench.provenance import provenance, write_result
from bench.rounds import turn
from bench.server import running_service
from bench.workloads import MAX_REAL_TOKENS, read_lines

WORKERS = 2
CLIENTS = (1, 8, 64)
LOADS = (0.25, 0.5, 0.75, 1.0)
REFERENCE_FRONT = f"{REFERENCE}, thread pool"
TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class ServingMethod:
    """A way to serve: a front of a worker, or our service over HTTP if `worker` is None."""

    name: str
    worker: str | None
    front: str = ""


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The load on a way to serve: waiting clients, or a rate of requests per second."""

    clients: int | None = None
    rate: float | None = None
    share: float | None = None
    """Share of the reference's rate."""


class HttpFront:
    """Front that sends requests to a running service, without a limit at a time, on its own event loop."""

    def __init__(self, address: str, search: Search) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self._client = httpx.AsyncClient(base_url=address, timeout=TIMEOUT_S, limits=limits)
        self._options = {"beam_size": search.beam_size, "max_length": search.max_length}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def submit(self, text: str) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(self._post(text), self._loop)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _post(self, text: str) -> None:
        answer = await self._client.post("/v1/translate", json={"text": text, **self._options})
        answer.raise_for_status()


def ask(
    way: ServingMethod, parts: "RunningParts", texts: Sequence[str], question: OfferedLoad, seed: int
) -> Load:
    """Measure one way to serve under one load."""
    search = parts.search
    if way.worker is None:
        front = HttpFront(parts.address, search)
        try:
            if question.clients is not None:
                return closed_loop(front.submit, texts, question.clients)
            return open_loop(front.submit, texts, question.rate or 0.0, seed)
        finally:
            front.close()
    request: dict[str, Any] = {"front": way.front, "texts": list(texts), "search": asdict(search)}
    if question.clients is not None:
        request |= {"do": "closed", "clients": question.clients}
    else:
        request |= {"do": "open", "rate": question.rate, "seed": seed}
    return Load(**parts.workers[way.worker].ask(request))


@dataclass(frozen=True, slots=True)
class RunningParts:
    """The running workers and service."""

    workers: dict[str, Worker]
    address: str
    search: Search


def summarise(way: ServingMethod, question: OfferedLoad, loads: Sequence[Load]) -> dict[str, Any]:
    """Summarise all rounds: latencies pooled, throughput of the median round."""
    latencies = [latency for load in loads for latency in load.latencies_s]
    together = Load(
        requests=sum(load.requests for load in loads),
        errors=sum(load.errors for load in loads),
        requests_per_s=sorted(load.requests_per_s for load in loads)[len(loads) // 2],
        latencies_s=latencies,
    )
    return {
        "way": way.name,
        **asdict(question),
        "requests": together.requests,
        "errors": together.errors,
        "requests_per_s": together.requests_per_s,
        "p50_ms": 1e3 * median_latency_s(together),
        "p99_ms": 1e3 * percentile(latencies, 0.99),
    }


def measure(
    ways: Sequence[ServingMethod],
    parts: RunningParts,
    texts: Sequence[str],
    questions: Sequence[OfferedLoad],
    num_rounds: int,
) -> list[dict[str, Any]]:
    """Measure every way to serve under every load, in turn, round by round."""
    by_name = {way.name: way for way in ways}
    loads: dict[tuple[OfferedLoad, str], list[Load]] = {}
    plan = [(number, question) for number in range(num_rounds) for question in questions]
    for number, question in tqdm(plan, desc="online"):
        for name in turn(list(by_name), number):
            load = ask(by_name[name], parts, texts, question, seed=number)
            loads.setdefault((question, name), []).append(load)
    return [summarise(by_name[name], question, found) for (question, name), found in loads.items()]


def ways_of(contenders: Sequence[Contender]) -> list[ServingMethod]:
    found = [ServingMethod("HTTP service", None)]
    for one in contenders:
        fronts = ("submit", "static batches") if one.engine == "dragoman" else ("thread pool",)
        found += [ServingMethod(f"{one.name}, {front}", one.name, front) for front in fronts]
    return found


@contextmanager
def everything(contenders: Sequence[Contender], search: Search) -> Iterator[RunningParts]:
    with ExitStack() as stack:
        workers = stack.enter_context(running(contenders, WORKERS))
        address = stack.enter_context(running_service(contenders[0].model, WORKERS))
        yield RunningParts(workers, address, search)


def main() -> int:
    parser = parser_of(__doc__, "online")
    parser.add_argument("--requests", type=int, default=400, help="of each question and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beam-size", type=int, default=4)
    arguments = parser.parse_args()
    contenders = [one for one in select_contenders(arguments) if "fp32" not in one.name]
    search = Search(beam_size=arguments.beam_size, max_length=MAX_REAL_TOKENS)
    texts = list(islice(cycle(read_lines(arguments.sentences)), arguments.requests))
    ways = ways_of(contenders)
    with everything(contenders, search) as parts:
        for way in ways:
            ask(way, parts, texts[: 2 * WORKERS], OfferedLoad(clients=WORKERS), seed=0)
        closed = [OfferedLoad(clients=clients) for clients in CLIENTS]
        rows = measure(ways, parts, texts, closed, arguments.rounds)
        rate = next(
            row["requests_per_s"]
            for row in rows
            if row["way"] == REFERENCE_FRONT and row["clients"] == max(CLIENTS)
        )
        offered = [OfferedLoad(rate=share * rate, share=share) for share in LOADS]
        rows += measure(ways, parts, texts, offered, arguments.rounds)
    for row in rows:
        load = f"{row['clients']} clients" if row["clients"] else f"{row['rate']:.1f} requests/s"
        print(
            f"{row['way']:34} {load:18} {row['requests_per_s']:7.1f}/s  p50 {row['p50_ms']:8.1f} ms"
            f"  p99 {row['p99_ms']:8.1f} ms  errors {row['errors']}"
        )
    if arguments.output:
        command = f"python -m bench.online {arguments.folder} --requests {arguments.requests}"
        figures = {
            "packages": versions_of(contenders),
            "workers": WORKERS,
            "rounds": arguments.rounds,
            "beam_size": arguments.beam_size,
            "results": rows,
        }
        write_result(arguments.output, provenance(Path(contenders[0].model), command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
