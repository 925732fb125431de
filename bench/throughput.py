"""Sentences per second of a bundle on a text file: `python -m bench.throughput models/de-en`."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.rounds import interleave, spread
from bench.workloads import SENTENCES, read_lines
from dragoman import DecodingOptions, InputError, Translator


@dataclass(frozen=True, slots=True)
class Setting:
    """The variable parts of a measurement: sentences per call, beam size, concurrent calls."""

    batch: int
    beam_size: int
    callers: int


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
    translator: Translator, sentences: list[str], settings: Sequence[Setting], rounds: int
) -> list[dict[str, Any]]:
    """Measure all settings in turn, round by round, so that drift of the machine affects all of them."""
    for setting in settings:
        run_once(translator, sentences[: max(8, setting.batch)], setting)
    timed = interleave(settings, [""], rounds, lambda setting, *_: run_once(translator, sentences, setting))
    rows = []
    for (setting, _), runs in timed.items():
        rates = spread([len(sentences) / seconds for seconds, _ in runs])
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


def main() -> None:
    options: Options = {"--sentences": SENTENCES, "--rounds": 5, "--replicas": 2}
    command = Command("throughput", __doc__, {"bundle": Path, **options})
    arguments = command.parse()
    sentences = read_lines(arguments.sentences)
    settings = [
        Setting(batch, beam, callers) for callers, batch, beam in product((1, 2, 8), (1, 8, 32), (1, 4))
    ]
    with Translator.open(arguments.bundle, replicas=arguments.replicas) as translator:
        results = measure(translator, sentences, settings, arguments.rounds)
    figures = {"sentences": len(sentences), "rounds": arguments.rounds, "replicas": arguments.replicas}
    command.write(arguments.bundle, {**figures, "threads_per_replica": 1, "results": results})


if __name__ == "__main__":
    main()
