"""Speed and exactness of the engine's kernels on this machine's GPU: `python -m bench.gpu models/de-en-fp16`.

Each part runs in a process of its own with a time limit, the most important first, and results are written as
they come, so that what fails costs its own numbers alone. No text is translated twice.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from threading import Timer
from typing import Any

from bench.command import Command, Options
from bench.throughput import Setting, gpu_names, run_once
from bench.workloads import MAX_REAL_TOKENS, SENTENCES, distinct_lines, read_lines
from dragoman import DecodingOptions, Translator
from dragoman.bundle import Bundle, open_bundle
from dragoman.decoding.loop import StepLimit
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.reading.reader import Reader
from dragoman.types import Hypothesis, SearchKind

PART_LIMITS_S: Mapping[str, int] = {"search": 75, "pytorch": 40, "translate": 50, "parity": 40}
BATCHES = (512, 1, 8, 32, 128, 2048)
"""Sentences a call; the first is compared with PyTorch."""
BEAM_SIZES = (1, 4)
STEPS_AT_ONCE = 8
ROUNDS = 4
CHECKPOINT = Path(__file__).parents[1] / "training" / "checkpoints" / "de-en"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """Measured thing, and its text."""

    bundle: Bundle
    checkpoint: Path
    sentences: Sequence[str]
    batches: Sequence[int]
    device: str

    def lines(self) -> Iterator[str]:
        """Yield lines that are all different."""
        return distinct_lines(self.sentences, sys.maxsize)

    def encoder(self) -> Preparer:
        """Return what makes ids of lines."""
        manifest = self.bundle.manifest
        return Preparer(manifest.languages, manifest.limits, Reader(open_tokenizers(self.bundle)[0]))

    def ids(self, lines: Sequence[str], encoder: Preparer) -> list[list[int]]:
        """Return the ids of each line."""
        return encoder.encode(list(lines), next(iter(self.bundle.manifest.languages.pairs())))


class _Searches:
    """Searches from ids to ids on one model, without tokenizing and scheduling."""

    def __init__(self, subject: Subject) -> None:
        from dragoman.cuda.model import CudaModel  # noqa: PLC0415 -- PyTorch is for these parts alone

        manifest = subject.bundle.manifest
        byte_ids = open_tokenizers(subject.bundle)[1].byte_ids
        target = TargetVocabulary(manifest.special_ids.eos, manifest.sizes.target_vocab, byte_ids)
        self._subject, self._encoder, self._lines = subject, subject.encoder(), subject.lines()
        self.model = CudaModel(subject.bundle, target, subject.device)
        for beam_size in BEAM_SIZES:
            self.model.prepare(beam_size)
        self.most_sources = min(self.model.plan.num_sources - 1, max(subject.batches))

    def sources(self, count: int) -> list[Source]:
        """Return new sources."""
        most = min(MAX_REAL_TOKENS, self._subject.bundle.manifest.limits.max_target_tokens)
        lines = list(islice(self._lines, count))
        return [Source(ids, TargetLimits(most, 0), (2,)) for ids in self._subject.ids(lines, self._encoder)]

    def lane(self, sources: Sequence[Source], beam_size: int) -> Any:
        """Return a lane with sources."""
        from dragoman.cuda.search_lane import CudaSearchLane  # noqa: PLC0415 -- as above

        lane = CudaSearchLane(self.model, SearchKind(beam_size))
        lane.join(sources, [source.ids for source in sources])
        return lane

    def search(self, sources: Sequence[Source], beam_size: int) -> dict[Source, list[Hypothesis]]:
        """Search for all sources together."""
        lane, found = self.lane(sources, beam_size), dict[Source, list[Hypothesis]]()
        while lane.sources:
            found |= {one.source: one.hypotheses for one in lane.step(StepLimit(STEPS_AT_ONCE))}
        return found

    def rate(self, batch: int, beam_size: int) -> Row:
        """Measure sentences per second."""
        times, tokens = [], 0
        for _ in range(ROUNDS):
            sources = self.sources(batch)
            began_s = time.perf_counter()
            found = self.search(sources, beam_size)
            times.append(time.perf_counter() - began_s)
            tokens = sum(len(one[0].ids) for one in found.values())
        row = {"row": "ids to ids", "batch": batch, "beam_size": beam_size, "tokens": tokens}
        return _rates(row, batch, times)

    def compare_loads(self, count: int, beam_size: int) -> Row:
        """Search for sources together, in another order, in smaller company and alone; count equal bits."""
        sources = self.sources(count)
        together = self.search(sources, beam_size)
        loads = {"other_order": sources[::-1], "fewer": sources[: count // 10 + 1]}
        found = {name: self.search(some, beam_size) for name, some in loads.items()}
        found["alone"] = {}
        for source in sources[:32]:
            found["alone"] |= self.search([source], beam_size)
        counts = {
            name: f"{sum(some[source] == together[source] for source in some)} of {len(some)}"
            for name, some in found.items()
        }
        return {"row": "same bits as together", "beam_size": beam_size, "together": count, **counts}


def measure_search(subject: Subject) -> Iterator[Row]:
    """Measure searches, the most important first."""
    began_s = time.perf_counter()
    searches = _Searches(subject)
    plan = {name: getattr(searches.model.plan, name) for name in ("num_sources", "num_rows")}
    opened_s = round(time.perf_counter() - began_s, 2)
    yield {"row": "open", "seconds": opened_s, **plan}
    first, most = min(subject.batches[0], searches.most_sources), searches.most_sources
    yield searches.rate(first, 1)
    for beam_size in BEAM_SIZES:
        yield searches.compare_loads(first, beam_size)
    yield searches.rate(first, 4)
    for batch, beam_size in product(subject.batches[1:], BEAM_SIZES):
        if batch <= most and batch * beam_size <= searches.model.plan.num_rows:
            yield searches.rate(batch, beam_size)


def measure_pytorch(subject: Subject) -> Iterator[Row]:
    """Measure greedy search in PyTorch with the same weights, as training validates with it."""
    import torch  # noqa: PLC0415 -- as above

    from export.checkpoint import load_checkpoint  # noqa: PLC0415
    from export.model.generate import generate_greedy, pad  # noqa: PLC0415

    model = load_checkpoint(subject.checkpoint).model.eval().to(subject.device)
    if subject.device == "cuda":
        model = model.half()
    encoder, lines = subject.encoder(), subject.lines()
    for batch in (subject.batches[0], max(1, subject.batches[0] // 4)):
        times, tokens = [], 0
        for _ in range(ROUNDS):
            rows = sorted(subject.ids(list(islice(lines, subject.batches[0])), encoder), key=len)
            began_s = time.perf_counter()
            found = []
            for begin in range(0, len(rows), batch):
                ids, mask = pad(rows[begin : begin + batch], model.config.pad_id)
                found += generate_greedy(
                    model, ids.to(subject.device), mask.to(subject.device), MAX_REAL_TOKENS
                )
            times.append(time.perf_counter() - began_s)
            tokens = sum(map(len, found))
        row = {"row": "PyTorch, ids to ids", "batch": batch, "beam_size": 1, "tokens": tokens}
        yield _rates(row | {"torch": torch.__version__}, subject.batches[0], times)


def measure_translate(subject: Subject) -> Iterator[Row]:
    """Measure the whole engine, text to text."""
    lines = subject.lines()
    began_s = time.perf_counter()
    with _open(subject, on_gpu=True) as translator:
        yield {
            "row": "open",
            "seconds": round(time.perf_counter() - began_s, 2),
            "kernels": translator.kernels,
            "why_not_native": translator.why_not_native,
        }
        for batch in subject.batches:
            for beam_size in BEAM_SIZES:
                setting = Setting(batch, beam_size, 1)
                runs = [list(islice(lines, max(batch, min(8, subject.batches[0])))) for _ in range(ROUNDS)]
                times = [run_once(translator, run, setting)[0] for run in runs]
                row = {"row": "text to text", "batch": batch, "beam_size": beam_size}
                yield _rates(row, len(runs[0]), times)


def measure_parity(subject: Subject) -> Iterator[Row]:
    """Compare with onnxruntime on the CPU."""
    ids = subject.ids(list(islice(subject.lines(), min(96, subject.batches[0]))), subject.encoder())
    with _open(subject, on_gpu=True) as ours, _open(subject, on_gpu=False) as theirs:
        for beam_size in BEAM_SIZES:
            options = DecodingOptions(beam_size=beam_size)
            found = [[one[0] for one in translator.search(ids, options)] for translator in (ours, theirs)]
            same = [abs(a.logprob - b.logprob) for a, b in zip(*found, strict=True) if a.ids == b.ids]
            yield {
                "row": "as onnxruntime on the CPU",
                "beam_size": beam_size,
                "same_ids": len(same),
                "of": len(ids),
                "max_difference_of_sum_of_logprobs": max(same, default=None),
            }


PARTS = {
    "search": measure_search,
    "pytorch": measure_pytorch,
    "translate": measure_translate,
    "parity": measure_parity,
}


def _open(subject: Subject, *, on_gpu: bool) -> Translator:
    path = subject.bundle.path
    if not on_gpu:
        return Translator.open(path)
    if subject.device == "cpu":
        return Translator.open(path, replicas=1)
    return Translator.open(path, providers=("cuda",), replicas=1, kernels="native")


def _rates(row: Row, count: int, times_s: Sequence[float]) -> Row:
    """Add sentences per second, and milliseconds of a call, over the rounds; the first also warms up."""
    later = times_s[1:]
    return row | {
        "sentences_per_s": round(count / statistics.median(later), 1),
        "slowest_sentences_per_s": round(count / max(later), 1),
        "first_ms": round(1000 * times_s[0], 2),
        "median_ms": round(1000 * statistics.median(later), 2),
    }


def run_part(name: str, words: Sequence[str], limit_s: float) -> Iterator[Row]:
    """Run a part in a process of its own; yield its rows, and one that says how it ended if it failed."""
    command = [sys.executable, "-m", "bench.gpu", *words, "--part", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- this command
        deadline_s = time.monotonic() + limit_s
        watcher = Timer(limit_s, process.kill)  # reading a line cannot have a time limit
        watcher.start()
        assert process.stdout is not None  # noqa: S101 -- it is a pipe
        for line in process.stdout:
            if line.startswith("{"):
                yield {"part": name, **json.loads(line)}
        code = process.wait()
        watcher.cancel()
    if code:
        reason = "time limit" if time.monotonic() >= deadline_s - 1 else f"exit status {code}"
        yield {"part": name, "row": "failed", "reason": reason}


def main(words: Sequence[str] | None = None) -> None:
    """Run all parts, or the one that is named, whose rows are printed only."""
    options: Options = {
        "bundle": Path,
        "--checkpoint of the same weights": CHECKPOINT,
        "--sentences": SENTENCES,
        "--batches": BATCHES,
        "--limit_s of all parts together": 150,
        "--device cpu for a rehearsal in Triton's interpreter": "cuda",
        "--part of the measurement; default: all, each in a process of its own": "",
    }
    command = Command("gpu", __doc__, options)
    given = list(sys.argv[1:] if words is None else words)
    arguments = command.parse(given)
    began_s = time.monotonic()
    if arguments.part:
        subject = Subject(
            open_bundle(arguments.bundle),
            arguments.checkpoint,
            read_lines(arguments.sentences),
            arguments.batches,
            arguments.device,
        )
        for row in PARTS[arguments.part](subject):
            print(json.dumps(row | {"at_s": round(time.monotonic() - began_s, 1)}), flush=True)
        return
    rows: list[Row] = []
    for name, limit_s in PART_LIMITS_S.items():
        left_s = arguments.limit_s - (time.monotonic() - began_s)
        if left_s < 1:
            break
        for row in run_part(name, given, min(limit_s, left_s)):
            rows.append(row)
            print(json.dumps(row), flush=True)
            command.write(arguments.bundle, {"gpus": gpu_names(), "results": rows})


if __name__ == "__main__":
    main()
