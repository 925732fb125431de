"""Measurements for a model card: quality of every variant, speed, size and memory, and examples."""

import argparse
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import sacrebleu

from bench.command import show
from bench.first_use import measure_first_use
from bench.quality import BEAM_SIZES, EvaluationSet, measure, translate_all
from bench.rounds import interleave, spread
from dragoman import DecodingOptions, Translator
from dragoman.bundle import Bundle, read_bundle
from dragoman.manifest import Manifest
from dragoman.shortlist import SHORTLIST_FILE
from export.bundle import CARD_FILE
from export.model_card import VARIANTS_FIELD

CARD_BEAM_SIZE = 4
"""Beam size of a test set's main scores and of the examples."""
NUM_EXAMPLES = 10
SEED = 1
RULE = (
    "The lines are sorted by the chrF of their own translation, best first, and cut into {parts} equal "
    "parts; of each part one line is drawn, by random numbers of seed {seed}."
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A bundle, searched with its shortlist or with the full vocabulary."""

    bundle: Path
    precision: str
    shortlist: bool

    def options(self, beam_size: int) -> DecodingOptions:
        return DecodingOptions(beam_size=beam_size, use_shortlist=self.shortlist)


def variants(bundle: Bundle, fp32: Bundle) -> list[Variant]:
    """Return the variants to measure, from the fp32 weights to the bundle as shipped."""
    precision = bundle.manifest.precision
    found = [Variant(fp32.path, fp32.manifest.precision, shortlist=False)]
    if precision != fp32.manifest.precision:
        found.append(Variant(bundle.path, precision, shortlist=False))
    if SHORTLIST_FILE in bundle.manifest.files:
        found.append(Variant(bundle.path, precision, shortlist=True))
    return found


def measure_all(
    bundle: Bundle, fp32: Bundle, sets: Sequence[EvaluationSet], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Measure the figures of `bench/results/card-*.json`, except its provenance, summary and curve."""
    measured: list[tuple[Variant, dict[str, Any]]] = []
    replicas = arguments.replicas
    for variant in variants(bundle, fp32):
        with Translator.open(variant.bundle, replicas=replicas) as translator:
            for one, beam_size in product(sets, BEAM_SIZES):
                measured.append((variant, measure(translator, one, variant.options(beam_size))))
                show([asdict(variant) | measured[-1][1]])
    shipped = measured[-1][0]
    with Translator.open(shipped.bundle, replicas=replicas) as translator:
        speed, examples = measure_speed(translator, shipped, sets, arguments.rounds), None
        if arguments.examples is not None:
            name, credit = arguments.examples
            examples = _examples(translator, shipped, next(one for one in sets if one.name == name), credit)
    return {
        "replicas": replicas,
        "scores": scores_of(measured),
        "speed": speed,
        "size_bytes": size_without_card(bundle.manifest),
        "memory": _memory(bundle.path, arguments.beside, replicas),
        "examples": examples,
    }


def scores_of(measured: Sequence[tuple[Variant, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the manifest's `scores`: for each test set those of the last variant and of all variants."""
    scores: dict[str, Any] = {}
    for variant, quality in measured:
        figures = {name: quality[name] for name in ("beam_size", "bleu", "chrf")}
        score = scores.setdefault(quality["test_set"], {VARIANTS_FIELD: []})
        score[VARIANTS_FIELD].append(
            {"precision": variant.precision, "shortlist": variant.shortlist, **figures}
        )
        if quality["beam_size"] == CARD_BEAM_SIZE:
            score |= figures | {name: quality[name] for name in ("bleu_signature", "chrf_signature", "lines")}
    # The variants last.
    return {name: {**score, VARIANTS_FIELD: score.pop(VARIANTS_FIELD)} for name, score in scores.items()}


def size_without_card(manifest: Manifest) -> int:
    """Return the size in bytes of all files in the manifest except the card, which shows this size."""
    return sum(record.size_bytes for name, record in manifest.files.items() if name != CARD_FILE)


def measure_speed(
    translator: Translator, variant: Variant, sets: Sequence[EvaluationSet], num_rounds: int
) -> list[dict[str, Any]]:
    """Measure sentences per second of each test set and beam size; rounds interleave them against drift."""

    def sentences_per_s(one: EvaluationSet, beam_size: int, _: int) -> float:
        row = measure(translator, one, variant.options(beam_size))
        return float(row["lines"] / row["seconds"])

    found = interleave(sets, BEAM_SIZES, num_rounds, sentences_per_s)
    return [
        {"test_set": one.name, "lines": len(one.lines()[0]), "beam_size": beam_size, "rounds": num_rounds}
        | {"sentences_per_s": asdict(spread(rates))}
        for (one, beam_size), rates in found.items()
    ]


def _memory(bundle: Path, other: Path | None, replicas: int) -> dict[str, Any]:
    alone = measure_first_use([bundle], replicas)
    beside = None
    if other is not None:
        together = measure_first_use([bundle, other], replicas)
        beside = {"name": read_bundle(other).manifest.name, "loaded_bytes": together["loaded_bytes"]}
    return {**alone, "beside": beside}


def _examples(translator: Translator, variant: Variant, one: EvaluationSet, credit: str) -> dict[str, Any]:
    sources, references = one.lines()
    outputs = translate_all(translator, sources, variant.options(CARD_BEAM_SIZE))
    drawn = draw_examples(score_lines(sources, [output.text for output in outputs], references))
    return {
        "test_set": one.name,
        "credit": credit,
        "beam_size": CARD_BEAM_SIZE,
        "rule": RULE.format(parts=len(drawn), seed=SEED),
        "lines": drawn,
    }


def score_lines(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> list[dict[str, Any]]:
    """Return source, translation, reference and the translation's own chrF, 0 to 100, of each line."""
    metric = sacrebleu.CHRF()
    lines = zip(sources, translations, references, strict=True)
    return [
        {"source": source, "translation": found, "reference": reference}
        | {"chrf": metric.sentence_score(found, [reference]).score}
        for source, found, reference in lines
    ]


def draw_examples(
    lines: Sequence[dict[str, Any]], count: int = NUM_EXAMPLES, seed: int = SEED
) -> list[dict[str, Any]]:
    """Draw one line from each of `count` equal parts, best to worst; draw all if there are fewer lines."""
    ranked = sorted(lines, key=lambda line: -line["chrf"])  # stable: lines of equal chrF stay in file order
    count = min(count, len(ranked))
    chance = random.Random(seed)  # noqa: S311 -- a sample, no secret
    bounds = [len(ranked) * part // count for part in range(count + 1)] if count else [0]
    return [ranked[chance.randrange(begin, end)] for begin, end in pairwise(bounds)]
