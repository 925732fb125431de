"""Time by operator of encoder and decoder, and Python's share of a search.

`python -m bench.profile FOLDER` runs the forced workload twice: once with a timer around each run of a graph,
once with onnxruntime's profiler, whose overhead would distort the first measurement.
"""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import onnxruntime

from bench.command import Command, Options, show
from bench.contenders import pin
from bench.models import INT8, TOKENIZER
from bench.peers.protocol import Ids
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


def graph_share(bundle: Path, sources: list[Ids], batch: int, beam_size: int) -> dict[str, Any]:
    """Measure searches and the graph runs within them; the difference is Python."""
    options = _options(beam_size)
    spent: list[float] = []

    def timed(run: Callable[..., Any]) -> Callable[..., Any]:
        def run_timed(*arguments: Any, **settings: Any) -> Any:
            began = time.perf_counter()
            result = run(*arguments, **settings)
            spent.append(time.perf_counter() - began)
            return result

        return run_timed

    session = onnxruntime.InferenceSession
    run, run_bound = timed(session.run), timed(session.run_with_iobinding)
    with (
        Translator.open(bundle) as translator,
        patch.multiple(session, run=run, run_with_iobinding=run_bound),
    ):
        translator.search(sources[:batch], options)
        spent.clear()
        began = time.perf_counter()
        for _ in range(RUNS):
            translator.search(sources[:batch], options)
        seconds = time.perf_counter() - began
    python_s = seconds - sum(spent)
    return {
        "batch": batch,
        "beam_size": beam_size,
        "ms_per_sentence": 1e3 * seconds / RUNS / batch,
        "python_share": python_s / seconds,
        "python_us_per_step": 1e6 * python_s / RUNS / FORCED_TOKENS,
    }


def operator_times(bundle: Path, sources: list[Ids], batch: int, beam_size: int) -> list[OperatorTime]:
    """Profile one batch; return the operators of each graph, most costly first."""
    opened: dict[str, onnxruntime.InferenceSession] = {}
    session = onnxruntime.InferenceSession

    def open_profiled(path: str, settings: onnxruntime.SessionOptions, **options: Any) -> Any:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(Path(tempfile.mkdtemp()) / Path(path).stem)
        opened[Path(path).stem] = session(path, settings, **options)
        return opened[Path(path).stem]

    with patch.object(onnxruntime, "InferenceSession", open_profiled):
        translator = Translator.open(bundle)
    translator.search(sources[:batch], _options(beam_size))
    found: list[OperatorTime] = []
    for graph, one in opened.items():
        found += sum_by_operator(graph, json.loads(Path(one.end_profiling()).read_text(encoding="utf8")))
    return found


def sum_by_operator(graph: str, events: Iterable[dict[str, Any]]) -> list[OperatorTime]:
    """Sum the kernel times in an onnxruntime profile's events, by operator."""
    microseconds: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    num_runs = 0
    for event in events:
        num_runs += event["name"] == "model_run"
        operator = event.get("args", {}).get("op_name")
        if event["name"].endswith("_kernel_time") and operator not in BRANCH_OPERATORS:
            microseconds[operator] += event["dur"]
            calls[operator] += 1
    total = microseconds.total()
    return [
        OperatorTime(graph, operator, spent / total, spent / num_runs, calls[operator] / num_runs)
        for operator, spent in microseconds.most_common()
    ]


def _options(beam_size: int) -> DecodingOptions:
    return DecodingOptions(beam_size=beam_size, min_length=FORCED_TOKENS, max_length=FORCED_TOKENS)


def main() -> None:
    options: Options = {"folder": Path, "--bundle default: FOLDER/int8": Path}
    command = Command("profile", __doc__, options)
    arguments = command.parse()
    bundle = arguments.bundle or arguments.folder / INT8
    pin(0, 1)
    most = max(batch for batch, _ in SETTINGS)
    sources = forced(read_lines(SENTENCES), arguments.folder / TOKENIZER, most).sources
    python = [graph_share(bundle, sources, *setting) for setting in SETTINGS]
    show(python)
    operators = []
    for batch, beam_size in (SETTINGS[0], SETTINGS[-2], SETTINGS[-1]):
        times = [asdict(one) for one in operator_times(bundle, sources, batch, beam_size)]
        operators.append({"batch": batch, "beam_size": beam_size, "times": times})
    command.write(bundle, {"python": python, "operators": operators})


if __name__ == "__main__":
    main()
