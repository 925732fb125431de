"""Closed-loop clients of a running service: each waits for its response before it sends the next request.

The sentences repeat, so the service must be started with DRAGOMAN_SEGMENT_CACHE_SIZE=0.
"""

import argparse
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from bench.peers.arrivals import PoolFront, closed_loop, median_latency_s, percentile
from bench.provenance import provenance, write_result
from bench.workloads import SENTENCES, read_lines

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Load:
    """Results of all clients together."""

    clients: int
    requests: int
    errors: int
    sentences_per_s: float
    median_latency_s: float
    p99_latency_s: float


def run(address: str, sentences: list[str], clients: int) -> Load:
    """Let each client send a sentence, wait for the response and take the next one from a shared list."""

    def ask(sentence: str) -> None:
        http.post("/v1/translate", json={"text": sentence}).raise_for_status()

    limits = httpx.Limits(max_connections=clients)
    with httpx.Client(base_url=address, timeout=TIMEOUT_S, limits=limits) as http:
        front = PoolFront(ask, clients)
        seen = closed_loop(front.submit, sentences, clients)
        front.close()
    return Load(
        clients=clients,
        requests=seen.requests,
        errors=seen.errors,
        sentences_per_s=round(seen.requests_per_s, 1),
        median_latency_s=round(median_latency_s(seen), 4),
        p99_latency_s=round(percentile(seen.latencies_s, 0.99), 4),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("address", help="of a running service")
    parser.add_argument("bundle", type=Path, help="the bundle it serves, for the record")
    parser.add_argument("--clients", type=int, action="append", help="default: 1, 8 and 64")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="source text, a sentence a line")
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/load.json")
    arguments = parser.parse_args()
    lines = read_lines(arguments.sentences)
    sentences = [lines[number % len(lines)] for number in range(arguments.requests)]
    run(arguments.address, sentences[:20], clients=2)
    results = [run(arguments.address, sentences, clients) for clients in arguments.clients or [1, 8, 64]]
    for result in results:
        print(
            f"clients {result.clients:3}  {result.sentences_per_s:7.1f} sentences/s  "
            f"median {result.median_latency_s * 1000:.0f} ms  p99 {result.p99_latency_s * 1000:.0f} ms  "
            f"errors {result.errors}"
        )
    if arguments.output:
        command = f"python -m bench.load {arguments.address} {arguments.bundle}"
        figures = {"results": [asdict(result) for result in results]}
        write_result(arguments.output, provenance(arguments.bundle, command), figures)
    return 1 if any(result.errors for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
