"""Speed of batch jobs compared with CTranslate2: `python -m bench.batch FOLDER`.

Translates a file with `dragoman batch` and with CTranslate2's iterable translation, using the model that
`bench.models` prepared in FOLDER. Whole processes are measured: loading, reading, translating, writing.
"""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.models import CTRANSLATE2_INT8, INT8, PEERS_PYTHON, TOKENIZER
from bench.processes import run_process
from bench.rounds import interleave, spread
from bench.workloads import SENTENCES, distinct_lines, read_lines


def measure(arguments: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """Measure both engines in turns on a file of distinct lines."""
    source, folder = scratch / "in.txt", arguments.folder
    with source.open("w", encoding="utf8") as lines:
        drawn = distinct_lines(read_lines(arguments.sentences), arguments.lines)
        lines.writelines(f"{line}\n" for line in drawn)
    settings = {
        "model": str(folder / CTRANSLATE2_INT8),
        "tokenizer": str(folder / TOKENIZER),
        "workers": len(os.sched_getaffinity(0)),
        "beam_size": arguments.beam_size,
        "source": str(source),
        "target": str(scratch / "ct2.txt"),
    }
    ours = [sys.executable, "-m", "service", "batch", "--force", source, "-o", scratch / "out.txt"]
    commands = {
        "Dragoman": [*ours, "--beam-size", arguments.beam_size, "--model", folder / INT8],
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


def main() -> None:
    options: Options = {
        "folder": Path,
        "--lines": 100_000,
        "--rounds": 3,
        "--beam-size": 1,
        "--sentences": SENTENCES,
        "--peers Python that has CTranslate2": PEERS_PYTHON,
    }
    command = Command("batch", __doc__, options)
    arguments = command.parse()
    with tempfile.TemporaryDirectory(prefix="dragoman-batch-") as scratch:
        rows = measure(arguments, Path(scratch))
    show(rows)
    command.write(arguments.folder / INT8, {"results": rows})


if __name__ == "__main__":
    main()
