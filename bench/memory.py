"""Memory and start-up time of each engine in a fresh process; time by source length and batch."""

import statistics
import time
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm

from bench.command import show
from bench.contenders import Contender, Worker, comparison, running, select_contenders, versions_of
from bench.models import TOKENIZER
from bench.peers.protocol import Ids, Search
from bench.processes import MIB, memory
from bench.rounds import interleave
from bench.workloads import Workload, forced, make_batches, random_sources, read_lines

LENGTHS = (10, 25, 50, 100, 200, 350, 500)
BATCHES = (1, 2, 4, 8, 16, 32, 64)
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
        "peak_after_requests_mib": later.peak_bytes / MIB,
    }


def _translate_many(worker: Worker, workload: Workload, num_requests: int) -> None:
    """Send requests of one source each, of all lengths."""
    for begin in tqdm(range(0, num_requests, REQUESTS_PER_CALL), desc=worker.contender.name):
        numbers = range(begin, min(begin + REQUESTS_PER_CALL, num_requests))
        picked = [workload.sources[number % len(workload.sources)] for number in numbers]
        worker.search(make_batches(picked, 1), Search(beam_size=1, min_length=1, max_length=10))


def growth(
    contenders: Sequence[Contender],
    workload: Workload,
    cases: dict[tuple[str, int], list[Ids]],
    num_rounds: int,
) -> list[dict[str, Any]]:
    """Measure milliseconds per sentence by source length and by batch size; greedy, 30 target tokens."""
    names = [one.name for one in contenders]
    with running(contenders, 1) as started:

        def run(case: tuple[str, int], name: str, _: int) -> float:
            seconds, _outputs = started[name].search([cases[case]], workload.search(1))
            return 1e3 * seconds / len(cases[case])

        interleave([*cases], names, 1, run)
        times = interleave([*cases], names, num_rounds, run)
    return [
        {"engine": name, "by": by, "size": size, "ms_per_sentence": statistics.median(found)}
        for ((by, size), name), found in times.items()
    ]


def main() -> None:
    command = comparison("memory", __doc__, {"--requests": 10_000, "--rounds": 3})
    arguments = command.parse()
    contenders = [one for one in select_contenders(arguments) if "int8" in one.name]
    tokenizer = arguments.folder / TOKENIZER
    workload = forced(read_lines(arguments.sentences), tokenizer, max(BATCHES))
    by_length = zip(LENGTHS, random_sources(tokenizer, LENGTHS), strict=True)
    cases = {("source_tokens", length): [source] for length, source in by_length}
    cases |= {("batch", size): workload.sources[:size] for size in BATCHES}
    figures: dict[str, Any] = {
        "packages": versions_of(contenders),
        "beam_size": BEAM_SIZE,
        "batch": LARGEST_BATCH,
        "footprint": [footprint(one, workload, arguments.requests) for one in contenders],
        "growth": growth(contenders, workload, cases, arguments.rounds),
    }
    show([*figures["footprint"], *figures["growth"]])
    command.write(contenders[0].model, figures)


if __name__ == "__main__":
    main()
