"""BLEU and chrF of a bundle on test sets."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import sacrebleu
from tqdm import tqdm

from bench.command import Command, Options, Words, show
from dragoman import DecodingOptions, EngineRequest, FinishReason, Translation, Translator

BEAM_SIZES = (1, 4)
SETS: Options = {"--set a test set, one text per line": Words(("NAME", "SOURCE", "REFERENCE"))}
"""Argument of the commands that use test sets."""


class EvaluationSetError(ValueError):
    """A test set cannot be used; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A test set: files of sources and references, one per line."""

    name: str
    source: Path
    reference: Path

    def lines(self) -> tuple[list[str], list[str]]:
        """Return the sources and the references.

        Raises:
            EvaluationSetError: there are none, or the files differ in their number of lines.
        """
        source, reference = (
            path.read_text(encoding="utf8").splitlines() for path in (self.source, self.reference)
        )
        if not source or len(source) != len(reference):
            raise EvaluationSetError(
                f"--set {self.name}: {len(source)} source lines, {len(reference)} reference lines"
            )
        return source, reference


def measure(translator: Translator, one: EvaluationSet, options: DecodingOptions) -> dict[str, Any]:
    """Translate a test set and score it against its reference; return a row of the result.

    `cut_by_length` is the number of lines with a segment that reached the length limit.

    Raises:
        EvaluationSetError: the test set cannot be used.
    """
    sources, references = one.lines()
    began = time.perf_counter()
    outputs = translate_all(translator, sources, options)
    seconds = time.perf_counter() - began
    return {
        "test_set": one.name,
        "beam_size": options.beam_size or translator.manifest.decoding.beam_size,
        "lines": len(sources),
        **scores_of([output.text for output in outputs], references),
        "cut_by_length": sum(output.finish_reason is FinishReason.LENGTH for output in outputs),
        "seconds": round(seconds, 3),
    }


def scores_of(outputs: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Return BLEU, BLEU of lower-cased text, and chrF, 0 to 100, and their signatures."""
    metrics: dict[str, Any] = {
        "bleu": sacrebleu.BLEU(),
        "bleu_lower": sacrebleu.BLEU(lowercase=True),
        "chrf": sacrebleu.CHRF(),
    }
    found = {name: round(one.corpus_score(outputs, [references]).score, 2) for name, one in metrics.items()}
    # A signature is complete only after its metric has scored.
    return found | {f"{name}_signature": str(one.get_signature()) for name, one in metrics.items()}


def translate_all(
    translator: Translator, lines: Sequence[str], options: DecodingOptions
) -> list[Translation]:
    """Translate every line; raise the error of the first that cannot be translated."""
    outputs: list[Translation] = []
    outcomes = translator.translate_many(lines, EngineRequest(options))
    for outcome in tqdm(outcomes, total=len(lines), desc=f"beam {options.beam_size}", disable=None):
        if not isinstance(outcome, Translation):
            raise outcome
        outputs.append(outcome)
    return outputs


def read_sets(arguments: argparse.Namespace) -> tuple[EvaluationSet, ...]:
    """Return the test sets of the command line, which has `SETS`.

    Raises:
        EvaluationSetError: a name occurs twice, or a set cannot be used.
    """
    sets = tuple(
        EvaluationSet(name, Path(source), Path(reference)) for name, source, reference in arguments.set
    )
    names = [one.name for one in sets]
    for one in sets:
        one.lines()
        if names.count(one.name) > 1:
            raise EvaluationSetError(f"--set {one.name} is there twice")
    return sets


def main() -> None:
    options: Options = {
        "--beam-size": BEAM_SIZES,
        "--replicas": 2,
        "--no-shortlist search all target tokens": False,
    }
    command = Command("quality", __doc__, {"bundle": Path, **options, **SETS})
    arguments = command.parse()
    sets = read_sets(arguments)
    if not sets:
        command.parser.error("at least one --set is needed")
    with Translator.open(arguments.bundle, replicas=arguments.replicas) as translator:
        results = []
        for one, beam_size in product(sets, arguments.beam_size):
            searched = DecodingOptions(beam_size=beam_size, use_shortlist=not arguments.no_shortlist)
            results.append(measure(translator, one, searched))
    show(results)
    command.write(arguments.bundle, {"replicas": arguments.replicas, "results": results})


if __name__ == "__main__":
    main()
