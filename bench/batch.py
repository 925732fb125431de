"""Batch jobs: speed compared with CTranslate2, memory by input size, the cost of being resumable.

`python -m bench.batch speed FOLDER` translates a file with `dragoman batch` and with CTranslate2's iterable
translation, using the model that `bench.models` prepared in FOLDER. `memory` and `resume` need no model: a
test double answers at once, so that only the job is measured. `journal BUNDLE` compares a job with the same
translator without a journal. `ray BUNDLE` measures the gain of a second engine on a local Ray cluster.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.batch_worker import run_with_journal, run_without_journal
from bench.models import CTRANSLATE2_INT8, INT8, PEERS_PYTHON, TOKENIZER
from bench.provenance import provenance, write_result
from bench.rounds import spread, turn
from bench.workloads import SENTENCES, distinct_lines, read_lines
from dragoman.routing.router import Router
from service.batch.entry_translator import RoutedEntryTranslator

SIZES = (10_000, 100_000, 1_000_000)
MEBIBYTE = 2**20
LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """Measurements of one process."""

    seconds: float
    peak_bytes: int


def write_lines(path: Path, count: int, sentences: Sequence[str]) -> None:
    """Write a file of `count` distinct lines."""
    with path.open("w", encoding="utf8") as lines:
        lines.writelines(f"{line}\n" for line in distinct_lines(sentences, count))


def run_process(command: Sequence[str]) -> ProcessRun:
    """Run a command and measure it.

    Raises:
        subprocess.CalledProcessError: its exit status is not 0.
    """
    began_s, peak_bytes = time.perf_counter(), 0
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: S603 -- our own commands
        while process.poll() is None:
            peak_bytes = max(peak_bytes, _peak_bytes(process.pid))
            time.sleep(LOOK_S)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return ProcessRun(time.perf_counter() - began_s, peak_bytes)


def _peak_bytes(pid: int) -> int:
    """Return the peak of a process's own memory; wait4's figure would include its parent's."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def measure_speed(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure whole processes from file to file: loading, reading, translating, writing."""
    source, workers = scratch / "in.txt", len(os.sched_getaffinity(0))
    write_lines(source, arguments.lines, read_lines(arguments.sentences))
    beam = str(arguments.beam_size)
    ours = [sys.executable, "-m", "service", "batch", str(source), "--force", "--beam-size", beam]
    settings = {
        "model": str(arguments.model / CTRANSLATE2_INT8),
        "precision": "int8",
        "tokenizer": str(arguments.model / TOKENIZER),
        "workers": workers,
        "beam_size": arguments.beam_size,
        "max_batch_size": 32,
        "source": str(source),
        "target": str(scratch / "ct2.txt"),
    }
    theirs = [str(arguments.peers), "-m", "bench.peers.ctranslate2_file", json.dumps(settings)]
    commands = {
        "Dragoman": [*ours, "--model", str(arguments.model / INT8), "-o", str(scratch / "out.txt")],
        "CTranslate2": theirs,
    }
    ran: dict[str, list[ProcessRun]] = {name: [] for name in commands}
    for number in range(arguments.rounds):
        for name in turn(list(commands), number):
            ran[name].append(run_process(commands[name]))
    rows = [
        {
            "engine": name,
            "lines": arguments.lines,
            "beam_size": arguments.beam_size,
            "sentences_per_s": asdict(spread([arguments.lines / one.seconds for one in runs])),
            "peak_bytes": max(one.peak_bytes for one in runs),
        }
        for name, runs in ran.items()
    ]
    for row in rows:
        speed = row["sentences_per_s"]
        print(f"{row['engine']:12} {speed['median']:8.1f} sentences/s, peak {row['peak_bytes'] >> 20} MiB")
    return rows


def measure_memory(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure the peak memory of a process that runs a job of distinct lines with a test double as engine."""
    rows = []
    for count in arguments.sizes:
        source, command = _job_without_engine(count, arguments.sentences, scratch)
        ran = run_process(command)
        rows.append({"lines": count, "source_bytes": source.stat().st_size, **asdict(ran)})
        print(f"{count:9,} lines  peak {ran.peak_bytes / MEBIBYTE:6.1f} MiB  {ran.seconds:6.1f} s")
    return rows


def measure_resume(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure a job, and its resumption from a complete journal."""
    rows = []
    for count in arguments.sizes:
        _, command = _job_without_engine(count, arguments.sentences, scratch)
        first, again = run_process(command), run_process(command)
        rows.append({"lines": count, "first_s": first.seconds, "resume_s": again.seconds})
        print(f"{count:9,} lines  first {first.seconds:6.1f} s  resumed {again.seconds:6.1f} s")
    return rows


def _job_without_engine(count: int, sentences: Path, scratch: Path) -> tuple[Path, list[str]]:
    """Write a file of distinct lines; return it and the command that runs its job, or later resumes it."""
    source, folder = scratch / "in.txt", scratch / str(count)
    write_lines(source, count, read_lines(sentences))
    folder.mkdir()
    return source, [sys.executable, "-m", "bench.batch_worker", str(folder), str(source)]


def measure_journal(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure the same translator with and without a journal, in turns."""
    source = scratch / "in.txt"
    write_lines(source, arguments.lines, read_lines(arguments.sentences))
    seconds: dict[str, list[float]] = {"with journal": [], "without": []}
    with Router.open({"bench": arguments.model}) as router:
        pair = router.route().pair
        translator = RoutedEntryTranslator(router, pair.source, pair.target)
        run_without_journal(scratch, source, translator)
        for number in range(arguments.rounds):
            for name in turn(list(seconds), number):
                folder = scratch / f"{name}-{number}"
                folder.mkdir()
                began_s = time.perf_counter()
                if name == "without":
                    run_without_journal(folder, source, translator)
                else:
                    run_with_journal(folder, source, translator)
                seconds[name].append(time.perf_counter() - began_s)
    shares = [a / b - 1 for a, b in zip(seconds["with journal"], seconds["without"], strict=True)]
    print(f"a journal costs {100 * spread(shares).median:.1f} % of {arguments.lines:,} lines' time")
    return [{"lines": arguments.lines, "seconds": seconds, "cost": asdict(spread(shares))}]


def measure_cluster(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure one and two Ray workers of one CPU each, and the local engine.

    The time for a file of one line, which is that of starting, is subtracted.
    """
    whole, one = scratch / "in.txt", scratch / "one.txt"
    write_lines(whole, arguments.lines, read_lines(arguments.sentences))
    write_lines(one, 1, read_lines(arguments.sentences))
    batch = [sys.executable, "-m", "service", "batch", "--force", "--beam-size", str(arguments.beam_size)]
    batch += ["--model", str(arguments.model), "-o", str(scratch / "out.txt")]
    engines = {
        "ray, 1 worker": ["--engine", "ray", "--workers", "1"],
        "ray, 2 workers": ["--engine", "ray", "--workers", "2"],
        "local, 2 CPUs": [],
    }
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    starting = {name: run_process([*batch, str(one), *extra]).seconds for name, extra in engines.items()}
    for number in range(arguments.rounds):
        for name in turn(list(engines), number):
            seconds[name].append(run_process([*batch, str(whole), *engines[name]]).seconds)
    rows = []
    for name, ran in seconds.items():
        rates = [arguments.lines / (each - starting[name]) for each in ran]
        rows.append(
            {
                "engine": name,
                "lines": arguments.lines,
                "starting_s": starting[name],
                "seconds": ran,
                "sentences_per_s_once_started": asdict(spread(rates)),
            }
        )
        print(
            f"{name:15} {spread(rates).median:8.1f} sentences/s once started, {starting[name]:.1f} s before"
        )
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.batch", description=__doc__)
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/batch-speed.json")
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="source text, a sentence a line")
    measures = parser.add_subparsers(dest="measure", required=True)
    for name, measured in (("speed", "FOLDER"), ("journal", "BUNDLE"), ("ray", "BUNDLE")):
        timed = measures.add_parser(name)
        timed.add_argument("model", type=Path, metavar=measured)
        timed.add_argument("--lines", type=int, default=100_000)
        timed.add_argument("--rounds", type=int, default=3)
        timed.add_argument("--beam-size", type=int, default=1)
        timed.add_argument("--peers", type=Path, default=PEERS_PYTHON, help="Python that has CTranslate2")
    for name in ("memory", "resume"):
        sized = measures.add_parser(name)
        sized.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="LINES")
    return parser


def main() -> int:
    arguments = _parser().parse_args()
    measure = {
        "speed": measure_speed,
        "memory": measure_memory,
        "resume": measure_resume,
        "journal": measure_journal,
        "ray": measure_cluster,
    }[arguments.measure]
    with tempfile.TemporaryDirectory(prefix="dragoman-batch-") as scratch:
        rows = measure(arguments, Path(scratch))
    if arguments.output:
        bundle = getattr(arguments, "model", Path("models/de-en"))
        bundle = bundle / INT8 if arguments.measure == "speed" else bundle
        origin = provenance(bundle, " ".join(["python -m bench.batch", *sys.argv[1:]]))
        write_result(arguments.output, origin, {"results": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
