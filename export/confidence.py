"""`python -m export.confidence models/NAME --pairs SOURCE TARGET`: calibrate a bundle's confidences.

Translates held-out text with the bundle as shipped, scores each translation against its reference, and writes
a map to the manifest, which turns log-probability and lengths into the probability of a good translation.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

import sacrebleu
from tqdm import tqdm

from dragoman.bundle import open_bundle
from dragoman.decoding.scoring import length_norm
from dragoman.errors import DragomanError
from dragoman.translator import Translator
from dragoman.types import FinishReason, Translation
from export.bundle import ExportError, write_manifest
from export.compression import read_lines
from export.confidence_fit import ORIGIN_FIELD, Example, fit_confidence
from export.shortlist.text import evenly_spaced

GOOD_CHRF: Final = 50.0
"""Minimum sentence chrF of a good translation, 0 to 100."""

LineChoice = Literal["all", "odd", "even"]
"""Lines of each file to use, so that two commands can use different lines of the same files."""
LINE_CHOICES: Mapping[LineChoice, slice] = {
    "all": slice(None),
    "odd": slice(0, None, 2),
    "even": slice(1, None, 2),
}


@dataclasses.dataclass(frozen=True, slots=True)
class ScoredLine:
    """A translated line with the chrF of its translation, 0 to 100."""

    source: str
    translation: Translation
    chrf: float

    @property
    def is_good(self) -> bool:
        return self.chrf >= GOOD_CHRF


def main() -> int:
    """Run the command. Exit status 0: the map is written; 1: rejected, unchanged; 2: wrong arguments."""
    arguments = _parser().parse_args()
    try:
        _calibrate(arguments.bundle, chosen_pairs(arguments))
    except (ExportError, DragomanError) as error:
        sys.stderr.write(f"rejected: {error}\n")
        return 1
    return 0


def _calibrate(folder: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Fit a map and write it to the manifest."""
    manifest = open_bundle(folder).manifest
    with Translator.open(folder) as translator:
        examples = list(make_examples(score_lines(translator, pairs), manifest.decoding.length_penalty))
    fitted = fit_confidence(examples)
    facts = {
        "lines": len(examples),
        "good_share": round(sum(example.is_good for example in examples) / len(examples), 4),
        "good_chrf": GOOD_CHRF,
    }
    origin = {**manifest.origin, ORIGIN_FIELD: facts}
    write_manifest(folder, dataclasses.replace(manifest, confidence=fitted, origin=origin))
    sys.stderr.write(json.dumps({**dataclasses.asdict(fitted), **facts}, indent=2) + "\n")


def read_line_pairs(source: Path, target: Path, lines: LineChoice) -> list[tuple[str, str]]:
    """Return lines of two files with their translations, without those that are blank on a side.

    Raises:
        ExportError: a file cannot be read or is not UTF-8, or the files differ in their number of lines.
    """
    sources, targets = (list(read_lines(path, ExportError)) for path in (source, target))
    if len(sources) != len(targets):
        raise ExportError(f"{source} has {len(sources)} lines, but {target} has {len(targets)}")
    pairs = list(zip(sources, targets, strict=True))[LINE_CHOICES[lines]]
    return [pair for pair in pairs if all(side.strip() for side in pair)]


def score_lines(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Iterator[ScoredLine]:
    """Translate lines with the bundle's own search and score each against its reference.

    Raises:
        InputError: a line cannot be translated.
    """
    metric = sacrebleu.CHRF()
    outcomes = translator.translate_many(source for source, _ in pairs)
    bar = tqdm(outcomes, total=len(pairs), desc="translating", unit="line", mininterval=1, disable=None)
    for outcome, (source, reference) in zip(bar, pairs, strict=True):
        if not isinstance(outcome, Translation):
            raise outcome
        yield ScoredLine(source, outcome, metric.sentence_score(outcome.text, [reference]).score)


def make_examples(lines: Iterator[ScoredLine], length_penalty: float) -> Iterator[Example]:
    """Yield an example for each line that is a single translated segment: the chrF is of the whole line.

    Args:
        lines: lines translated with scores.
        length_penalty: the bundle's length penalty, which the segments' scores contain.
    """
    for line in lines:
        if len(line.translation.segments) == 1:
            (segment,) = line.translation.segments
            if segment.finish_reason in {FinishReason.STOP, FinishReason.LENGTH}:
                tokens, score = segment.num_target_tokens, segment.score or 0.0
                mean_logprob = score * length_norm(tokens, length_penalty) / tokens
                yield Example(len(segment.source), len(segment.text), mean_logprob, line.is_good)


def add_pairs_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names files of parallel text."""
    parser.add_argument(
        "--pairs",
        type=Path,
        nargs=2,
        action="append",
        required=True,
        metavar=("SOURCE", "TARGET"),
        help="parallel text that the model was not trained on: two files, a sentence on each line; "
        "may be given several times",
    )


def add_line_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose lines of parallel text."""
    add_pairs_argument(parser)
    parser.add_argument(
        "--lines", choices=get_args(LineChoice), default="all", help="lines of each file to use; default: all"
    )
    parser.add_argument(
        "--max-lines", type=int, help="maximum lines to translate, evenly spaced; default: all"
    )


def chosen_pairs(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the lines that the arguments of `add_line_arguments` choose, with their translations.

    Raises:
        ExportError: as `read_line_pairs` does.
    """
    pairs = [
        pair
        for source, target in arguments.pairs
        for pair in read_line_pairs(source, target, arguments.lines)
    ]
    return pairs if arguments.max_lines is None else evenly_spaced(pairs, arguments.max_lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m export.confidence",
        description="Calibrate the confidences of a bundle with its own translations of held-out text.",
    )
    parser.add_argument("bundle", type=Path, help="folder of the bundle, whose manifest is replaced")
    add_line_arguments(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
