"""The engines that are compared, and the worker process of each."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from bench import models
from bench.command import Command, Options
from bench.peers.protocol import Ids, Reply, Request, Search, Setup
from bench.workloads import SENTENCES, make_batches

EngineName = Literal["dragoman", "ctranslate2", "transformers"]
MODULES: Mapping[EngineName, str] = {
    "dragoman": "bench.engine_worker",
    "ctranslate2": "bench.peers.ctranslate2_worker",
    "transformers": "bench.peers.transformers_worker",
}
REFERENCE = "CTranslate2 int8"
"""The contender relative to which every speed is reported."""
BATCH_SOURCES = 32
"""Batch size where speed is not measured."""


@dataclass(frozen=True, slots=True)
class Contender:
    """An engine with a model, and its name in the tables."""

    name: str
    engine: EngineName
    model: Path
    precision: str = "float32"
    options: Mapping[str, Any] = field(default_factory=dict)


class WorkerError(RuntimeError):
    """A worker ended without a reply; its messages are on stderr."""


class Worker:
    """A contender's process, which sleeps while it waits for requests."""

    def __init__(self, contender: Contender, workers: int) -> None:
        setup = Setup(str(contender.model), workers, contender.precision, contender.options)
        python = sys.executable if contender.engine == "dragoman" else models.PEERS_PYTHON
        self.contender = contender
        self.versions: dict[str, str] = {}
        self._process = subprocess.Popen(  # noqa: S603 -- our own modules
            [str(python), "-m", MODULES[contender.engine], json.dumps(asdict(setup))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf8",
            # Each engine sets its own number of threads; these libraries would use one for each core.
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )
        pin(self._process.pid, workers)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_loaded(self) -> None:
        self.versions = self._read()["versions"]

    def ask(self, request: Request) -> Reply:
        """Send a request and wait for its reply.

        Raises:
            WorkerError: the process has ended.
        """
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise WorkerError(f"{self.contender.name} has ended") from error
        return self._read()

    def search(self, batches: list[list[Ids]], search: Search) -> tuple[float, list[list[Ids]]]:
        """Run batches; return seconds and the target ids of each source."""
        reply = self.ask({"batches": batches, "search": asdict(search)})
        return reply["seconds"], reply["outputs"]

    def close(self) -> None:
        """Close the worker's input, which ends it."""
        self._process.communicate()

    def _read(self) -> Reply:
        assert self._process.stdout is not None  # noqa: S101 -- for the type checker; Popen opens it
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(f"{self.contender.name} ended with status {self._process.wait()}")
        reply: Reply = json.loads(line)
        return reply


def pin(pid: int, num_cpus: int) -> None:
    """Let a process run on the last `num_cpus` CPUs only, since the first ones serve most interrupts.

    Raises:
        ValueError: there are fewer CPUs.
    """
    available = sorted(os.sched_getaffinity(0))
    if num_cpus > len(available):
        raise ValueError(f"{num_cpus} workers on {len(available)} CPUs would only measure how they wait")
    os.sched_setaffinity(pid, available[-num_cpus:])


@contextmanager
def running(contenders: Sequence[Contender], workers: int) -> Iterator[dict[str, Worker]]:
    """Start a worker for each contender; yield them by name when all are loaded."""
    with ExitStack() as stack:
        started: dict[str, Worker] = {}
        for contender in contenders:
            worker = Worker(contender, workers)
            stack.callback(worker.close)
            worker.wait_until_loaded()
            started[contender.name] = worker
        yield started


def versions_of(contenders: Sequence[Contender]) -> dict[str, str]:
    """Return the versions of the packages that the contenders' engines use."""
    with running(list({one.engine: one for one in contenders}.values()), 1) as started:
        return {name: number for worker in started.values() for name, number in worker.versions.items()}


def select_contenders(arguments: argparse.Namespace) -> list[Contender]:
    """Return Dragoman's variants and the other engines on the prepared models; see `comparison`."""
    folder: Path = arguments.folder
    contenders = [*(arguments.variant or dragoman_variants(folder)), *peers(folder)]
    names = {one.name for one in contenders}
    if unknown := [name for name in arguments.skip if name not in names]:
        raise SystemExit(f"--skip {', '.join(unknown)}: there are only {', '.join(sorted(names))}")
    return [one for one in contenders if one.name not in arguments.skip]


def peers(folder: Path) -> list[Contender]:
    tokenizer = {"tokenizer": str(folder / models.TOKENIZER)}
    converted = {"int8": folder / models.CTRANSLATE2_INT8, "fp32": folder / models.CTRANSLATE2_FLOAT32}
    return [
        Contender(REFERENCE, "ctranslate2", converted["int8"], "int8", tokenizer),
        Contender("CTranslate2 fp32", "ctranslate2", converted["fp32"], options=tokenizer),
        Contender("Transformers fp32", "transformers", folder / models.CHECKPOINT),
    ]


def dragoman_variants(folder: Path) -> list[Contender]:
    """Return int8 with its shortlist, the same on onnxruntime, int8 with the full vocabulary, and fp32."""
    ways: dict[str, dict[str, Any]] = {
        "int8+shortlist": {},
        "int8": {"use_shortlist": False},
        "int8+shortlist on onnxruntime": {"kernels": "onnxruntime"},
    }
    int8 = [Contender(f"Dragoman {way}", "dragoman", folder / models.INT8, options=ways[way]) for way in ways]
    return [*int8, Contender("Dragoman fp32", "dragoman", folder / models.FP32)]


def translate_sources(worker: Worker, sources: Sequence[Ids], search: Search) -> list[Ids]:
    """Return the best target ids of every source, in the order of the sources."""
    order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
    _, outputs = worker.search(make_batches([sources[index] for index in order], BATCH_SOURCES), search)
    return [ids for _, ids in sorted(zip(order, chain.from_iterable(outputs), strict=True))]


def share_equal(outputs: Sequence[Ids], expected: Sequence[Ids]) -> float:
    """Return the share of sources with equal target ids."""
    return sum(ours == theirs for ours, theirs in zip(outputs, expected, strict=True)) / len(expected)


def parse_variant(text: str) -> Contender:
    """Parse `NAME=BUNDLE[,option=value,...]`: fields of `DecodingOptions`, or `kernels`; values are JSON.

    Raises:
        ValueError: `text` has another form.
    """
    name, _, rest = text.partition("=")
    bundle, *options = rest.split(",")
    pairs = [option.partition("=")[::2] for option in options]
    if not name or not bundle or not all(key and value for key, value in pairs):
        raise ValueError(f"{text!r} is not NAME=BUNDLE or NAME=BUNDLE,option=value,...")
    values = {key: json.loads(value) for key, value in pairs}
    return Contender(f"Dragoman {name}", "dragoman", Path(bundle), options=values)


def comparison(name: str, description: str | None, defaults: Mapping[str, Any]) -> Command:
    """Return a command with the arguments of all commands that compare engines; see `select_contenders`."""
    options: Options = {
        "--variant NAME=BUNDLE[,option=value...] of Dragoman; default: what FOLDER holds": [parse_variant],
        "--skip an engine by its name in the tables": [str],
    }
    return Command(name, description, {"folder": Path, "--sentences": SENTENCES, **defaults, **options})
