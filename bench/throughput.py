"""Sentences per second of a bundle on a text file: `python -m bench.throughput models/de-en`."""

import argparse
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from bench.provenance import provenance, write_result
from bench.workloads import SENTENCES, read_lines
from dragoman import DecodingOptions, InputError, Translator


@dataclass(frozen=True, slots=True)
class Setting:
    """The variable parts of a measurement: sentences per call, beam size, concurrent calls."""

    batch: int
    beam_size: int
    callers: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates of one setting over all rounds."""

    setting: Setting
    median_sentences_per_s: float
    slowest_sentences_per_s: float
    fastest_sentences_per_s: float
    target_tokens_per_s: float

    def __str__(self) -> str:
        """Format the rates for people to read."""
        return (
            f"{self.median_sentences_per_s:7.1f} sentences/s "
            f"({self.slowest_sentences_per_s:.1f} to {self.fastest_sentences_per_s:.1f})  "
            f"{self.target_tokens_per_s:7.0f} tokens/s"
        )


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
    translator: Translator, sentences: list[str], settings: list[Setting], rounds: int
) -> list[Throughput]:
    """Measure all settings in turn, round by round, so that drift of the machine affects all of them."""
    timings: dict[Setting, list[tuple[float, int]]] = {setting: [] for setting in settings}
    for setting in settings:
        run_once(translator, sentences[: max(8, setting.batch)], setting)
    for _ in tqdm(range(rounds), desc="rounds", disable=None):
        for setting in settings:
            timings[setting].append(run_once(translator, sentences, setting))
    return [_summarise(setting, len(sentences), runs) for setting, runs in timings.items()]


def _summarise(setting: Setting, num_sentences: int, runs: list[tuple[float, int]]) -> Throughput:
    rates = [num_sentences / seconds for seconds, _ in runs]
    return Throughput(
        setting=setting,
        median_sentences_per_s=round(statistics.median(rates), 2),
        slowest_sentences_per_s=round(min(rates), 2),
        fastest_sentences_per_s=round(max(rates), 2),
        target_tokens_per_s=round(statistics.median(tokens / seconds for seconds, tokens in runs), 1),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.throughput", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="source text, a sentence a line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/throughput.json")
    arguments = parser.parse_args()
    sentences = read_lines(arguments.sentences)
    translator = Translator.open(arguments.bundle, replicas=arguments.replicas)
    settings = [
        Setting(batch, beam_size, callers)
        for callers in (1, 2, 8)
        for batch in (1, 8, 32)
        for beam_size in (1, 4)
    ]
    results = measure(translator, sentences, settings, arguments.rounds)
    for result in results:
        setting = result.setting
        print(f"callers {setting.callers}  batch {setting.batch:2}  beam {setting.beam_size}  {result}")
    if arguments.output:
        command = f"python -m bench.throughput {arguments.bundle} --rounds {arguments.rounds}"
        figures = {
            "sentences": len(sentences),
            "rounds": arguments.rounds,
            "replicas": arguments.replicas,
            "threads_per_replica": 1,
            "results": [asdict(result) for result in results],
        }
        write_result(arguments.output, provenance(arguments.bundle, command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
