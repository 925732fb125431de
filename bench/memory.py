"""Memory and start-up time of each engine in a fresh process."""

import time
from typing import Any

from tqdm import tqdm

from bench.command import show
from bench.contenders import Contender, Worker, comparison, running, select_contenders, versions_of
from bench.models import TOKENIZER
from bench.peers.protocol import Search
from bench.processes import MIB, memory
from bench.workloads import Workload, forced, make_batches, read_lines

NUM_SOURCES = 64
BEAM_SIZE = 4
LARGEST_BATCH = 32
REQUESTS_PER_CALL = 200


def footprint(contender: Contender, workload: Workload, num_requests: int) -> dict[str, Any]:
    """Measure a fresh process: its start, the first translation, the largest batch, then many requests."""
    began = time.perf_counter()
    with running([contender], 1) as started:
        (worker,) = started.values()
        loaded = memory(worker.pid)
        worker.search([workload.sources[:1]], workload.search(1))
        first_s = time.perf_counter() - began
        worker.search([workload.sources[:LARGEST_BATCH]], workload.search(BEAM_SIZE))
        batch = memory(worker.pid)
        _translate_many(worker, workload, num_requests)
        later = memory(worker.pid)
    return {
        "engine": contender.name,
        "first_translation_s": first_s,
        "loaded_mib": loaded.resident_bytes / MIB,
        "peak_mib": batch.peak_bytes / MIB,
        "requests": num_requests,
        "after_requests_mib": later.resident_bytes / MIB,
    }


def _translate_many(worker: Worker, workload: Workload, num_requests: int) -> None:
    """Send requests of one source each, of all lengths."""
    for begin in tqdm(range(0, num_requests, REQUESTS_PER_CALL), desc=worker.contender.name):
        numbers = range(begin, min(begin + REQUESTS_PER_CALL, num_requests))
        picked = [workload.sources[number % len(workload.sources)] for number in numbers]
        worker.search(make_batches(picked, 1), Search(beam_size=1, min_length=1, max_length=10))


def main() -> None:
    command = comparison("memory", __doc__, {"--requests": 10_000})
    arguments = command.parse()
    contenders = [one for one in select_contenders(arguments) if "int8" in one.name]
    tokenizer = arguments.folder / TOKENIZER
    workload = forced(read_lines(arguments.sentences), tokenizer, NUM_SOURCES)
    figures: dict[str, Any] = {
        "packages": versions_of(contenders),
        "beam_size": BEAM_SIZE,
        "batch": LARGEST_BATCH,
        "footprint": [footprint(one, workload, arguments.requests) for one in contenders],
    }
    show(figures["footprint"])
    command.write(contenders[0].model, figures)


if __name__ == "__main__":
    main()
