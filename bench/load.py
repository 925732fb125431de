"""Closed-loop clients of a running service: each waits for its response before it sends the next request.

The sentences repeat, so the service must be started with DRAGOMAN_SEGMENT_CACHE_SIZE=0.
"""

import sys
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bench.clients import http_front
from bench.command import Command, Options, show
from bench.peers.arrivals import closed_loop, median_latency_s, percentile
from bench.workloads import SENTENCES, read_lines


def run(address: str, sentences: list[str], clients: int) -> dict[str, Any]:
    """Let each client send a sentence, wait for the response and take the next one from a shared list."""
    with http_front(address, {}, clients) as front:
        seen = closed_loop(front.submit, sentences, clients)
    return {
        "clients": clients,
        "requests": seen.requests,
        "errors": seen.errors,
        "sentences_per_s": round(seen.requests_per_s, 1),
        "median_latency_s": round(median_latency_s(seen), 4),
        "p99_latency_s": round(percentile(seen.latencies_s, 0.99), 4),
    }


def main() -> int:
    options: Options = {"--clients at a time": (1, 8, 64), "--requests": 1000, "--sentences": SENTENCES}
    command = Command("load", __doc__, {"address of a running service": str, "bundle": Path, **options})
    arguments = command.parse()
    sentences = list(islice(cycle(read_lines(arguments.sentences)), arguments.requests))
    run(arguments.address, sentences[:20], clients=2)
    results = [run(arguments.address, sentences, clients) for clients in arguments.clients]
    show(results)
    command.write(arguments.bundle, {"results": results})
    return int(any(result["errors"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
