"""Sentences per second of a bundle on a text file: `python -m bench.throughput models/de-en`.

Every line is translated once: each run draws sentences of the file and puts a number in each. Text seen
before is faster where shapes are prepared once, as by cuDNN.
`--provider cuda` measures on a GPU; `--calls`, `--beams` and `--callers` choose the settings.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.rounds import interleave, spread
from bench.workloads import SENTENCES, distinct_lines, read_lines
from dragoman import DecodingOptions, InputError, Translator
from dragoman.providers import SessionOptions, parse_providers

BATCHES, BEAM_SIZES, CALLERS = (1, 8, 32), (1, 4), (1, 2, 8)
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")


@dataclass(frozen=True, slots=True)
class Setting:
    """The variable parts of a measurement: sentences per call, beam size, concurrent calls."""

    batch: int
    beam_size: int
    callers: int


def gpu_names() -> list[str]:
    """Return the GPUs with memory and driver as nvidia-smi reports them; empty if it is not installed."""
    try:
        done = subprocess.run(NVIDIA_SMI, capture_output=True, text=True, check=True)  # noqa: S603 -- fixed words
    except FileNotFoundError:
        return []
    return done.stdout.splitlines()


def run_once(translator: Translator, sentences: list[str], setting: Setting) -> tuple[float, int]:
    """Translate the sentences once; return seconds and number of target tokens."""
    options = DecodingOptions(beam_size=setting.beam_size)
    batches = [sentences[begin : begin + setting.batch] for begin in range(0, len(sentences), setting.batch)]

    def translate(batch: list[str]) -> int:
        tokens = 0
        for outcome in translator.translate(batch, options):
            if isinstance(outcome, InputError):
                raise outcome
            tokens += sum(segment.num_target_tokens for segment in outcome.segments)
        return tokens

    began = time.perf_counter()
    with ThreadPoolExecutor(setting.callers) as pool:
        tokens = sum(pool.map(translate, batches))
    return time.perf_counter() - began, tokens


def measure(
    translator: Translator, sentences: Sequence[str], settings: Sequence[Setting], num_lines: int, rounds: int
) -> list[dict[str, Any]]:
    """Measure all settings in turn, round by round, so that drift of the machine affects all of them.

    Every run translates `num_lines` new lines, made of the sentences.
    """
    lines = distinct_lines(sentences, sys.maxsize)
    for setting in settings:
        run_once(translator, list(islice(lines, max(8, setting.batch))), setting)
    timed = interleave(
        settings,
        [""],
        rounds,
        lambda setting, *_: run_once(translator, list(islice(lines, num_lines)), setting),
    )
    rows = []
    for (setting, _), runs in timed.items():
        rates = spread([num_lines / seconds for seconds, _ in runs])
        row = {
            "setting": asdict(setting),
            "median_sentences_per_s": round(rates.median, 2),
            "slowest_sentences_per_s": round(rates.least, 2),
            "fastest_sentences_per_s": round(rates.most, 2),
            "target_tokens_per_s": round(spread([tokens / seconds for seconds, tokens in runs]).median, 1),
        }
        rows.append(row)
    show(rows)
    return rows


def main(words: Sequence[str] | None = None) -> None:
    """Measure every setting.

    Raises:
        ProviderError: a provider is not available.
    """
    options: Options = {"--sentences": SENTENCES, "--rounds": 5, "--replicas": 2}
    options |= {"--provider cuda, tensorrt, cpu, or several separated by commas": "cpu"}
    options |= {"--lines to translate in a run; default: as many as there are sentences": int}
    options |= {
        "--calls of so many sentences": BATCHES,
        "--beams": BEAM_SIZES,
        "--callers at a time": CALLERS,
    }
    command = Command("throughput", __doc__, {"bundle": Path, **options})
    arguments = command.parse(words)
    sentences = read_lines(arguments.sentences)
    num_lines = arguments.lines or len(sentences)
    searches = product(arguments.callers, arguments.calls, arguments.beams)
    settings = [Setting(batch, beam, callers) for callers, batch, beam in searches]
    providers, replicas = parse_providers(arguments.provider), arguments.replicas
    with Translator.open(arguments.bundle, replicas=replicas, providers=providers) as translator:
        results = measure(translator, sentences, settings, num_lines, arguments.rounds)
    figures = {"providers": arguments.provider, "gpus": gpu_names(), "sentences": num_lines}
    figures |= {"rounds": arguments.rounds, "replicas": replicas, "threads_per_replica": 1}
    command.write(arguments.bundle, {**figures, "results": results}, SessionOptions(providers=providers))


if __name__ == "__main__":
    main()
