"""Time by operator of encoder and decoder, and Python's share of a search.

`python -m bench.profile FOLDER` runs the forced workload twice: once with a timer around each run of a graph,
once with onnxruntime's profiler, whose overhead would distort the first measurement.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import onnxruntime
import sentencepiece

from bench.contenders import pin
from bench.models import INT8, TOKENIZER
from bench.peers.protocol import Ids
from bench.provenance import provenance, write_result
from bench.workloads import FORCED_TOKENS, SENTENCES, forced, read_lines
from dragoman import DecodingOptions, Translator

SETTINGS = ((1, 1), (1, 4), (8, 1), (8, 4), (32, 1), (32, 4))
"""Batch sizes and beam sizes."""
RUNS = 3
BRANCH_OPERATORS = frozenset({"If"})
"""Operators to skip: their time is that of the nodes inside, which are listed, too."""


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """Time of all nodes of one operator in one graph."""

    graph: str
    operator: str
    share: float
    us_per_run: float
    calls_per_run: float


class TimedSession(onnxruntime.InferenceSession):  # type: ignore[misc] # onnxruntime ships no types
    """Session that adds up the time spent in runs."""

    seconds = 0.0
    """Seconds spent in runs of all sessions."""

    def run(self, *arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        result = super().run(*arguments, **options)
        TimedSession.seconds += time.perf_counter() - began
        return result

    def run_with_iobinding(self, *arguments: Any, **options: Any) -> None:
        began = time.perf_counter()
        super().run_with_iobinding(*arguments, **options)
        TimedSession.seconds += time.perf_counter() - began


class ProfiledSession(onnxruntime.InferenceSession):  # type: ignore[misc] # the same
    """Session that writes a profile to its own file."""

    opened: list["ProfiledSession"] = []  # noqa: RUF012 -- all of them, to be ended together

    def __init__(self, path: str, settings: onnxruntime.SessionOptions, **options: Any) -> None:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(Path(tempfile.mkdtemp()) / Path(path).stem)
        super().__init__(path, settings, **options)
        self.graph = Path(path).stem
        ProfiledSession.opened.append(self)


@contextmanager
def replace_session_class(session: type[onnxruntime.InferenceSession]) -> Iterator[None]:
    """Replace the class of all sessions that are opened inside the block."""
    usual = onnxruntime.InferenceSession
    onnxruntime.InferenceSession = session
    try:
        yield
    finally:
        onnxruntime.InferenceSession = usual


def graph_share(bundle: Path, sources: list[Ids], batch: int, beam_size: int) -> dict[str, Any]:
    """Measure searches and the graph runs within them; the difference is Python."""
    with replace_session_class(TimedSession):
        translator = Translator.open(bundle)
    options = _options(beam_size)
    translator.search(sources[:batch], options)
    TimedSession.seconds = 0.0
    began = time.perf_counter()
    for _ in range(RUNS):
        translator.search(sources[:batch], options)
    seconds = time.perf_counter() - began
    return {
        "batch": batch,
        "beam_size": beam_size,
        "ms_per_sentence": 1e3 * seconds / RUNS / batch,
        "python_share": 1 - TimedSession.seconds / seconds,
        "python_us_per_step": 1e6 * (seconds - TimedSession.seconds) / RUNS / FORCED_TOKENS,
    }


def operator_times(bundle: Path, sources: list[Ids], batch: int, beam_size: int) -> list[OperatorTime]:
    """Profile one batch; return the operators of each graph, most costly first."""
    ProfiledSession.opened.clear()
    with replace_session_class(ProfiledSession):
        translator = Translator.open(bundle)
    translator.search(sources[:batch], _options(beam_size))
    found: list[OperatorTime] = []
    for session in ProfiledSession.opened:
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf8"))
        found += sum_by_operator(session.graph, events)
    return found


def sum_by_operator(graph: str, events: Iterable[dict[str, Any]]) -> list[OperatorTime]:
    """Sum the kernel times in an onnxruntime profile's events, by operator."""
    microseconds: defaultdict[str, int] = defaultdict(int)
    calls: defaultdict[str, int] = defaultdict(int)
    num_runs = 0
    for event in events:
        num_runs += event["name"] == "model_run"
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            operator = event["args"]["op_name"]
            if operator in BRANCH_OPERATORS:
                continue
            microseconds[operator] += event["dur"]
            calls[operator] += 1
    total = sum(microseconds.values())
    return [
        OperatorTime(graph, operator, spent / total, spent / num_runs, calls[operator] / num_runs)
        for operator, spent in sorted(microseconds.items(), key=lambda item: -item[1])
    ]


def _options(beam_size: int) -> DecodingOptions:
    return DecodingOptions(beam_size=beam_size, min_length=FORCED_TOKENS, max_length=FORCED_TOKENS)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("folder", type=Path, help="written by `python -m bench.models`")
    parser.add_argument("--bundle", type=Path, help="default: FOLDER/int8")
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/profile.json")
    arguments = parser.parse_args()
    bundle = arguments.bundle or arguments.folder / INT8
    tokenizer = arguments.folder / TOKENIZER
    vocab_size = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer)).vocab_size()
    pin(0, 1)
    most = max(batch for batch, _ in SETTINGS)
    sources = forced(read_lines(SENTENCES), tokenizer, vocab_size, most).sources
    figures: dict[str, Any] = {
        "python": [graph_share(bundle, sources, *setting) for setting in SETTINGS],
        "operators": [
            {
                "batch": batch,
                "beam_size": beam_size,
                "times": [asdict(one) for one in operator_times(bundle, sources, batch, beam_size)],
            }
            for batch, beam_size in (SETTINGS[0], SETTINGS[-2], SETTINGS[-1])
        ],
    }
    for row in figures["python"]:
        print(row)
    if arguments.output:
        write_result(
            arguments.output, provenance(bundle, f"python -m bench.profile {arguments.folder}"), figures
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
