"""Speed of all engines on the same batches, in interleaved rounds.

`python -m bench.offline FOLDER real` translates text with the model that `bench.models` prepared in FOLDER;
`forced` translates random ids into exactly 30 tokens, for a model with random weights.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import sacrebleu
import sentencepiece
from tqdm import tqdm

from bench.contenders import REFERENCE, Contender, Worker, parser_of, running, select_contenders, versions_of
from bench.models import TOKENIZER
from bench.outputs import share_equal, translate_sources
from bench.peers.protocol import Ids, Search
from bench.provenance import provenance, write_result
from bench.rounds import speed_ratios, spread, turn
from bench.workloads import Workload, forced, make_batches, read_lines, real_text

BATCHES = (1, 8, 32)
BEAMS = (1, 4)
WORKERS = (1, 2)


@dataclass(frozen=True, slots=True)
class Setting:
    """The variable parts of a measurement."""

    workers: int
    batch: int
    beam_size: int


@dataclass(slots=True)
class Timings:
    """Timings of one engine in one setting, one value per round."""

    seconds: list[float] = field(default_factory=list)
    target_tokens: list[int] = field(default_factory=list)


Measured = dict[Setting, dict[str, Timings]]


def measure(
    contenders: Sequence[Contender], workload: Workload, settings: Sequence[Setting], counts: tuple[int, int]
) -> Measured:
    """Measure all engines in turn, setting by setting, round by round.

    Args:
        contenders: engines; each gets its own process.
        workload: sources, of which a setting may use only the first ones.
        settings: settings with the same number of workers.
        counts: number of rounds, and minimum number of sentences of a setting.
    """
    num_rounds, least_sentences = counts
    (workers,) = {setting.workers for setting in settings}
    measured: Measured = {setting: {one.name: Timings() for one in contenders} for setting in settings}
    with running(contenders, workers) as started:
        rounds = [(setting, number) for number in range(-1, num_rounds) for setting in settings]
        for setting, number in tqdm(rounds, desc=f"{workers} worker(s)"):
            batches = _batches(workload, setting, least_sentences)
            for name in turn(list(started), number + 1):
                # Round -1 warms up with one batch.
                given = batches if number >= 0 else batches[:1]
                seconds, tokens = _run(started[name], given, workload.search(setting.beam_size))
                if number >= 0:
                    measured[setting][name].seconds.append(seconds)
                    measured[setting][name].target_tokens.append(tokens)
    return measured


def summarise(measured: Measured, workload: Workload, least_sentences: int) -> list[dict[str, Any]]:
    """Return a row for each setting and engine."""
    rows = []
    for setting, timings in measured.items():
        batches = _batches(workload, setting, least_sentences)
        num_sentences = sum(map(len, batches))
        reference = timings[REFERENCE].seconds
        for name, timing in timings.items():
            rows.append(
                {
                    **asdict(setting),
                    "engine": name,
                    "sentences": num_sentences,
                    "source_tokens": sum(len(source) for batch in batches for source in batch),
                    "target_tokens": timing.target_tokens[0],
                    "ms_per_sentence": asdict(spread([1e3 * s / num_sentences for s in timing.seconds])),
                    "target_tokens_per_s": asdict(
                        spread([n / s for n, s in zip(timing.target_tokens, timing.seconds, strict=True)])
                    ),
                    "speed": asdict(speed_ratios(timing.seconds, reference)),
                }
            )
    return rows


def quality(
    contenders: Sequence[Contender], workload: Workload, references: list[str] | None, tokenizer: Path
) -> list[dict[str, Any]]:
    """Return, per engine and beam, BLEU (with references) and the share of outputs equal to our fp32's."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
    rows = []
    with running(contenders, 1) as started:
        for beam_size in BEAMS:
            outputs = {
                name: translate_sources(worker, workload.sources, workload.search(beam_size))
                for name, worker in tqdm(started.items(), desc=f"outputs, beam {beam_size}")
            }
            exact = next((found for name, found in outputs.items() if name == "Dragoman fp32"), None)
            for name, found in outputs.items():
                row: dict[str, Any] = {"engine": name, "beam_size": beam_size, "sentences": len(found)}
                if exact is not None:
                    row["equal_to_fp32"] = share_equal(found, exact)
                if references is not None:
                    score = sacrebleu.BLEU().corpus_score(processor.decode(found), [references])
                    row["bleu"] = round(score.score, 2)
                rows.append(row)
    return rows


def _batches(workload: Workload, setting: Setting, least_sentences: int) -> list[list[Ids]]:
    """Make at least two batches for each worker, so that none is idle for long."""
    count = max(least_sentences, 2 * setting.workers * setting.batch)
    return make_batches(workload.sources[:count], setting.batch)


def _run(worker: Worker, batches: list[list[Ids]], search: Search) -> tuple[float, int]:
    """Return seconds and number of target tokens."""
    reply = worker.ask({"do": "run", "batches": batches, "search": asdict(search)})
    return reply["seconds"], sum(len(ids) for batch in reply["outputs"] for ids in batch)


def _print(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        time_ms, speed = row["ms_per_sentence"], row["speed"]
        print(
            f"{row['workers']} x batch {row['batch']:2} beam {row['beam_size']}  {row['engine']:24}"
            f"{time_ms['median']:8.1f} ms ({time_ms['least']:.1f} to {time_ms['most']:.1f})"
            f"{row['target_tokens_per_s']['median']:9.0f} tokens/s"
            f"{speed['median']:7.2f} x ({speed['least']:.2f} to {speed['most']:.2f})"
        )


def main() -> int:
    parser = parser_of(__doc__, "offline")
    parser.add_argument("workload", choices=("real", "forced"))
    parser.add_argument("--references", type=Path, help="of the sentences, for BLEU; line by line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, action="append", help="batches at a time; default: 1 and 2")
    parser.add_argument("--lines", type=int, default=128, help="most sentences that are timed")
    parser.add_argument("--quality-lines", type=int, default=1000, help="most sentences that are scored")
    parser.add_argument("--least-sentences", type=int, default=16, help="of a setting with small batches")
    arguments = parser.parse_args()
    contenders = select_contenders(arguments)
    tokenizer = arguments.folder / TOKENIZER
    lines = read_lines(arguments.sentences)
    most = arguments.lines
    if arguments.workload == "real":
        workload = real_text(lines[:most], tokenizer)
        least_sentences = len(workload.sources)
    else:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
        workload = forced(lines, tokenizer, processor.vocab_size(), most)
        least_sentences = arguments.least_sentences
    rows: list[dict[str, Any]] = []
    for workers in arguments.workers or WORKERS:
        settings = [Setting(workers, *values) for values in product(BATCHES, BEAMS)]
        measured = measure(contenders, workload, settings, (arguments.rounds, least_sentences))
        rows += summarise(measured, workload, least_sentences)
        _print(rows[-len(settings) * len(contenders) :])
    figures: dict[str, Any] = {
        "packages": versions_of(contenders),
        "rounds": arguments.rounds,
        "results": rows,
    }
    if arguments.workload == "real":
        references = read_lines(arguments.references) if arguments.references else None
        if references is not None and len(references) != len(lines):
            raise SystemExit(f"{len(references)} references for {len(lines)} sentences")
        scored = slice(arguments.quality_lines)
        figures["quality"] = quality(
            contenders, real_text(lines[scored], tokenizer), references and references[scored], tokenizer
        )
    for row in figures.get("quality", ()):
        print(row)
    if arguments.output:
        command = (
            f"python -m bench.offline {arguments.folder} {arguments.workload} --rounds {arguments.rounds}"
        )
        write_result(arguments.output, provenance(contenders[0].model, command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
