"""`python -m export MODEL models/NAME`: read a model, write and validate a bundle, move it into place."""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.bundle import read_bundle
from dragoman.contract import SHORTLIST_PRECISIONS
from dragoman.errors import BundleError
from dragoman.manifest import ALIGNMENT_STEPS, AlignmentHeads, AlignmentStep, ModelLimits
from dragoman.pipeline.preparation import Preparer
from dragoman.text.tokenizer import Tokenizer
from export.alignment import DEEP, default_alignment
from export.bundle import (
    BundleMetadata,
    ExportError,
    max_forced_tokens,
    put_card,
    staged_folder,
    write_bundle,
    write_tokenizer,
)
from export.calibration import Sample
from export.checkpoint import CheckpointError
from export.graph.precision import CALIBRATED, PRECISIONS
from export.memory import peak_bytes
from export.model_card import NO_LIMITS, render_card
from export.original import ImportRejectedError, Original, RequestedLanguages
from export.samples import SampleText, choose_texts
from export.shortlist.install import copy_shortlist
from export.shortlist.text import evenly_spaced
from export.sources import ModelFiles, found, load_original
from export.validation import ValidationReport, validate_in_fresh_process

SCORED_BEAM_SIZE = 4
MAX_SOURCE_TOKENS = 200
MAX_TARGET_TOKENS = 400
MAX_SAMPLES = 1000
"""Maximum number of calibration sentences; more do not improve the ranges, they only slow the export."""
UNSPECIFIED = "unspecified"


def main() -> int:
    """Run the export. Exit status 0: the bundle is in place; 1: rejected; 2: wrong arguments or files."""
    arguments = _parser().parse_args()
    began_s = time.monotonic()
    try:
        if arguments.shortlist_of:
            _check_shortlist_precision(arguments.precision)
        with found(arguments.model) as files, staged_folder(arguments.bundle) as staging:
            texts = _write(staging, files, arguments)
            _log("validating in a fresh process")
            report = validate_in_fresh_process(staging, files.folder, _requested_languages(arguments), texts)
            _log(json.dumps(asdict(report), indent=2))
            _reject_if_different(report)
    except (ExportError, ImportRejectedError, BundleError) as error:
        _log(f"rejected: {error}")
        return 1
    except (CheckpointError, FileNotFoundError, json.JSONDecodeError, KeyError) as error:
        _log(f"error: {error}")
        return 2
    size, took_s = _size_bytes(arguments.bundle) / 1e6, time.monotonic() - began_s
    peak = peak_bytes() / 2**20
    _log(f"{arguments.bundle}: {size:.1f} MB, in {took_s:.0f} s with at most {peak:.0f} MiB of memory")
    return 0


def _write(staging: Path, files: ModelFiles, arguments: argparse.Namespace) -> list[SampleText]:
    """Write the bundle and return the text to validate it on; the original's memory is freed on return."""
    original = load_original(files.folder, _requested_languages(arguments))
    if files.revision is not None:
        original = original.with_origin({"hub": arguments.model, "revision": files.revision})
    _log(f"{arguments.model} is a {original.kind}")
    facts, known_limits = _bundle_metadata(arguments, original), NO_LIMITS
    if arguments.known_limits is not None:
        known_limits = arguments.known_limits.read_text(encoding="utf8")
    texts = choose_texts(original.languages, arguments.sentences, arguments.model)
    samples: list[Sample] = []
    if arguments.precision in CALIBRATED:
        calibration = choose_texts(
            original.languages, arguments.calibration or arguments.sentences, arguments.model
        )
        samples = _make_samples(original, facts.limits, calibration)
    _log(f"writing {facts.name} ({arguments.precision})")
    write_bundle(staging, original, arguments.precision, facts, samples)
    if arguments.shortlist_of:
        copy_shortlist(staging, arguments.shortlist_of)
    manifest = read_bundle(staging).manifest
    put_card(staging, manifest, render_card(manifest, known_limits))
    return texts


def _reject_if_different(report: ValidationReport) -> None:
    if report.problems:
        raise ExportError("the bundle's output differs from the model's; see the problems above")


def _check_shortlist_precision(precision: str) -> None:
    if precision not in SHORTLIST_PRECISIONS:
        raise ExportError(
            f"--shortlist-of: needs --precision {' or '.join(SHORTLIST_PRECISIONS)}, not {precision}"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m export", description="Export a model as a bundle that the engine can load."
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="folder written by `python -m training`; Hugging Face folder of a Marian (OPUS-MT), M2M-100, "
        "NLLB or MBart model; folder or .zip with Marian's own .npz; or OWNER/NAME on the Hugging Face hub",
    )
    parser.add_argument("bundle", type=Path, help="folder to write, such as models/de-en")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=PRECISIONS[0],
        help="int8 (default) for CPUs; int4 for small batches on CPUs; fp16 for GPUs; fp32 as trained",
    )
    parser.add_argument("--name", help="name of the bundle; default: the name of its folder")
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-lang",
            f"--{side}-language",
            dest=f"{side}_languages",
            type=_parse_codes,
            default=(),
            metavar="CODE[,CODE...]",
            help=f"{side} languages; default: those in the model's files",
        )
    parser.add_argument("--licence", help="licence of the weights; default: the one in the model's files")
    parser.add_argument(
        "--scores", type=Path, help="scores for the manifest: a file written by `python -m bench.quality`"
    )
    parser.add_argument(
        "--shortlist-of",
        type=Path,
        metavar="BUNDLE",
        help="copy the shortlist of a bundle with the same vocabulary",
    )
    parser.add_argument(
        "--known-limits", type=Path, help="Markdown file with known limits, for the model card"
    )
    _add_alignment(parser)
    parser.add_argument(
        "--max-source-tokens",
        type=int,
        help=f"maximum source tokens of a segment; default: {MAX_SOURCE_TOKENS}, or the model's lower limit",
    )
    parser.add_argument(
        "--max-target-tokens",
        type=int,
        help=f"maximum target tokens of a segment; default: the model's limit, or {MAX_TARGET_TOKENS}",
    )
    parser.add_argument(
        "--calibration",
        type=Path,
        help="source text to calibrate int8 and int4 on, one sentence per line; default: --sentences",
    )
    parser.add_argument(
        "--sentences",
        type=Path,
        help="source text to validate on, in the first source language: 200 or more sentences, one per line; "
        "default for German and English: built-in text",
    )
    return parser


def _add_alignment(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "word alignment",
        "attention that aligns target tokens with the source; default: the one it was trained for; "
        f"otherwise all heads of one layer: with {DEEP} or more decoder layers the middle one, at the step "
        "that reads the token; with fewer the last one, at the step that predicts it",
    )
    group.add_argument("--alignment-layer", type=int, metavar="L", help="decoder layer; 0 is the first")
    group.add_argument(
        "--alignment-heads",
        type=_parse_heads,
        metavar="H[,H...]",
        help="heads to average; 0 is the first; default: all",
    )
    group.add_argument(
        "--alignment-step",
        choices=tuple(ALIGNMENT_STEPS),
        help="decoder step to use for a token: the one that reads it, or the one before, which predicts it",
    )


def _parse_heads(listed: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+)*", listed):
        raise argparse.ArgumentTypeError(f"{listed!r} is not a list of heads such as 0,3")
    return tuple(map(int, listed.split(",")))


def choose_alignment(
    layer: int | None, heads: tuple[int, ...] | None, step: AlignmentStep | None, original: Original
) -> AlignmentHeads:
    """Return the requested alignment; what is not requested is as the model was trained, or the default."""
    config = original.model.config
    usual = original.alignment or default_alignment(config)
    every_head = tuple(range(config.heads))
    return AlignmentHeads(
        layer=usual.layer if layer is None else layer,
        heads=heads or (usual.heads if layer is None else every_head),
        reads_token=usual.reads_token if step is None else step == "reading",
    )


def _parse_codes(listed: str) -> tuple[str, ...]:
    codes = tuple(code.strip() for code in listed.split(","))
    if not all(codes):
        raise argparse.ArgumentTypeError(f"{listed!r} is not a list of languages such as de,en")
    return codes


def _requested_languages(arguments: argparse.Namespace) -> RequestedLanguages:
    return RequestedLanguages(arguments.source_languages, arguments.target_languages)


def _bundle_metadata(arguments: argparse.Namespace, original: Original) -> BundleMetadata:
    scores = read_scores(arguments.scores) if arguments.scores else {}
    limits = choose_limits(arguments.max_source_tokens, arguments.max_target_tokens, original)
    name = arguments.name or arguments.bundle.name
    licence = arguments.licence or original.licence or UNSPECIFIED
    alignment = choose_alignment(
        arguments.alignment_layer, arguments.alignment_heads, arguments.alignment_step, original
    )
    return BundleMetadata(name, licence, limits, scores, alignment)


def choose_limits(
    max_source_tokens: int | None, max_target_tokens: int | None, original: Original
) -> ModelLimits:
    """Return the requested limits; by default, no more than the model has positions for."""
    longest = original.model.config.max_positions
    own = original.max_target_tokens or MAX_TARGET_TOKENS
    return ModelLimits(
        max_source_tokens or min(MAX_SOURCE_TOKENS, longest),
        max_target_tokens or min(own, longest - max_forced_tokens(original.languages)),
    )


def read_scores(path: Path) -> Mapping[str, Any]:
    """Return the beam 4 scores in a file written by `python -m bench.quality`, by test set."""
    results = json.loads(path.read_text(encoding="utf8"))["results"]
    return {
        result["test_set"]: {
            "bleu": result["bleu"],
            "chrf": result["chrf"],
            "beam_size": result["beam_size"],
            "bleu_signature": result["bleu_signature"],
        }
        for result in results
        if result["beam_size"] == SCORED_BEAM_SIZE
    }


def _make_samples(original: Original, limits: ModelLimits, texts: Sequence[SampleText]) -> list[Sample]:
    """Return sources as the engine will read them, each with the ids that begin its target."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = write_tokenizer(folder, "source", original.source_tokenizer)
        vocabulary = None if files.vocabulary is None else folder / files.vocabulary
        tokenizer = Tokenizer.load(folder / files.model, vocabulary, normalises=files.normalises)
    preparer = Preparer(original.languages, limits, tokenizer)
    return [
        Sample(ids, preparer.begin(text.pair))
        for text in texts
        for ids in preparer.encode(evenly_spaced(text.lines(), MAX_SAMPLES // len(texts)), text.pair)
    ]


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _log(message: str) -> None:
    sys.stderr.write(message + "\n")


if __name__ == "__main__":
    sys.exit(main())
