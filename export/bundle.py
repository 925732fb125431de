"""Writing of bundles (graphs, tokenizers, manifest): staged next to the target, validated, then renamed."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from dragoman.bundle import file_sha256, read_bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE, FORMAT_VERSION, INT8, CacheDType
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import InputError
from dragoman.graphs.process_memory import give_back_free_memory
from dragoman.languages import Languages
from dragoman.manifest import (
    MANIFEST_FILE,
    AlignmentHeads,
    DecodingDefaults,
    FileRecord,
    Manifest,
    ModelLimits,
    Sizes,
    SpecialIds,
    TokenizerFiles,
)
from dragoman.manifest_json import to_json_content
from dragoman.reading.reading_file import READING_FILE, load_reading
from export.activation_ranges import Quantisation
from export.alignment import alignment_problems, default_alignment
from export.balance import balance_caches, balance_feed_forward, balance_quantisation
from export.calibration import Sample, SamplePair, calibrate, translate_samples
from export.graph.decoder import write_decoder
from export.graph.encoder import write_encoder
from export.graph.precision import make_writer
from export.graph.precision.protocol import OUTPUT
from export.model_config import ModelConfig
from export.model_weights import (
    OUTPUT_TABLE,
    SOURCE_TABLE,
    TARGET_TABLE,
    Floats,
    ModelWeights,
    weight_problems,
)
from export.original import Original, TokenizerSource


def write_reading(folder: Path, file: Path) -> None:
    """Add what a model reads to a bundle that nobody else uses yet, and list it in the manifest.

    Args:
        folder: folder of the bundle; `staged_folder` replaces one that is in use.
        file: describes it; may be the bundle's own.

    Raises:
        BundleError: the file is wrong, or is for other languages.
    """
    manifest = read_bundle(folder).manifest
    load_reading(file, manifest.languages.sources)
    path = folder / READING_FILE
    if path != file:
        path.write_bytes(file.read_bytes())
    files = {**manifest.files, READING_FILE: FileRecord(file_sha256(path), path.stat().st_size)}
    write_manifest(folder, replace(manifest, files=dict(sorted(files.items()))))


CARD_FILE = "README.md"
KIND_FIELD, SHAPE_FIELD = "kind", "shape"
"""Fields that an export adds to the manifest's `origin`: kind of the original, and its `ModelConfig`."""
EXTERNAL_DATA_FROM_BYTES = 100_000_000
"""Weight size from which a graph keeps its weights in a separate file. onnxruntime maps that file; the
weights in a graph's own file are all in memory before it packs them. Protobuf messages end at 2 GiB."""
MAX_NAMED = 12
"""Largest number of weights that an error names."""
HEAD_SIZE_MULTIPLE = 8
"""Divisor of the head size that onnxruntime's in-place attention requires."""


class ExportError(ValueError):
    """A model cannot become a bundle; the message names every reason."""


@dataclass(frozen=True, slots=True)
class BundleMetadata:
    """Contents of the manifest beyond the model's own shape, languages and origin."""

    name: str
    licence: str
    limits: ModelLimits
    scores: Mapping[str, Any] = field(default_factory=dict)
    alignment: AlignmentHeads | None = None
    """None: the attention that the model was trained to align with, or the default."""


def check_exportable(
    config: ModelConfig, languages: Languages, decoding: DecodingDefaults, limits: ModelLimits
) -> None:
    """Raise ExportError with all reasons why this model cannot be exported."""
    problems: list[str] = []
    if config.head_size % HEAD_SIZE_MULTIPLE:
        problems.append(f"head size {config.head_size} is not a multiple of {HEAD_SIZE_MULTIPLE}")
    longest = max(limits.max_source_tokens, limits.max_target_tokens + max_forced_tokens(languages))
    if longest > config.max_positions:
        problems.append(f"limits of {longest} tokens exceed the model's {config.max_positions} positions")
    try:
        DecodingOptions(beam_size=decoding.beam_size, length_penalty=decoding.length_penalty)
    except InputError as error:
        problems.append(f"the model's search defaults: {error}")
    if problems:
        raise ExportError("; ".join(problems))


def max_forced_tokens(languages: Languages) -> int:
    """Return the largest number of forced first tokens; their positions come on top of a caller's limit."""
    return max(len(target.begin) for target in languages.targets.values()) - 1


@contextmanager
def staged_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder next to `target`; rename it to `target` on success, else delete it.

    An existing bundle stays until the last moment.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield staging
        staging.chmod(0o755)
        _replace_folder(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_bundle(
    folder: Path,
    original: Original,
    precision: str,
    metadata: BundleMetadata,
    samples: Sequence[Sample],
    external_from_bytes: int = EXTERNAL_DATA_FROM_BYTES,
) -> Manifest:
    """Write every file into `folder`, the manifest last.

    Args:
        folder: an existing empty folder.
        original: the model to write.
        precision: one of `export.graph.precision.PRECISIONS`.
        metadata: contents of the manifest beyond the model's own.
        samples: sources to calibrate int8 on; other precisions ignore them.
        external_from_bytes: weight size from which a graph keeps its weights in a separate file.

    Raises:
        ExportError: the model cannot be exported, or there are no usable samples to calibrate on. It names
            weights that are not finite.
    """
    config = original.model.config
    check_exportable(config, original.languages, original.decoding, metadata.limits)
    if precision == "fp16" and config.positions == "relative":
        raise ExportError("--precision fp16: relative positions (T5) are not supported; use int8 or fp32")
    largest = float(np.finfo(np.float16 if precision == "fp16" else np.float32).max)
    if problems := weight_problems(original.model, largest):
        raise ExportError(f"the weights do not fit into {precision}: {'; '.join(problems[:MAX_NAMED])}")
    alignment = _alignment(original, metadata)
    cache_dtype = _write_graphs(
        folder, original.model, precision, samples, alignment.layer, external_from_bytes
    )
    source_tokenizer = write_tokenizer(folder, "source", original.source_tokenizer)
    target_tokenizer = source_tokenizer
    if original.target_tokenizer != original.source_tokenizer:
        target_tokenizer = write_tokenizer(folder, "target", original.target_tokenizer)
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        name=metadata.name,
        languages=original.languages,
        precision=precision,
        cache_dtype=cache_dtype,
        autoregression=config.autoregression,
        sizes=Sizes(
            decoder_layers=config.decoder_layers,
            heads=config.heads,
            head_size=config.head_size,
            source_vocab=config.source_vocab_size,
            target_vocab=config.target_vocab_size,
            width=None if config.d_model == config.attention_size else config.d_model,
        ),
        special_ids=SpecialIds(config.pad_id, config.unk_id, config.eos_id),
        limits=metadata.limits,
        source_tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
        decoding=original.decoding,
        alignment=alignment,
        files={
            path.name: FileRecord(file_sha256(path), path.stat().st_size) for path in sorted(folder.iterdir())
        },
        licence=metadata.licence,
        origin={**original.origin, KIND_FIELD: original.kind, SHAPE_FIELD: asdict(config)},
        scores=metadata.scores,
        controls=original.controls,
    )
    write_manifest(folder, manifest)
    return manifest


def _alignment(original: Original, metadata: BundleMetadata) -> AlignmentHeads:
    config = original.model.config
    alignment = metadata.alignment or original.alignment or default_alignment(config)
    if problems := alignment_problems(alignment, config):
        raise ExportError("; ".join(problems))
    return alignment


def _write_graphs(
    folder: Path,
    model: ModelWeights,
    precision: str,
    samples: Sequence[Sample],
    alignment_layer: int,
    external_from_bytes: int,
) -> CacheDType:
    """Write both graphs and return the dtype of the K/V caches."""
    calibration = None
    if precision == INT8:
        model, calibration = _balance_and_calibrate(model, samples)
    encoder, decoder = (make_writer(precision, calibration) for _ in range(2))
    write_encoder(model, encoder).save(folder / ENCODER_FILE, external_from_bytes)
    write_decoder(model, decoder, alignment_layer).save(folder / DECODER_FILE, external_from_bytes)
    return decoder.cache_dtype


def write_tokenizer(folder: Path, side: str, tokenizer: TokenizerSource) -> TokenizerFiles:
    """Copy a tokenizer; `side`, source or target, names its files."""
    model, vocabulary = f"{side}.spm", None
    shutil.copyfile(tokenizer.model, folder / model)
    if tokenizer.vocabulary is not None:
        vocabulary = f"{side}.vocab.json"
        pieces = json.dumps(tokenizer.vocabulary, ensure_ascii=False, indent=0)
        (folder / vocabulary).write_text(pieces + "\n", encoding="utf8")
    return TokenizerFiles(model, vocabulary, tokenizer.normalises)


def _balance_and_calibrate(
    model: ModelWeights, samples: Sequence[Sample]
) -> tuple[ModelWeights, Quantisation]:
    """Return the balanced model, with K/V in quantisation steps, and the calibration of that model."""
    longest = model.config.max_positions
    usable = [sample for sample in samples if len(sample.ids) <= longest]
    if not usable:
        raise ExportError(
            f"{INT8} calibration needs sentences of at most {longest} tokens; give shorter ones"
        )
    with tqdm(total=3 * len(usable), desc="calibrating", unit="sentence", disable=None) as bar:
        pairs, steps = translate_samples(model, usable, bar.update)
        give_back_free_memory()
        if model.quantisation is not None:
            return _keep_quantisation(model, model.quantisation, pairs, steps, bar.update)
        balanced = balance_feed_forward(balance_caches(model, steps))
        calibration = calibrate(balanced, pairs, advance=bar.update)
    return balanced, calibration


def _keep_quantisation(
    model: ModelWeights,
    stored: Quantisation,
    pairs: Sequence[SamplePair],
    steps: Mapping[str, Floats],
    advance: Callable[[int], object],
) -> tuple[ModelWeights, Quantisation]:
    """Return the balanced model and a calibration with the integers, scales and ranges of its files.

    Only factors of whole rows can move between layers, so all channels of a layer of values share a step, and
    feed-forward layers stay as they are.
    """
    steps = {
        name: step if name.endswith(".key") else np.full_like(step, step.max())
        for name, step in steps.items()
    }
    balanced, kept = balance_caches(model, steps), balance_quantisation(stored, steps)
    ranges = kept.ranges or calibrate(balanced, pairs, advance=advance).ranges
    shared = model.config.shared_vocab
    tables = {
        "encoder.embedding": SOURCE_TABLE,
        "decoder.embedding": SOURCE_TABLE if shared else TARGET_TABLE,
        f"decoder.{OUTPUT}.weight": OUTPUT_TABLE,
    }
    in_graphs = {name: kept.scales[table] for name, table in tables.items() if table in kept.scales}
    return balanced, Quantisation(ranges, {**kept.scales, **in_graphs})


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest; an existing one is replaced atomically."""
    content = json.dumps(to_json_content(manifest), indent=2, ensure_ascii=False, allow_nan=False)
    _replace_file(folder / MANIFEST_FILE, content + "\n")


def put_card(folder: Path, manifest: Manifest, card: str) -> None:
    """Write a bundle's model card and list it in the manifest.

    While the file changes, the manifest does not list it, because files that are not listed are not checked.
    After a kill between any two writes, the bundle still opens, and the same call completes the update.

    Args:
        folder: folder of the bundle, which may be in use.
        manifest: manifest to write; its record of the card is replaced.
        card: Markdown.
    """
    others = {name: record for name, record in manifest.files.items() if name != CARD_FILE}
    write_manifest(folder, replace(manifest, files=others))
    path = folder / CARD_FILE
    _replace_file(path, card)
    files = {**others, CARD_FILE: FileRecord(file_sha256(path), path.stat().st_size)}
    write_manifest(folder, replace(manifest, files=dict(sorted(files.items()))))


def _replace_file(path: Path, content: str) -> None:
    """Write a file so that it has either the old or the complete new content, even after a power failure."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w", encoding="utf8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _replace_folder(staging: Path, target: Path) -> None:
    """Rename to `target`; move an old bundle aside first, since a non-empty folder cannot be replaced."""
    if not target.exists():
        staging.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    target.rename(old / target.name)
    staging.rename(target)
    shutil.rmtree(old)
