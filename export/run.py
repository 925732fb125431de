"""Export of a model: read it, write and validate a bundle, move the bundle into place."""

import json
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from dragoman.bundle import read_bundle
from dragoman.contract import INT8
from dragoman.languages import Languages
from dragoman.manifest import AlignmentHeads, ModelLimits
from dragoman.manifest_json import AlignmentStep
from dragoman.pipeline.preparation import Preparer
from dragoman.reading.reader import Reader
from dragoman.text.tokenizer import Tokenizer
from export.alignment import default_alignment
from export.bundle import (
    BundleMetadata,
    ExportError,
    max_forced_tokens,
    put_card,
    staged_folder,
    write_bundle,
    write_reading,
    write_tokenizer,
)
from export.calibration import Sample
from export.model_card import NO_LIMITS, render_card
from export.model_config import ModelConfig
from export.model_weights import SOURCE_TABLE, weight_shapes
from export.original import Original, RequestedLanguages
from export.samples import SampleText, choose_texts, generate_text
from export.shortlist.install import copy_shortlist, write_shortlist
from export.shortlist.text import evenly_spaced
from export.sources import found, load_original
from export.validation import validate_in_fresh_process

BYTES_OF_WEIGHT = {"fp32": 4, "fp16": 2, "int8": 1}
"""Bytes of a weight, at most."""
OTHERS_SHARE = 0.1
"""Share of scales, tokenizers and other files."""


def check_space(folder: Path, config: ModelConfig, precision: str) -> None:
    """Raise ExportError if a bundle does not fit on the disk of `folder`, which need not exist."""
    needed_bytes = estimated_bytes(config, precision)
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    if needed_bytes > free_bytes:
        raise ExportError(
            f"{folder} needs about {needed_bytes} bytes of disk space, but only {free_bytes} are free; "
            "free some space, or choose another folder"
        )


def estimated_bytes(config: ModelConfig, precision: str) -> int:
    """Return the estimated size of a bundle; encoder and decoder each have a table that they share."""
    shapes = weight_shapes(config)
    sizes = [math.prod(shape) for shape in shapes.values()]
    if config.shared_vocab:
        sizes.append(math.prod(shapes[SOURCE_TABLE]))
    return int(sum(sizes) * BYTES_OF_WEIGHT[precision] * (1 + OTHERS_SHARE))


SCORED_BEAM_SIZE = 4
MAX_SOURCE_TOKENS = 200
MAX_TARGET_TOKENS = 400
MAX_SAMPLES = 1000
"""Maximum number of calibration sentences; more do not improve the ranges, they only slow the export."""
UNSPECIFIED = "unspecified"

_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of an export."""

    model: str
    """Folder, archive, or `OWNER/NAME` on the Hugging Face hub."""
    folder: Path
    """Folder of the bundle; or if `is_parent`, the one in which it is written."""
    is_parent: bool = False
    """Whether the bundle gets a folder with its own name in `folder`."""
    replaces: bool = True
    """Whether an existing bundle is replaced; else it is an error."""
    precision: str = "int8"
    name: str | None = None
    """None: the name of the bundle's folder; or if `is_parent`, the language pair or the model's name."""
    languages: RequestedLanguages = field(default_factory=RequestedLanguages)
    licence: str | None = None
    """None: the one in the model's files."""
    scores: Path | None = None
    shortlist_of: Path | None = None
    reading: Path | None = None
    """`reading.toml` of the bundle; None: the model reads texts as they are written."""
    known_limits: Path | None = None
    alignment_layer: int | None = None
    alignment_heads: tuple[int, ...] | None = None
    alignment_step: AlignmentStep | None = None
    max_source_tokens: int | None = None
    max_target_tokens: int | None = None
    calibration: Path | None = None
    """Text to calibrate on; None: `sentences`."""
    sentences: Path | None = None
    """Text to validate on; None: built-in sentences, or if there are none, generated lines."""
    with_pytorch: bool = False
    """Whether the bundle is compared with the model in PyTorch, too."""
    origin: Mapping[str, str] = field(default_factory=dict)
    """Facts for the manifest about where the model comes from, beside those in its files."""


def export_model(options: ExportOptions, log: Callable[[str], None]) -> Path:
    """Write a validated bundle; return its folder. Nothing is left behind on an error.

    Raises:
        ExportError: the options are wrong, the disk has too little space, or the bundle is rejected.
        ImportRejectedError: the model cannot be imported.
        CheckpointError: a checkpoint of our own training is incomplete.
        OSError: a file cannot be read or written.
    """
    _check_options(options)
    with found(options.model) as files, tempfile.TemporaryDirectory() as scratch:
        original = load_original(files.folder, options.languages).with_origin(options.origin)
        if files.revision is not None:
            original = original.with_origin({"hub": options.model, "revision": files.revision})
        log(f"{options.model} is a {original.kind}")
        target = _target_folder(options, original.languages)
        check_space(target, original.model.config, options.precision)
        with staged_folder(target) as staging:
            texts = _write(staging, original, options, target.name, Path(scratch), log)
            del original  # the comparison reads it again
            for with_pytorch in (False, True)[: 1 + options.with_pytorch]:
                log(f"comparing with the model in {'PyTorch' if with_pytorch else 'float32'}")
                report = validate_in_fresh_process(
                    staging,
                    files.folder,
                    options.languages,
                    texts,
                    with_pytorch=with_pytorch,
                    is_generated=any(text.path.parent == Path(scratch) for text in texts),
                )
                log(json.dumps(asdict(report), indent=2))
                if report.problems:
                    raise ExportError("the bundle's output differs from the model's; see the problems above")
    return target


def _check_options(options: ExportOptions) -> None:
    if options.shortlist_of and options.precision != INT8:
        raise ExportError(f"--shortlist-of: needs --precision {INT8}, not {options.precision}")
    if options.with_pytorch:
        try:
            import_module("export.pytorch")
        except ModuleNotFoundError as error:
            raise ExportError("--prove: PyTorch is not installed; install dragoman[prove]") from error
    if options.is_parent and options.name is not None:
        _check_absent(options.folder / options.name, options)


def _target_folder(options: ExportOptions, languages: Languages) -> Path:
    """Return the folder of the bundle.

    Raises:
        ExportError: it exists and is not to be replaced.
    """
    if not options.is_parent:
        return options.folder
    pair = next(languages.pairs())
    stem = options.model.rstrip("/").rpartition("/")[2].removesuffix(".gz").removesuffix(".tar")
    default_name = f"{pair.source}-{pair.target}" if languages.is_single_pair else stem.removesuffix(".zip")
    target = options.folder / (options.name or _UNSAFE.sub("-", default_name))
    _check_absent(target, options)
    return target


def _check_absent(target: Path, options: ExportOptions) -> None:
    if target.exists() and not options.replaces:
        raise ExportError(f"{target} exists; give another name, or --replace")


def _write(
    staging: Path,
    original: Original,
    options: ExportOptions,
    folder_name: str,
    scratch: Path,
    log: Callable[[str], None],
) -> list[SampleText]:
    """Write the bundle and return the text to validate it on."""
    facts, known_limits = _bundle_metadata(options, original, folder_name), NO_LIMITS
    if options.known_limits is not None:
        known_limits = options.known_limits.read_text(encoding="utf8")
    texts = choose_texts(original.languages, options.sentences, options.model)
    if not texts:
        log("no built-in text is in the model's languages, so text is generated; --sentences gives real text")
        texts = [generate_text(original, scratch)]
    samples: list[Sample] = []
    if options.precision == INT8:
        calibration = texts
        if options.calibration is not None:
            calibration = choose_texts(original.languages, options.calibration, options.model)
        samples = make_samples(original, facts.limits, calibration)
    log(f"writing {facts.name} ({options.precision})")
    write_bundle(staging, original, options.precision, facts, samples)
    if options.shortlist_of:
        copy_shortlist(staging, options.shortlist_of)
    elif original.shortlist is not None and options.precision == INT8:
        write_shortlist(staging, original.shortlist, {"from": "the model's own files"})
    if options.reading is not None:
        write_reading(staging, options.reading)
    manifest = read_bundle(staging).manifest
    put_card(staging, manifest, render_card(manifest, known_limits))
    return texts


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


def _bundle_metadata(options: ExportOptions, original: Original, folder_name: str) -> BundleMetadata:
    scores = read_scores(options.scores) if options.scores else {}
    limits = choose_limits(options.max_source_tokens, options.max_target_tokens, original)
    name = options.name or folder_name
    licence = options.licence or original.licence or UNSPECIFIED
    alignment = choose_alignment(
        options.alignment_layer, options.alignment_heads, options.alignment_step, original
    )
    return BundleMetadata(name, licence, limits, scores, alignment)


def choose_limits(
    max_source_tokens: int | None, max_target_tokens: int | None, original: Original
) -> ModelLimits:
    """Return the requested limits; by default, no more than the model has positions for."""
    longest = original.model.config.max_positions
    declared = original.max_target_tokens or MAX_TARGET_TOKENS
    return ModelLimits(
        max_source_tokens or min(MAX_SOURCE_TOKENS, longest),
        max_target_tokens or min(declared, longest - max_forced_tokens(original.languages)),
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


def make_samples(original: Original, limits: ModelLimits, texts: Sequence[SampleText]) -> list[Sample]:
    """Return sources as the engine will read them, each with the ids that begin its target."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = write_tokenizer(folder, "source", original.source_tokenizer)
        vocabulary = None if files.vocabulary is None else folder / files.vocabulary
        tokenizer = Tokenizer.load(folder / files.model, vocabulary, normalises=files.normalises)
    preparer = Preparer(original.languages, limits, Reader(tokenizer))
    return [
        Sample(ids, preparer.begin(text.pair))
        for text in texts
        for ids in preparer.encode(evenly_spaced(text.lines(), MAX_SAMPLES // len(texts)), text.pair)
    ]
