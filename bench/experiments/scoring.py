"""Score a bundle on one test set per beam size: BLEU, cased and lower-cased, and chrF, into a JSON file."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sacrebleu
from tqdm import tqdm

from dragoman import DecodingOptions, EngineRequest, FinishReason, Translation, Translator


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of one bundle at one beam size; BLEU and chrF from 0 to 100."""

    precision: str
    beam_size: int
    lines: int
    bleu: float
    bleu_lower: float
    """BLEU with both sides in lower case."""
    chrf: float
    bleu_signature: str
    cut_by_length: int
    """Number of lines with a segment that reached the length limit."""


def read_test_set(files: tuple[Path, Path]) -> tuple[list[str], list[str]]:
    """Read sources and references, line by line.

    Raises:
        SystemExit: there are no lines, or the files differ in their number.
    """
    sources, references = (path.read_text(encoding="utf8").splitlines() for path in files)
    if not sources or len(sources) != len(references):
        raise SystemExit(f"{files[0]}: {len(sources)} lines, {files[1]}: {len(references)}")
    return sources, references


def score(translator: Translator, sources: Sequence[str], references: Sequence[str], beam_size: int) -> Score:
    """Translate the sources and compare the outputs with the references."""
    outcomes = translator.translate_many(sources, EngineRequest(DecodingOptions(beam_size=beam_size)))
    outputs: list[Translation] = []
    for outcome in tqdm(outcomes, total=len(sources), desc=f"beam {beam_size}", disable=None):
        if not isinstance(outcome, Translation):
            raise outcome
        outputs.append(outcome)
    texts, expected = [output.text for output in outputs], [list(references)]
    bleu, lower = sacrebleu.BLEU(), sacrebleu.BLEU(lowercase=True)
    return Score(
        precision=translator.manifest.precision,
        beam_size=beam_size,
        lines=len(sources),
        bleu=round(bleu.corpus_score(texts, expected).score, 2),
        bleu_lower=round(lower.corpus_score(texts, expected).score, 2),
        chrf=round(sacrebleu.CHRF().corpus_score(texts, expected).score, 2),
        bleu_signature=str(bleu.get_signature()),
        cut_by_length=sum(output.finish_reason is FinishReason.LENGTH for output in outputs),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.experiments.scoring", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("source", type=Path, help="a sentence a line")
    parser.add_argument("reference", type=Path)
    parser.add_argument("output", type=Path, help="JSON file")
    parser.add_argument("--beam-size", dest="beam_sizes", type=int, action="append", required=True)
    arguments = parser.parse_args()
    sources, references = read_test_set((arguments.source, arguments.reference))
    with Translator.open(arguments.bundle) as translator:
        scores = [score(translator, sources, references, size) for size in arguments.beam_sizes]
    content = json.dumps([asdict(one) for one in scores], indent=2)
    arguments.output.write_text(content + "\n", encoding="utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
