"""Sentences per second of a bundle on a provider: `python -m bench.gpu models/de-en-fp16 --provider cuda`.

With `--provider cpu` it measures a bundle on the CPU for comparison.
"""

import subprocess
from collections.abc import Sequence
from itertools import cycle, islice, product
from pathlib import Path

from bench.command import Command, Options
from bench.throughput import Setting, measure
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


def main(words: Sequence[str] | None = None) -> None:
    """Measure every batch and beam size, one call at a time.

    Raises:
        ProviderError: a provider is not available.
    """
    options: Options = {
        "--provider cuda, tensorrt, cpu, or several separated by commas": "cuda",
        "--rounds": 5,
    }
    options |= {"--sentences": SENTENCES, "--lines to translate; sentences are repeated": 512}
    command = Command("gpu", __doc__, {"bundle": Path, **options})
    arguments = command.parse(words)
    lines = list(islice(cycle(read_lines(arguments.sentences)), arguments.lines))
    settings = [Setting(batch, beam_size, 1) for batch, beam_size in product(BATCHES, BEAM_SIZES)]
    providers = parse_providers(arguments.provider)
    with Translator.open(arguments.bundle, replicas=1, providers=providers) as translator:
        results = measure(translator, lines, settings, arguments.rounds)
    figures = {"providers": arguments.provider, "gpus": gpu_names(), "lines": arguments.lines}
    figures |= {"rounds": arguments.rounds, "replicas": 1, "results": results}
    command.write(arguments.bundle, figures)


if __name__ == "__main__":
    main()
