"""Measurements for a model card: quality of every variant, speed, size and memory, and examples."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
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


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure."""

    bundle: Bundle
    fp32: Bundle
    sets: tuple[EvaluationSet, ...]
    examples: tuple[str, str] | None
    """Test set from which examples are drawn; licence and author of its text."""
    beside: Path | None
    """A second bundle; the memory of both together is measured, too."""
    replicas: int
    rounds: int
    """Number of rounds for the speed; quality does not vary."""


def variants(bundle: Bundle, fp32: Bundle) -> list[Variant]:
    """Return the variants to measure, from the fp32 weights to the bundle as shipped."""
    precision = bundle.manifest.precision
    found = [Variant(fp32.path, fp32.manifest.precision, shortlist=False)]
    if precision != fp32.manifest.precision:
        found.append(Variant(bundle.path, precision, shortlist=False))
    if SHORTLIST_FILE in bundle.manifest.files:
        found.append(Variant(bundle.path, precision, shortlist=True))
    return found


def measure_all(plan: Plan) -> dict[str, Any]:
    """Measure the figures of `bench/results/card-*.json`, except its provenance, summary and curve."""
    to_measure = variants(plan.bundle, plan.fp32)
    shipped = to_measure[-1]
    measured: list[tuple[Variant, dict[str, Any]]] = []
    for variant in to_measure:
        with Translator.open(variant.bundle, replicas=plan.replicas) as translator:
            for one in plan.sets:
                for beam_size in BEAM_SIZES:
                    options, files = variant.options(beam_size), (one.source, one.reference)
                    measured.append((variant, measure(translator, one.name, files, options)))
                    show([asdict(variant) | measured[-1][1]])
    with Translator.open(shipped.bundle, replicas=plan.replicas) as translator:
        speed = measure_speed(translator, shipped, plan)
        examples = None if plan.examples is None else _examples(translator, shipped, plan, *plan.examples)
    return {
        "replicas": plan.replicas,
        "scores": scores_of(measured),
        "speed": speed,
        "size_bytes": size_without_card(plan.bundle.manifest),
        "memory": _memory(plan),
        "examples": examples,
    }


def scores_of(measured: Sequence[tuple[Variant, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the manifest's `scores`: for each test set those of the last variant and of all variants."""
    scores: dict[str, Any] = {}
    for variant, quality in measured:
        own = {name: quality[name] for name in ("beam_size", "bleu", "chrf")}
        score = scores.setdefault(quality["test_set"], {VARIANTS_FIELD: []})
        score[VARIANTS_FIELD].append({"precision": variant.precision, "shortlist": variant.shortlist, **own})
        if quality["beam_size"] == CARD_BEAM_SIZE:
            score |= {**own, "bleu_signature": quality["bleu_signature"]}
            score |= {"chrf_signature": _chrf_signature(), "lines": quality["lines"]}
    # The variants last.
    return {name: {**score, VARIANTS_FIELD: score.pop(VARIANTS_FIELD)} for name, score in scores.items()}


def size_without_card(manifest: Manifest) -> int:
    """Return the size in bytes of all files in the manifest except the card, which shows this size."""
    return sum(record.size_bytes for name, record in manifest.files.items() if name != CARD_FILE)


def measure_speed(translator: Translator, variant: Variant, plan: Plan) -> list[dict[str, Any]]:
    """Measure sentences per second of each test set and beam size; rounds interleave them against drift."""

    def sentences_per_s(one: EvaluationSet, beam_size: int, _: int) -> float:
        lines = one.lines()[0]
        began = time.perf_counter()
        translate_all(translator, lines, variant.options(beam_size))
        return len(lines) / (time.perf_counter() - began)

    return [
        {
            "test_set": one.name,
            "lines": len(one.lines()[0]),
            "beam_size": beam_size,
            "rounds": plan.rounds,
            "sentences_per_s": asdict(spread(rates)),
        }
        for (one, beam_size), rates in interleave(plan.sets, BEAM_SIZES, plan.rounds, sentences_per_s).items()
    ]


def _chrf_signature() -> str:
    """Return the signature of `bench.quality`'s chrF; it is complete only after a metric has scored."""
    metric = sacrebleu.CHRF()
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def _memory(plan: Plan) -> dict[str, Any]:
    alone = measure_first_use([plan.bundle.path], plan.replicas)
    beside = None
    if plan.beside is not None:
        together = measure_first_use([plan.bundle.path, plan.beside], plan.replicas)
        name = read_bundle(plan.beside).manifest.name
        beside = {"name": name, "loaded_bytes": together.loaded_bytes}
    return {"before_bytes": alone.before_bytes, "loaded_bytes": alone.loaded_bytes, "beside": beside}


@dataclass(frozen=True, slots=True)
class Example:
    """A line of a test set with its translation and reference."""

    source: str
    translation: str
    reference: str
    chrf: float
    """chrF of this line, 0 to 100."""


def _examples(
    translator: Translator, variant: Variant, plan: Plan, test_set: str, credit: str
) -> dict[str, Any]:
    sources, references = next(one.lines() for one in plan.sets if one.name == test_set)
    outputs = translate_all(translator, sources, variant.options(CARD_BEAM_SIZE))
    drawn = draw_examples(score_lines(sources, [output.text for output in outputs], references))
    return {
        "test_set": test_set,
        "credit": credit,
        "beam_size": CARD_BEAM_SIZE,
        "rule": RULE.format(parts=len(drawn), seed=SEED),
        "lines": [asdict(example) for example in drawn],
    }


def score_lines(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> list[Example]:
    """Return each line with its own chrF."""
    metric = sacrebleu.CHRF()
    return [
        Example(source, translation, reference, metric.sentence_score(translation, [reference]).score)
        for source, translation, reference in zip(sources, translations, references, strict=True)
    ]


def draw_examples(lines: Sequence[Example], count: int = NUM_EXAMPLES, seed: int = SEED) -> list[Example]:
    """Draw one line from each of `count` equal parts, best to worst; draw all if there are fewer lines."""
    ranked = sorted(lines, key=lambda line: -line.chrf)  # stable: lines of equal chrF stay in file order
    count = min(count, len(ranked))
    chance = random.Random(seed)  # noqa: S311 -- a sample, no secret
    bounds = [len(ranked) * part // count for part in range(count + 1)] if count else [0]
    return [ranked[chance.randrange(begin, end)] for begin, end in pairwise(bounds)]
