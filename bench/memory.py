"""Memory and start-up time of each engine in a fresh process; time by source length and batch."""

import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sentencepiece
from tqdm import tqdm

from bench.contenders import Contender, Worker, parser_of, running, select_contenders, versions_of
from bench.models import TOKENIZER
from bench.peers.protocol import Ids, Search
from bench.provenance import provenance, write_result
from bench.rounds import turn
from bench.workloads import EOS_ID, FIRST_FREE_ID, SEED, Workload, forced, make_batches, read_lines

LENGTHS = (10, 25, 50, 100, 200, 350, 500)
BATCHES = (1, 2, 4, 8, 16, 32, 64)
BEAM_SIZE = 4
LARGEST_BATCH = 32
REQUESTS_PER_CALL = 200
MEBIBYTE = 2**20


def footprint(contender: Contender, workload: Workload, num_requests: int) -> dict[str, Any]:
    """Measure a fresh process: its start, the first translation, the largest batch, then many requests."""
    began = time.perf_counter()
    worker = Worker(contender, 1)
    try:
        worker.wait_until_loaded()
        loaded = worker.ask({"do": "memory"})
        _run(worker, [workload.sources[:1]], workload.search(1))
        first_s = time.perf_counter() - began
        _run(worker, [workload.sources[:LARGEST_BATCH]], workload.search(BEAM_SIZE))
        batch = worker.ask({"do": "memory"})
        _many(worker, workload, num_requests)
        later = worker.ask({"do": "memory"})
    finally:
        worker.close()
    return {
        "engine": contender.name,
        "first_translation_s": first_s,
        "loaded_mib": loaded["resident_bytes"] / MEBIBYTE,
        "peak_mib": batch["peak_bytes"] / MEBIBYTE,
        "requests": num_requests,
        "after_requests_mib": later["resident_bytes"] / MEBIBYTE,
        "peak_after_requests_mib": later["peak_bytes"] / MEBIBYTE,
    }


def _many(worker: Worker, workload: Workload, num_requests: int) -> None:
    """Send requests of one source each, of all lengths."""
    for begin in tqdm(range(0, num_requests, REQUESTS_PER_CALL), desc=worker.contender.name):
        count = min(REQUESTS_PER_CALL, num_requests - begin)
        picked = [workload.sources[(begin + n) % len(workload.sources)] for n in range(count)]
        _run(worker, make_batches(picked, 1), Search(beam_size=1, min_length=1, max_length=10))


def growth(
    contenders: Sequence[Contender], workload: Workload, vocab_size: int, num_rounds: int
) -> list[dict[str, Any]]:
    """Measure milliseconds per sentence by source length and by batch size; greedy, 30 target tokens."""
    ids = random.Random(SEED)  # noqa: S311 -- a workload, no secret
    cases: dict[tuple[str, int], list[Ids]] = {
        ("source_tokens", length): [
            [*(ids.randrange(FIRST_FREE_ID, vocab_size) for _ in range(length - 1)), EOS_ID]
        ]
        for length in LENGTHS
    }
    cases |= {("batch", size): workload.sources[:size] for size in BATCHES}
    seconds: dict[tuple[str, tuple[str, int]], list[float]] = {}
    with running(contenders, 1) as started:
        plan = [(number, case) for number in range(-1, num_rounds) for case in cases]
        for number, case in tqdm(plan, desc="growth"):
            for name in turn(list(started), number + 1):
                spent = _run(started[name], [cases[case]], workload.search(1))
                if number >= 0:
                    seconds.setdefault((name, case), []).append(spent)
    return [
        {
            "engine": name,
            "by": by,
            "size": size,
            "ms_per_sentence": 1e3 * statistics.median(spent) / len(cases[by, size]),
        }
        for (name, (by, size)), spent in seconds.items()
    ]


def _run(worker: Worker, batches: list[list[Ids]], search: Search) -> float:
    reply = worker.ask({"do": "run", "batches": batches, "search": asdict(search)})
    seconds: float = reply["seconds"]
    return seconds


def main() -> int:
    parser = parser_of(__doc__, "memory")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    contenders = [one for one in select_contenders(arguments) if "int8" in one.name]
    tokenizer = arguments.folder / TOKENIZER
    vocab_size = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer)).vocab_size()
    workload = forced(read_lines(arguments.sentences), tokenizer, vocab_size, max(BATCHES))
    figures: dict[str, Any] = {
        "packages": versions_of(contenders),
        "beam_size": BEAM_SIZE,
        "batch": LARGEST_BATCH,
        "footprint": [footprint(one, workload, arguments.requests) for one in contenders],
        "growth": growth(contenders, workload, vocab_size, arguments.rounds),
    }
    for row in (*figures["footprint"], *figures["growth"]):
        print(row)
    if arguments.output:
        command = f"python -m bench.memory {arguments.folder} --requests {arguments.requests}"
        write_result(arguments.output, provenance(contenders[0].model, command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
