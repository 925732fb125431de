"""Speed of all engines on the same batches, in interleaved rounds.

`python -m bench.offline FOLDER real` translates text with the model that `bench.models` prepared in FOLDER;
`forced` translates random ids into exactly 30 tokens, for a model with random weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import sentencepiece

from bench import contenders
from bench.command import Options, show
from bench.models import TOKENIZER
from bench.peers.protocol import Ids
from bench.quality import scores_of
from bench.rounds import interleave, speed_ratios, spread
from bench.workloads import Workload, forced, make_batches, read_lines, real_text

BATCHES = (1, 8, 32)
BEAMS = (1, 4)
WORKERS = (1, 2)
MIN_EQUAL_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Setting:
    """The variable parts of a measurement."""

    workers: int
    batch: int
    beam_size: int


Measured = Mapping[tuple[Setting, str], Sequence[tuple[float, int]]]
"""Seconds and number of target tokens in each round, by setting and engine."""


def measure(
    engines: Sequence[contenders.Contender],
    workload: Workload,
    settings: Sequence[Setting],
    counts: tuple[int, int],
) -> Measured:
    """Measure all engines in turn, setting by setting, round by round.

    Args:
        engines: each gets its own process.
        workload: sources, of which a setting may use only the first ones.
        settings: settings with the same number of workers.
        counts: number of rounds, and minimum number of sentences of a setting.
    """
    num_rounds, least_sentences = counts
    (workers,) = {setting.workers for setting in settings}
    names = [one.name for one in engines]
    with contenders.running(engines, workers) as started:

        def run(setting: Setting, name: str, _: int) -> tuple[float, int]:
            batches = _batches(workload, setting, least_sentences)
            seconds, outputs = started[name].search(batches, workload.search(setting.beam_size))
            return seconds, sum(len(ids) for batch in outputs for ids in batch)

        for setting, name in product(settings, names):  # warm up
            few = _batches(workload, setting, least_sentences)[:1]
            started[name].search(few, workload.search(setting.beam_size))
        return interleave(settings, names, num_rounds, run)


def summarise(measured: Measured, workload: Workload, least_sentences: int) -> list[dict[str, Any]]:
    """Return a row for each setting and engine."""
    rows = []
    for (setting, name), runs in measured.items():
        sources = [source for batch in _batches(workload, setting, least_sentences) for source in batch]
        seconds = [one for one, _ in runs]
        speed = speed_ratios(seconds, [one for one, _ in measured[setting, contenders.REFERENCE]])
        row = {
            **asdict(setting),
            "engine": name,
            "sentences": len(sources),
            "source_tokens": sum(map(len, sources)),
            "target_tokens": runs[0][1],
            "ms_per_sentence": asdict(spread([1e3 * one / len(sources) for one in seconds])),
            "target_tokens_per_s": asdict(spread([tokens / one for one, tokens in runs])),
            "speed": asdict(speed),
        }
        rows.append(row)
    return rows


def quality(
    engines: Sequence[contenders.Contender], workload: Workload, references: list[str] | None, tokenizer: Path
) -> list[dict[str, Any]]:
    """Return, per engine and beam, BLEU (with references) and the share of outputs equal to our fp32's."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
    rows = []
    with contenders.running(engines, 1) as started:
        for beam_size in BEAMS:
            find = partial(
                contenders.translate_sources, sources=workload.sources, search=workload.search(beam_size)
            )
            outputs = {name: find(one) for name, one in started.items()}
            for name, found in outputs.items():
                row: dict[str, Any] = {"engine": name, "beam_size": beam_size, "sentences": len(found)}
                if "Dragoman fp32" in outputs:
                    row["equal_to_fp32"] = contenders.share_equal(found, outputs["Dragoman fp32"])
                if references is not None:
                    row["bleu"] = scores_of(processor.decode(found), references)["bleu"]
                rows.append(row)
    return rows


def check_weights(rows: Sequence[dict[str, Any]]) -> None:
    """Check that all engines have the same weights: an fp32 engine's greedy output is that of ours.

    Else the conversion is wrong and timings mean nothing. A few sentences may differ: engines add in other
    orders, and two tokens can be equally good.

    Raises:
        SystemExit: an engine differs in too many sentences.
    """
    for row in rows:
        share = row.get("equal_to_fp32", 1.0)
        if "fp32" in row["engine"] and row["beam_size"] == 1 and share < MIN_EQUAL_SHARE:
            raise SystemExit(f"{row['engine']}: {share:.0%} of the outputs are those of Dragoman fp32")


def _batches(workload: Workload, setting: Setting, least_sentences: int) -> list[list[Ids]]:
    """Make at least two batches for each worker, so that none is idle for long."""
    count = max(least_sentences, 2 * setting.workers * setting.batch)
    return make_batches(workload.sources[:count], setting.batch)


def main() -> None:
    options: Options = {
        "--references of the sentences, for BLEU; line by line": Path,
        "--rounds": 5,
        "--workers batches at a time": WORKERS,
        "--lines that are timed, at most": 128,
        "--quality-lines that are scored, at most": 1000,
        "--least-sentences of a setting with small batches": 16,
    }
    command = contenders.comparison("offline", __doc__, {"workload": ("real", "forced"), **options})
    arguments = command.parse()
    engines = contenders.select_contenders(arguments)
    is_real = arguments.workload == "real"
    tokenizer, lines = arguments.folder / TOKENIZER, read_lines(arguments.sentences)
    references = read_lines(arguments.references) if arguments.references else None
    if references is not None and len(references) != len(lines):
        command.parser.error(f"{len(references)} references for {len(lines)} sentences")
    if is_real:
        workload = real_text(lines[: arguments.lines], tokenizer)
        least_sentences = len(workload.sources)
    else:
        workload = forced(lines, tokenizer, arguments.lines)
        least_sentences = arguments.least_sentences
    figures: dict[str, Any] = {"packages": contenders.versions_of(engines), "rounds": arguments.rounds}
    if is_real:
        scored = slice(arguments.quality_lines)
        text = real_text(lines[scored], tokenizer)
        figures["quality"] = quality(engines, text, references and references[scored], tokenizer)
        check_weights(figures["quality"])
    rows: list[dict[str, Any]] = []
    for workers in arguments.workers:
        settings = [Setting(workers, *values) for values in product(BATCHES, BEAMS)]
        measured = measure(engines, workload, settings, (arguments.rounds, least_sentences))
        rows += summarise(measured, workload, least_sentences)
    show([*rows, *figures.get("quality", ())])
    command.write(engines[0].model, {**figures, "results": rows})


if __name__ == "__main__":
    main()
