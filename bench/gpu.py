"""Sentences per second of a bundle on a provider: `python -m bench.gpu models/de-en-fp16 --provider cuda`.

With `--provider cpu` it measures a bundle on the CPU for comparison.
"""

import argparse
import itertools
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.provenance import provenance, write_result
from bench.throughput import Setting, Throughput, measure
from bench.workloads import SENTENCES, read_lines
from dragoman import Translator
from dragoman.providers import parse_providers

BATCHES = (1, 8, 32, 128)
BEAM_SIZES = (1, 4)
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")


def gpu_names() -> list[str]:
    """Return the GPUs with memory and driver as nvidia-smi reports them; empty if it is not installed."""
    try:
        done = subprocess.run(NVIDIA_SMI, capture_output=True, text=True, check=True)  # noqa: S603 -- fixed words
    except FileNotFoundError:
        return []
    return done.stdout.splitlines()


def run(bundle: Path, providers: str, lines: Sequence[str], rounds: int) -> list[Throughput]:
    """Measure every batch and beam size, one call at a time.

    Raises:
        ProviderError: a provider is not available.
    """
    settings = [Setting(batch, beam_size, 1) for batch in BATCHES for beam_size in BEAM_SIZES]
    with Translator.open(bundle, replicas=1, providers=parse_providers(providers)) as translator:
        return measure(translator, list(lines), settings, rounds)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument(
        "--provider", default="cuda", help="cuda, tensorrt, cpu, or several with commas between"
    )
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="source text, a sentence a line")
    parser.add_argument("--lines", type=int, default=512, help="so many; those there are begin again")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/gpu.json")
    arguments = parser.parse_args(words)
    lines = list(itertools.islice(itertools.cycle(read_lines(arguments.sentences)), arguments.lines))
    results = run(arguments.bundle, arguments.provider, lines, arguments.rounds)
    for result in results:
        print(f"batch {result.setting.batch:3}  beam {result.setting.beam_size}  {result}")
    if arguments.output:
        command = (
            f"python -m bench.gpu {arguments.bundle} --provider {arguments.provider}"
            f" --lines {arguments.lines} --rounds {arguments.rounds}"
        )
        figures = {
            "providers": arguments.provider,
            "gpus": gpu_names(),
            "lines": arguments.lines,
            "rounds": arguments.rounds,
            "replicas": 1,
            "results": [asdict(result) for result in results],
        }
        write_result(arguments.output, provenance(arguments.bundle, command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
