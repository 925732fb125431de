"""Batch jobs: speed compared with CTranslate2, memory by input size, the cost of being resumable.

`python -m bench.batch speed FOLDER` translates a file with `dragoman batch` and with CTranslate2's iterable
translation, using the model that `bench.models` prepared in FOLDER. `job` needs no model: a test
double answers at once, so that only the job is measured. `journal BUNDLE` compares a job with the same
translator without a journal. `ray BUNDLE` measures the gain of a second engine on a local Ray cluster.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.batch_worker import run_with_journal, run_without_journal
from bench.command import Command, Options, show
from bench.models import CTRANSLATE2_INT8, INT8, PEERS_PYTHON, TOKENIZER
from bench.processes import run_process
from bench.rounds import interleave, spread
from bench.workloads import SENTENCES, distinct_lines, read_lines
from dragoman.routing.router import Router
from service.batch.entry_translator import RoutedEntryTranslator

SIZES = (10_000, 100_000, 1_000_000)
BATCH = (sys.executable, "-m", "service", "batch", "--force")


def write_lines(arguments: argparse.Namespace, path: Path, count: int) -> Path:
    """Write a file of `count` distinct lines; return its path."""
    with path.open("w", encoding="utf8") as lines:
        lines.writelines(f"{line}\n" for line in distinct_lines(read_lines(arguments.sentences), count))
    return path


def measure_speed(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure whole processes from file to file: loading, reading, translating, writing."""
    source, folder = write_lines(arguments, scratch / "in.txt", arguments.lines), arguments.model
    settings = {
        "model": str(folder / CTRANSLATE2_INT8),
        "tokenizer": str(folder / TOKENIZER),
        "workers": len(os.sched_getaffinity(0)),
        "beam_size": arguments.beam_size,
        "source": str(source),
        "target": str(scratch / "ct2.txt"),
    }
    ours = [*BATCH, source, "--beam-size", arguments.beam_size, "--model", folder / INT8]
    commands = {
        "Dragoman": [*ours, "-o", scratch / "out.txt"],
        "CTranslate2": [arguments.peers, "-m", "bench.peers.ctranslate2_file", json.dumps(settings)],
    }
    ran = interleave([""], [*commands], arguments.rounds, lambda _, name, __: run_process(*commands[name]))
    return [
        {
            "engine": name,
            "lines": arguments.lines,
            "beam_size": arguments.beam_size,
            "sentences_per_s": asdict(spread([arguments.lines / one.seconds for one in runs])),
            "peak_bytes": max(one.peak_bytes for one in runs),
        }
        for (_, name), runs in ran.items()
    ]


def measure_job(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure a job of distinct lines with a test double as engine, and its resumption from the journal."""
    rows = []
    for count in arguments.sizes:
        source, folder = write_lines(arguments, scratch / "in.txt", count), scratch / str(count)
        folder.mkdir()
        command = (sys.executable, "-m", "bench.batch_worker", folder, source)
        first, again = run_process(*command), run_process(*command)
        row = {"lines": count, "source_bytes": source.stat().st_size, **asdict(first)}
        rows.append(row | {"resume_s": again.seconds})
    return rows


def measure_journal(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure the same translator with and without a journal, in turns."""
    source = write_lines(arguments, scratch / "in.txt", arguments.lines)
    runs = {"with journal": run_with_journal, "without": run_without_journal}
    with Router.open({"bench": arguments.model}) as router:
        translator = RoutedEntryTranslator(router, *router.route().pair)

        def run_once(_: str, name: str, number: int) -> float:
            folder = scratch / f"{name}-{number}"
            folder.mkdir(exist_ok=True)
            began_s = time.perf_counter()
            runs[name](folder, source, translator)
            return time.perf_counter() - began_s

        run_once("", "without", 0)
        found = interleave([""], [*runs], arguments.rounds, run_once)
    seconds = {name: values for (_, name), values in found.items()}
    shares = [a / b - 1 for a, b in zip(*seconds.values(), strict=True)]
    return [{"lines": arguments.lines, "seconds": seconds, "cost": asdict(spread(shares))}]


def measure_cluster(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure one and two Ray workers of one CPU each, and the local engine.

    The time for a file of one line, which is that of starting, is subtracted.
    """
    whole = write_lines(arguments, scratch / "in.txt", arguments.lines)
    one = write_lines(arguments, scratch / "one.txt", 1)
    output = ["--beam-size", arguments.beam_size, "--model", arguments.model, "-o", scratch / "out.txt"]
    engines = {
        "ray, 1 worker": ["--engine", "ray", "--workers", "1"],
        "ray, 2 workers": ["--engine", "ray", "--workers", "2"],
        "local, 2 CPUs": [],
    }

    def run_seconds(source: Path, name: str, _: int) -> float:
        return run_process(*BATCH, source, *output, *engines[name]).seconds

    starting = interleave([one], [*engines], 1, run_seconds)
    rows = []
    for (_, name), seconds in interleave([whole], [*engines], arguments.rounds, run_seconds).items():
        starting_s = starting[one, name][0]
        rates = spread([arguments.lines / (each - starting_s) for each in seconds])
        row = {"engine": name, "lines": arguments.lines, "starting_s": starting_s, "seconds": seconds}
        rows.append(row | {"sentences_per_s_once_started": asdict(rates)})
    return rows


MEASUREMENTS = {
    "speed": measure_speed,
    "journal": measure_journal,
    "ray": measure_cluster,
    "job": measure_job,
}


def main() -> None:
    options: Options = {
        "measure": (*MEASUREMENTS,),
        "[model] folder of `speed`, bundle of `journal` and `ray`": Path,
        "--lines of `speed`, `journal` and `ray`": 100_000,
        "--rounds": 3,
        "--beam-size": 1,
        "--sizes numbers of lines of `job`": SIZES,
        "--sentences": SENTENCES,
        "--peers Python that has CTranslate2": PEERS_PYTHON,
    }
    command = Command("batch", __doc__, options)
    arguments = command.parse()
    needs_model = arguments.measure != "job"
    if needs_model != (arguments.model is not None):
        command.parser.error(f"{arguments.measure} takes {'a' if needs_model else 'no'} model")
    with tempfile.TemporaryDirectory(prefix="dragoman-batch-") as scratch:
        rows = MEASUREMENTS[arguments.measure](arguments, Path(scratch))
    show(rows)
    bundle = arguments.model or Path("models/de-en")
    command.write(bundle / INT8 if arguments.measure == "speed" else bundle, {"results": rows})


if __name__ == "__main__":
    main()
