"""Compliance, quality and cost of required terms.

python -m bench.terminology models/de-en --terms terms.tsv --pairs dev.de dev.en \
    --output bench/results/terminology-de-en.json

The dictionary has lines of `tag⇥source⇥target`; `--reverse` swaps the columns. A line of the pairs is used if
it has a term of the dictionary and its reference has the term's translation, which is then required. Lines
are translated without terms, with terms next to the source and required where the translation lacks them,
and with terms only required. The result says how many required terms are there, as whole words in any
inflection, and lists the translations with a term behind the end of the sentence.
"""

import lzma
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
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

MAX_TERM_WORDS = 3
MIN_CHARACTERS = 4
MAX_TERMS_A_LINE = 3
SEED = 1
NUM_WORST = 20
_END_OF_SENTENCE = re.compile(r"[.!?…][\"')»”]*\s+")

Line = tuple[str, str, tuple[Term, ...]]
"""Source, reference, and the terms that both have."""


def read_dictionary(path: Path, pair: Pair, *, is_reversed: bool) -> TermIndex:
    """Read a dictionary into an index of its sources; each has all its translations as targets."""
    opener = lzma.open if path.suffix == ".xz" else open
    found: dict[str, list[str]] = {}
    with opener(path, "rt", encoding="utf8") as file:
        for line in file:
            source, target = line.rstrip("\n").split("\t")[-2:]
            if is_reversed:
                source, target = target, source
            source, target = source.removeprefix("to "), target.removeprefix("to ")
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


def measure(translator: Translator, lines: Sequence[Line], pair: Pair) -> dict[str, Any]:
    """Return compliance, quality, the median seconds a line, and the outputs."""
    outputs: list[str] = []
    seconds: list[float] = []
    for source, _, terms in lines:
        options = DecodingOptions(terminology=Terminology(terms) if terms else None)
        began_s = time.perf_counter()
        outputs.append(translator.translate(source, options, pair=pair).text)
        seconds.append(time.perf_counter() - began_s)
    return {"outputs": outputs, "mean_s": statistics.fmean(seconds), "median_s": statistics.median(seconds)}


def _compliance(lines: Sequence[Line], outputs: Sequence[str], pair: Pair) -> float:
    kept = [
        bool(TermIndex([Term(target)], pair.target).find(output))
        for (_, _, terms), output in zip(lines, outputs, strict=True)
        for term in terms
        for target in term.targets
    ]
    return sum(kept) / len(kept)


def _behind_the_end(source: str, output: str, terms: Sequence[Term], pair: Pair) -> bool:
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
        "--lines maximum lines": 400,
    }
    command = Command("terminology", __doc__, options)
    add_pairs_argument(command.parser)
    arguments = command.parse()
    pair = open_bundle(arguments.bundle).manifest.languages.pair(None, None)
    index = read_dictionary(arguments.terms, pair, is_reversed=arguments.reverse)
    pairs = [both for source, target in arguments.pairs for both in read_line_pairs(source, target, "all")]
    lines = choose_lines(pairs, index, pair, arguments.lines)
    plain = [(source, reference, ()) for source, reference, _ in lines]
    references = [reference for _, reference, _ in lines]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        ways = (
            ("without terms", arguments.bundle, plain),
            ("next to the source, then required", arguments.bundle, lines),
            ("required", without_marks(arguments.bundle, Path(folder)), lines),
        )
        for name, bundle, own in ways:
            with Translator.open(bundle, replicas=1) as translator:
                measure(translator, own[:8], pair)
                found = measure(translator, own, pair)
            outputs = found.pop("outputs")
            behind = [
                {"source": source, "output": output, "terms": [term.targets[0] for term in terms]}
                for (source, _, terms), output in zip(lines, outputs, strict=True)
                if _behind_the_end(source, output, terms, pair)
            ]
            rows.append(
                {
                    "way": name,
                    "share": _compliance(lines, outputs, pair),
                    "bleu": sacrebleu.corpus_bleu(outputs, [references]).score,
                    "chrf": sacrebleu.corpus_chrf(outputs, [references]).score,
                    **found,
                    "cost": found["mean_s"] / rows[0]["mean_s"] if rows else 1.0,
                    "behind_the_end": len(behind),
                    "worst": behind[:NUM_WORST],
                }
            )
    num_terms = sum(len(terms) for _, _, terms in lines)
    show({name: value for name, value in row.items() if name != "worst"} for row in rows)
    command.write(arguments.bundle, {"lines": len(lines), "terms": num_terms, "ways": rows})


if __name__ == "__main__":
    main()
