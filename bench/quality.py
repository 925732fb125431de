"""BLEU and chrF of a bundle on test sets."""

import argparse
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import sacrebleu
from tqdm import tqdm

from bench.provenance import provenance, write_result
from dragoman import DecodingOptions, EngineRequest, FinishReason, Translation, Translator


@dataclass(frozen=True, slots=True)
class Quality:
    """Scores of one test set at one beam size."""

    test_set: str
    beam_size: int
    lines: int
    bleu: float
    chrf: float
    bleu_signature: str
    cut_by_length: int
    """Number of lines with a segment that reached the length limit."""
    seconds: float


def measure(translator: Translator, name: str, files: tuple[Path, Path], options: DecodingOptions) -> Quality:
    """Translate a test set and score it against its reference."""
    sources, references = (path.read_text(encoding="utf8").splitlines() for path in files)
    if not sources or len(sources) != len(references):
        raise SystemExit(f"{name}: {len(sources)} source lines, {len(references)} reference lines")
    began = time.perf_counter()
    outputs: list[Translation] = []
    outcomes = translator.translate_many(sources, EngineRequest(options))
    for outcome in tqdm(outcomes, total=len(sources), desc=f"{name}, beam {options.beam_size}", disable=None):
        if not isinstance(outcome, Translation):
            raise outcome
        outputs.append(outcome)
    seconds = time.perf_counter() - began
    texts = [output.text for output in outputs]
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    return Quality(
        test_set=name,
        beam_size=options.beam_size or translator.manifest.decoding.beam_size,
        lines=len(sources),
        bleu=round(bleu.corpus_score(texts, [references]).score, 2),
        chrf=round(chrf.corpus_score(texts, [references]).score, 2),
        bleu_signature=str(bleu.get_signature()),
        cut_by_length=sum(output.finish_reason is FinishReason.LENGTH for output in outputs),
        seconds=round(seconds, 2),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument(
        "--set",
        dest="sets",
        nargs=3,
        action="append",
        required=True,
        metavar=("NAME", "SOURCE", "REFERENCE"),
        help="a test set; may be given several times",
    )
    parser.add_argument("--beam-size", dest="beam_sizes", type=int, action="append", help="default: 1 and 4")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--no-shortlist", action="store_true", help="look at all target tokens")
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/quality.json")
    arguments = parser.parse_args()
    translator = Translator.open(arguments.bundle, replicas=arguments.replicas)
    results = [
        measure(
            translator,
            name,
            (Path(source), Path(reference)),
            DecodingOptions(beam_size=beam_size, use_shortlist=not arguments.no_shortlist),
        )
        for name, source, reference in arguments.sets
        for beam_size in arguments.beam_sizes or [1, 4]
    ]
    for result in results:
        print(
            f"{result.test_set:28} beam {result.beam_size}  BLEU {result.bleu:5.2f}  chrF {result.chrf:5.2f}"
            f"  {result.lines / result.seconds:6.1f} lines/s"
        )
    if arguments.output:
        sets = [
            f"--set {name} {Path(source).name} {Path(reference).name}"
            for name, source, reference in arguments.sets
        ]
        options = " --no-shortlist" if arguments.no_shortlist else ""
        command = f"python -m bench.quality {arguments.bundle} {' '.join(sets)}{options}"
        figures = {"replicas": arguments.replicas, "results": [asdict(result) for result in results]}
        write_result(arguments.output, provenance(arguments.bundle, command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
