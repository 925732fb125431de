"""Measurements for a model card: quality of every variant, speed, size and memory, and examples."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sacrebleu
from tqdm import tqdm

from bench.card_examples import RULE, SEED, draw_examples, score_lines
from bench.card_memory import measure_resident
from bench.quality import Quality, measure
from bench.rounds import spread
from dragoman import DecodingOptions, EngineRequest, Translation, Translator
from dragoman.bundle import Bundle, read_bundle
from dragoman.manifest import Manifest
from dragoman.shortlist import SHORTLIST_FILE
from export.bundle import CARD_FILE
from export.model_card import VARIANTS_FIELD, search_name, variant_name

BEAM_SIZES = (1, 4)
CARD_BEAM_SIZE = 4
"""Beam size of a test set's main scores and of the examples."""


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A test set: files of sources and references, one per line."""

    name: str
    source: Path
    reference: Path

    def lines(self) -> tuple[list[str], list[str]]:
        """Return the sources and the references."""
        source, reference = (
            path.read_text(encoding="utf8").splitlines() for path in (self.source, self.reference)
        )
        return source, reference


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """The test set from which examples are drawn."""

    lines: EvaluationSet
    credit: str
    """Licence and author of the text."""


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
    examples: ExampleSource | None
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
    measured: list[tuple[Variant, Quality]] = []
    for path in dict.fromkeys(variant.bundle for variant in to_measure):
        with Translator.open(path, replicas=plan.replicas) as translator:
            for variant in to_measure:
                if variant.bundle == path:
                    measured += [(variant, quality) for quality in _qualities(translator, variant, plan.sets)]
    with Translator.open(shipped.bundle, replicas=plan.replicas) as translator:
        speed = measure_speed(translator, shipped, plan)
        examples = None if plan.examples is None else _examples(translator, shipped, plan.examples)
    return {
        "replicas": plan.replicas,
        "scores": scores_of(measured),
        "speed": speed,
        "size_bytes": size_without_card(plan.bundle.manifest),
        "memory": _memory(plan),
        "examples": examples,
    }


def scores_of(measured: Sequence[tuple[Variant, Quality]]) -> dict[str, Any]:
    """Return the manifest's `scores`: for each test set those of the last variant and of all variants."""
    scores: dict[str, Any] = {}
    for variant, quality in measured:
        own = {"beam_size": quality.beam_size, "bleu": quality.bleu, "chrf": quality.chrf}
        score = scores.setdefault(quality.test_set, {VARIANTS_FIELD: []})
        score[VARIANTS_FIELD].append({"precision": variant.precision, "shortlist": variant.shortlist, **own})
        if quality.beam_size == CARD_BEAM_SIZE:
            score |= {**own, "bleu_signature": quality.bleu_signature, "chrf_signature": _chrf_signature()}
            score["lines"] = quality.lines
    return {name: {**score, VARIANTS_FIELD: score.pop(VARIANTS_FIELD)} for name, score in scores.items()}


def size_without_card(manifest: Manifest) -> int:
    """Return the size in bytes of all files in the manifest except the card, which shows this size."""
    return sum(record.size_bytes for name, record in manifest.files.items() if name != CARD_FILE)


def measure_speed(translator: Translator, variant: Variant, plan: Plan) -> list[dict[str, Any]]:
    """Measure sentences per second of each test set and beam size; rounds interleave them against drift."""
    seconds: dict[tuple[EvaluationSet, int], list[float]] = {}
    cases = [(one, beam_size) for one in plan.sets for beam_size in BEAM_SIZES]
    rounds = [case for _ in range(plan.rounds) for case in cases]
    for one, beam_size in tqdm(rounds, desc="speed", disable=None):
        lines, _ = one.lines()
        began = time.perf_counter()
        translate_all(translator, lines, variant.options(beam_size))
        seconds.setdefault((one, beam_size), []).append(time.perf_counter() - began)
    return [
        {
            "test_set": one.name,
            "lines": len(one.lines()[0]),
            "beam_size": beam_size,
            "rounds": plan.rounds,
            "sentences_per_s": asdict(spread([len(one.lines()[0]) / each for each in spent])),
        }
        for (one, beam_size), spent in seconds.items()
    ]


def translate_all(translator: Translator, lines: Sequence[str], options: DecodingOptions) -> list[str]:
    """Translate every line; raise the error of the first that cannot be translated."""
    texts = []
    for outcome in translator.translate_many(lines, EngineRequest(options)):
        if not isinstance(outcome, Translation):
            raise outcome
        texts.append(outcome.text)
    return texts


def _qualities(translator: Translator, variant: Variant, sets: Sequence[EvaluationSet]) -> Iterator[Quality]:
    for one in sets:
        for beam_size in BEAM_SIZES:
            found = measure(translator, one.name, (one.source, one.reference), variant.options(beam_size))
            case = f"{variant_name(asdict(variant)):16} {one.name:20} {search_name(beam_size):8}"
            print(f"{case} BLEU {found.bleu:5.2f}  chrF {found.chrf:5.2f}", flush=True)
            yield found


def _chrf_signature() -> str:
    """Return the signature of `bench.quality`'s chrF; it is complete only after a metric has scored."""
    metric = sacrebleu.CHRF()
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def _memory(plan: Plan) -> dict[str, Any]:
    alone = asdict(measure_resident([plan.bundle.path], plan.replicas))
    if plan.beside is None:
        return {**alone, "beside": None}
    together = measure_resident([plan.bundle.path, plan.beside], plan.replicas)
    beside = read_bundle(plan.beside).manifest.name
    return {**alone, "beside": {"name": beside, "loaded_bytes": together.loaded_bytes}}


def _examples(translator: Translator, variant: Variant, of: ExampleSource) -> dict[str, Any]:
    sources, references = of.lines.lines()
    translations = translate_all(translator, sources, variant.options(CARD_BEAM_SIZE))
    drawn = draw_examples(score_lines(sources, translations, references))
    return {
        "test_set": of.lines.name,
        "credit": of.credit,
        "beam_size": CARD_BEAM_SIZE,
        "rule": RULE.format(parts=len(drawn), seed=SEED),
        "lines": [asdict(example) for example in drawn],
    }
