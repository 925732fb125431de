"""Compliance, quality and cost of required terms.

python -m bench.terminology models/de-en --terms terms.tsv --pairs dev.de dev.en \
    --output bench/results/terminology-de-en.json

The dictionary has lines of `tag⇥source⇥target`; `--reverse` swaps the columns. A line of the pairs is used if
it has a term of the dictionary and its reference has the term's translation, which is then required. Lines
are translated without terms, with terms next to the source and required where the translation lacks them,
and with terms only required. The result says how many required terms are there, as whole words in any
inflection, and lists the translations with a term behind the end of the sentence.
"""

import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import sacrebleu

from bench.command import Command, show
from dragoman.bundle import open_bundle
from dragoman.decoding.options import DecodingOptions
from dragoman.terms import Term, Terminology
from dragoman.text.term_index import TermIndex
from dragoman.translator import Translator
from dragoman.types import Pair
from export.bundle import write_manifest
from export.confidence import add_pairs_argument, read_line_pairs
from export.shortlist.text import read_pairs

MAX_TERM_WORDS = 3
MIN_CHARACTERS = 4
MAX_TERMS_A_LINE = 3
SEED = 1
NUM_WORST = 20
NUM_WARM_UP = 8
_END_OF_SENTENCE = re.compile(r"[.!?…][\"')»”]*\s+")

Line = tuple[str, str, tuple[Term, ...]]
"""Source, reference, and the terms that both have."""


def read_dictionary(path: Path, pair: Pair, *, is_reversed: bool) -> TermIndex:
    """Read a dictionary into an index of its sources; each has all its translations as targets."""
    found: dict[str, list[str]] = {}
    for columns in read_pairs([path]):
        source, target = (side.removeprefix("to ") for side in columns[:: -1 if is_reversed else 1])
        if len(source.split()) <= MAX_TERM_WORDS and min(len(source), len(target)) >= MIN_CHARACTERS:
            found.setdefault(source, []).append(target)
    return TermIndex([Term(source, tuple(targets[:16])) for source, targets in found.items()], pair.source)


def choose_lines(pairs: Sequence[tuple[str, str]], index: TermIndex, pair: Pair, most: int) -> list[Line]:
    """Return lines with up to three terms each, required as the reference spells them."""
    rng = Random(SEED)  # noqa: S311 -- reproducible, not secret
    lines = [
        (source, reference, tuple(_terms(source, reference, index, pair))) for source, reference in pairs
    ]
    lines = [line for line in lines if line[2]]
    chosen = sorted(rng.sample(range(len(lines)), min(most, len(lines))))
    return [
        (source, reference, tuple(rng.sample(terms, min(len(terms), rng.randint(1, MAX_TERMS_A_LINE)))))
        for source, reference, terms in (lines[index] for index in chosen)
    ]


def _terms(source: str, reference: str, index: TermIndex, pair: Pair) -> Iterator[Term]:
    seen: set[str] = set()
    for match in index.find(source):
        if match.surface in seen:
            continue
        seen.add(match.surface)
        for target in match.term.targets:
            found = TermIndex([Term(target)], pair.target).find(reference)
            if len(found) == 1:
                yield Term(match.surface, (found[0].surface,))
                break


@dataclass(slots=True)
class Way:
    """A way to translate, and what it gave."""

    name: str
    translator: Translator
    has_terms: bool
    outputs: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def translate(self, line: Line, pair: Pair) -> None:
        """Translate a line, and note the time."""
        source, _, terms = line
        options = DecodingOptions(terminology=Terminology(terms) if self.has_terms else None)
        began_s = time.perf_counter()
        self.outputs.append(self.translator.translate(source, options, pair=pair).text)
        self.seconds.append(time.perf_counter() - began_s)

    def figures(self, lines: Sequence[Line], pair: Pair) -> dict[str, Any]:
        """Return compliance, quality, time, and the translations with a term behind the end."""
        references = [reference for _, reference, _ in lines]
        behind = [
            {"source": source, "output": output, "terms": [term.targets[0] for term in terms]}
            for (source, _, terms), output in zip(lines, self.outputs, strict=True)
            if _is_behind_the_end(source, output, terms, pair)
        ]
        return {
            "way": self.name,
            "share": _compliance(lines, self.outputs, pair),
            "bleu": sacrebleu.corpus_bleu(self.outputs, [references]).score,
            "chrf": sacrebleu.corpus_chrf(self.outputs, [references]).score,
            "mean_s": statistics.fmean(self.seconds),
            "median_s": statistics.median(self.seconds),
            "behind_the_end": len(behind),
            "worst": behind[:NUM_WORST],
        }


def measure(bundle: Path, lines: Sequence[Line], pair: Pair) -> list[dict[str, Any]]:
    """Return the figures of all ways; each line is translated in all of them, one after the other."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Translator.open(bundle, replicas=1) as marked,
        Translator.open(without_marks(bundle, Path(folder)), replicas=1) as unmarked,
    ):
        for translator in (marked, unmarked):
            translator.translate([source for source, _, _ in lines[:NUM_WARM_UP]], pair=pair)
        ways = [
            Way("without terms", marked, has_terms=False),
            Way("next to the source, then required", marked, has_terms=True),
            Way("required", unmarked, has_terms=True),
        ]
        for line in lines:
            for way in ways:
                way.translate(line, pair)
    rows = [way.figures(lines, pair) for way in ways]
    return [row | {"cost": row["mean_s"] / rows[0]["mean_s"]} for row in rows]


def _compliance(lines: Sequence[Line], outputs: Sequence[str], pair: Pair) -> float:
    kept = [
        bool(TermIndex([Term(target)], pair.target).find(output))
        for (_, _, terms), output in zip(lines, outputs, strict=True)
        for term in terms
        for target in term.targets
    ]
    return sum(kept) / len(kept)


def _is_behind_the_end(source: str, output: str, terms: Sequence[Term], pair: Pair) -> bool:
    """Return whether a term stands in a sentence of its own that the source does not have."""
    sentences = _END_OF_SENTENCE.split(output.strip())
    if len(sentences) <= len(_END_OF_SENTENCE.split(source.strip())):
        return False
    required = [Term(target) for term in terms for target in term.targets]
    return bool(TermIndex(required, pair.target).find(sentences[-1]))


def without_marks(bundle: Path, folder: Path) -> Path:
    """Copy a bundle without the record that the model was trained with terms."""
    copy = folder / bundle.name
    shutil.copytree(bundle, copy)
    manifest = open_bundle(copy).manifest
    controls = None if manifest.controls is None else replace(manifest.controls, terms=None)
    if controls is not None and not controls.ids:
        controls = None
    write_manifest(copy, replace(manifest, controls=controls))
    return copy


def main() -> None:
    """Measure and print."""
    options = {
        "bundle": Path,
        "--terms dictionary, lines of tag, source and target": Path,
        "--reverse swap the dictionary's columns": False,
        "--lines maximum lines": 600,
    }
    command = Command("terminology", __doc__, options)
    add_pairs_argument(command.parser)
    arguments = command.parse()
    pair = open_bundle(arguments.bundle).manifest.languages.pair(None, None)
    index = read_dictionary(arguments.terms, pair, is_reversed=arguments.reverse)
    pairs = [both for source, target in arguments.pairs for both in read_line_pairs(source, target, "all")]
    lines = choose_lines(pairs, index, pair, arguments.lines)
    rows = measure(arguments.bundle, lines, pair)
    num_terms = sum(len(terms) for _, _, terms in lines)
    show({name: value for name, value in row.items() if name != "worst"} for row in rows)
    command.write(arguments.bundle, {"lines": len(lines), "terms": num_terms, "ways": rows})


if __name__ == "__main__":
    main()
