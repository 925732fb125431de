"""Small students of several kinds, and what an imported one says."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import sentencepiece

from bench.processes import run_json
from dragoman import DecodingOptions, Translator
from dragoman.manifest import ModelLimits
from dragoman.types import Pair
from export.bundle import BundleMetadata, write_bundle
from export.calibration import Sample
from export.original import Original, RequestedLanguages
from export.shortlist.install import write_shortlist
from export.sources import load_original
from tests.imports.bergamot.integer_reference import IntegerReference, find_ranges
from tests.imports.bergamot.student_files import write_student
from tests.imports.marian.written import MARIANS_OWN_IDS, Arrays, Options, Variant, arrays_of, options_of
from tests.pieces import real_text, train_sentencepiece

BERGAMOT_PYTHON = Path(".venv-bench") / "bergamot" / "bin" / "python"
EOS_ID, UNK_ID = 0, 1
VOCABULARY_SIZES = {"shared": 256, "de": 192, "en": 168}
"""Marian's 8-bit products need multiples of 8."""
MAX_SOURCE_TOKENS = 12
LENGTH_FACTOR = 2
"""Limit of a target's tokens with its end, as a multiple of the source's."""
LIMITS = ModelLimits(60, 60)
PAIR = Pair("de", "en")
NUM_SEEN = 40
"""Number of sources that ranges are found on."""


def sizes() -> AbstractContextManager[object]:
    """Return a context in which models have sizes that Marian's 8-bit products support."""
    return patch.multiple("tests.imports.marian.written", D_MODEL=64, HEADS=4, FFN=128, DECODER_LAYERS=2)


@dataclass(frozen=True, slots=True)
class StudentKind:
    """What distinguishes a student."""

    variant: Variant = field(default_factory=lambda: Variant(autoregression="rnn"))
    has_ranges: bool = True
    has_integers: bool = True
    has_lexicon: bool = True
    differing_ranges: bool = False
    """Whether layers of one input have ranges of their own."""


KINDS = {
    "shared": StudentKind(),
    "separate": StudentKind(Variant(autoregression="rnn", tying="target")),
    "norms": StudentKind(Variant(top="n", embedding="n", autoregression="rnn")),
    "attention": StudentKind(Variant(), has_lexicon=False),
    "differing-ranges": StudentKind(differing_ranges=True),
    "no-ranges": StudentKind(has_ranges=False),
    "float": StudentKind(has_ranges=False, has_integers=False, has_lexicon=False),
}


@dataclass(frozen=True, slots=True)
class Student:
    """A written student."""

    folder: Path
    arrays: Arrays
    options: Options
    ranges: dict[str, float]
    source: sentencepiece.SentencePieceProcessor
    target: sentencepiece.SentencePieceProcessor
    lists: list[list[int]]

    def sources(self, count: int) -> list[list[int]]:
        """Return the ids of some real lines, cut to a few tokens."""
        lines = (real_text("de") * 2)[:count]
        return [[*self.source.encode(line)[:MAX_SOURCE_TOKENS], EOS_ID] for line in lines]

    def lines(self, count: int) -> list[str]:
        """Return the text of `sources`."""
        return [self.source.decode(ids[:-1]) for ids in self.sources(count)]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[*self.source.encode(line), EOS_ID] for line in lines]

    def reference(self) -> IntegerReference:
        """Return Marian's formulas with its rounding."""
        return IntegerReference(self.arrays, self.options, self.ranges)


@cache
def vocabulary(language: str) -> bytes:
    """Return a SentencePiece model whose ids Marian uses as they are."""
    text = real_text("de") + real_text("en") if language == "shared" else real_text(language)
    return train_sentencepiece(text, VOCABULARY_SIZES[language], **MARIANS_OWN_IDS)


def make_student(folder: Path, kind: StudentKind, seed: int = 3) -> Student:
    """Write a student with random weights, and ranges that clip a few of its activations."""
    variant = kind.variant
    shared = variant.shares_table
    names = {"vocab.deen.spm": "shared"} if shared else {"srcvocab.deen.spm": "de", "trgvocab.deen.spm": "en"}
    files = {file: vocabulary(language) for file, language in names.items()}
    source, target = (
        sentencepiece.SentencePieceProcessor(model_proto=content)
        for content in (*files.values(), *files.values())[:2]
    )
    vocab_sizes = (source.vocab_size(), target.vocab_size())
    with sizes():
        arrays, options = arrays_of(variant, vocab_sizes, seed), options_of(variant, vocab_sizes)
    rng = np.random.default_rng(seed)
    lists = [rng.choice(vocab_sizes[1], 8, replace=False).tolist() for _ in range(vocab_sizes[0])]
    ranges: dict[str, float] = {}
    student = Student(folder, arrays, options, ranges, source, target, lists if kind.has_lexicon else [])
    if kind.has_ranges:
        random = [rng.integers(2, vocab_sizes[1], MAX_SOURCE_TOKENS).tolist() for _ in range(NUM_SEEN)]
        found = find_ranges(arrays, options, list(zip(student.sources(NUM_SEEN), random, strict=True)))
        ranges.update(found)
        if kind.differing_ranges:
            ranges.update(
                {name: number * 0.9 for name, number in found.items() if "_Wk" in name or "_Wf" in name}
            )
    lexicon = lists if kind.has_lexicon else None
    write_student(folder, arrays, options, files, ranges or None, lexicon, has_integers=kind.has_integers)
    return student


def import_student(student: Student, bundle: Path, precision: str = "int8") -> Original:
    """Import a student without the validation that the command ends with."""
    original = load_original(student.folder, RequestedLanguages())
    bundle.mkdir()
    samples = [Sample(ids, (original.model.config.bos_id,)) for ids in student.sources(60)]
    write_bundle(bundle, original, precision, BundleMetadata(bundle.name, "none", LIMITS), samples)
    if original.shortlist is not None and precision == "int8":
        write_shortlist(bundle, original.shortlist, {})
    return original


def our_targets(bundle: Path, sources: Sequence[list[int]]) -> list[list[int]]:
    """Return greedy targets, cut where Marian cuts them."""
    options = DecodingOptions(beam_size=1, max_length=LIMITS.max_target_tokens)
    with Translator.open(bundle, replicas=1) as translator:
        found = translator.search(sources, options, pair=PAIR)
    return [
        [*best[0].ids][: LENGTH_FACTOR * len(source)] for best, source in zip(found, sources, strict=True)
    ]


def said_by_bergamot(student: Student, lines: Sequence[str]) -> list[str]:
    """Return Bergamot's translations; it needs the Python of `BERGAMOT_PYTHON`."""
    request = {"config": str(student.folder / "config.yml"), "lines": list(lines)}
    found: list[str] = run_json("bench.peers.bergamot_translate", python=str(BERGAMOT_PYTHON), given=request)
    return [line.strip() for line in found]
