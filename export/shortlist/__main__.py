"""`python -m export.shortlist models/NAME --pairs FILE...`: add or replace the shortlist of a bundle."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dragoman.bundle import Bundle, open_bundle
from dragoman.contract import INT8
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import BundleError
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.reading.reader import Reader
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator import Translator
from dragoman.types import FinishReason
from export.bundle import ExportError, staged_folder
from export.shortlist.build import ShortlistSettings, build_shortlist
from export.shortlist.coverage import measure_coverage
from export.shortlist.install import copy_without_shortlist, write_shortlist
from export.shortlist.pairs import TokenPairs
from export.shortlist.text import evenly_spaced, read_pairs, read_texts
from export.shortlist.vocabularies import read_vocabularies

GREEDY = DecodingOptions(beam_size=1)
CHUNK_LINES = 2048

IdPair = tuple[list[int], list[int]]


def translate(
    translator: Translator, preparer: Preparer, tokenizer: Tokenizer, lines: Sequence[str]
) -> list[IdPair]:
    """Translate lines greedily, if they are within the model's limit.

    Args:
        translator: translator of a bundle with one pair, without a shortlist.
        preparer: preparer of the same bundle.
        tokenizer: source tokenizer of the bundle.
        lines: one sentence each.

    Returns:
        Sources and targets, their pieces only. Lines over the model's limit and translations that were cut
        are left out.
    """
    manifest = translator.manifest
    pair = manifest.languages.pair(None, None)
    pieces = tokenizer.encode(lines)
    limit = manifest.limits.max_source_tokens
    sources = [
        (source, whole)
        for source, whole in zip(pieces, preparer.encode(lines, pair), strict=True)
        if len(whole) <= limit
    ]
    pairs: list[IdPair] = []
    with tqdm(total=len(sources), desc="translating", unit="line", mininterval=1) as bar:
        for start in range(0, len(sources), CHUNK_LINES):
            chunk = sources[start : start + CHUNK_LINES]
            found = translator.search([whole for _, whole in chunk], GREEDY)
            pairs += [
                (source, list(hypotheses[0].ids))
                for (source, _), hypotheses in zip(chunk, found, strict=True)
                if hypotheses[0].finish_reason is FinishReason.STOP
            ]
            bar.update(len(chunk))
    return pairs


def tokenise(bundle: Bundle, pairs: Sequence[tuple[str, str]]) -> list[IdPair]:
    """Return ids of parallel text, pieces only; pairs over the model's limits are left out."""
    limits = bundle.manifest.limits
    source_tokenizer, target_tokenizer = open_tokenizers(bundle)
    sources = source_tokenizer.encode([source for source, _ in pairs])
    targets = target_tokenizer.encode([target for _, target in pairs])
    return [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if len(source) < limits.max_source_tokens and len(target) < limits.max_target_tokens
    ]


CHOOSING_INTERVAL = 5
"""One in this many of the model's own translations is held out from alignment, to choose candidates."""
DEFAULT_SETTINGS = ShortlistSettings()


def main() -> int:
    """Run the command. Exit status 0: the shortlist is added; 1: rejected, unchanged; 2: wrong arguments."""
    arguments = _parser().parse_args()
    try:
        settings = ShortlistSettings(arguments.listed_per_piece, arguments.min_tokens, arguments.num_always)
        with staged_folder(arguments.bundle) as staging:
            copy_without_shortlist(arguments.bundle, staging)
            _build(staging, arguments, settings)
    except (ExportError, BundleError) as error:
        _say(f"rejected: {error}")
        return 1
    except ValueError as error:
        _say(f"error: {error}")
        return 2
    return 0


def _build(folder: Path, arguments: argparse.Namespace, settings: ShortlistSettings) -> None:
    """Build the shortlist: translate, align, select, measure, write."""
    bundle = open_bundle(folder)
    if bundle.manifest.precision != INT8:
        raise ExportError(f"this bundle is {bundle.manifest.precision}, but shortlists need {INT8}")
    if not bundle.manifest.languages.is_single_pair:
        raise ExportError("shortlists need a bundle with a single language pair")
    source_tokenizer, _ = open_tokenizers(bundle)
    preparer = Preparer(bundle.manifest.languages, bundle.manifest.limits, Reader(source_tokenizer))
    parallel = evenly_spaced(read_pairs(arguments.pairs), arguments.max_pairs)
    lines = read_texts(arguments.text) + [source for source, _ in parallel]
    with Translator.open(folder) as translator:
        translations = translate(
            translator, preparer, source_tokenizer, evenly_spaced(lines, arguments.translate)
        )
        held_out = translate(translator, preparer, source_tokenizer, read_texts(arguments.held_out))
    choosing = translations[::CHOOSING_INTERVAL]
    learning = [pair for index, pair in enumerate(translations) if index % CHOOSING_INTERVAL] + tokenise(
        bundle, parallel
    )
    _say(f"{len(learning)} pairs for alignment, {len(choosing)} for the choice of candidates")
    shortlist = build_shortlist(
        TokenPairs.of(learning), TokenPairs.of(choosing), read_vocabularies(bundle), settings
    )
    facts: dict[str, Any] = {
        **asdict(settings),
        "pairs": len(parallel),
        "own_translations": len(translations),
    }
    if held_out:
        facts["coverage"] = asdict(measure_coverage(shortlist, TokenPairs.of(held_out)))
    write_shortlist(folder, shortlist, facts)
    _say(json.dumps(facts, indent=2))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m export.shortlist",
        description="Add a vocabulary shortlist to a bundle, learned from its own translations.",
    )
    parser.add_argument(
        "bundle", type=Path, help="folder of the bundle; replaced once the shortlist is complete"
    )
    for option, what in (
        ("--text", "source text to translate, one sentence per line"),
        (
            "--pairs",
            "parallel text to align, whose sources are also translated; TSV columns: (tag,) source, target",
        ),
        ("--held-out", "source text to measure coverage on, one sentence per line"),
    ):
        parser.add_argument(option, type=Path, nargs="+", default=[], metavar="FILE", help=what)
    parser.add_argument("--translate", type=int, default=100_000, help="maximum lines to translate")
    parser.add_argument(
        "--max-pairs", type=int, default=400_000, help="maximum pairs of parallel text to align"
    )
    parser.add_argument("--listed-per-piece", type=int, default=DEFAULT_SETTINGS.listed_per_piece)
    parser.add_argument("--min-tokens", type=int, default=DEFAULT_SETTINGS.min_tokens)
    parser.add_argument("--num-always", type=int, default=DEFAULT_SETTINGS.num_always)
    return parser


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")


if __name__ == "__main__":
    sys.exit(main())
