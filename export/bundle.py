"""Writes a bundle: graphs, tokenizers, manifest; first beside its place, then validated, then renamed."""

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from dragoman.bundle import MANIFEST_FILE, FileRecord, Limits, Manifest, Sizes, SpecialIds, sha256_of
from dragoman.contract import DECODER_FILE, ENCODER_FILE, FORMAT_VERSION
from export.balance import balance_caches, balance_feed_forward
from export.calibration import Calibration, cache_steps, calibrate, maps_of_a_step
from export.checkpoint import Checkpoint
from export.graph.decoder import write_decoder
from export.graph.encoder import write_encoder
from export.graph.precision import CALIBRATED, make_writers
from export.model import ModelConfig, Transformer

PRODUCER = "dragoman export"
SOURCE_TOKENIZER = "source.spm"
TARGET_TOKENIZER = "target.spm"
EXTERNAL_DATA_FROM_BYTES = 1_500_000_000
"""A protobuf message ends at 2 GiB; a graph above this keeps its weights in a file beside it."""
HEAD_SIZE_MULTIPLE = 8
"""onnxruntime's in-place attention takes heads of a multiple of this."""


class ExportError(ValueError):
    """A model cannot become a bundle; the message names every reason."""


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """What the manifest says beyond the model's own shape."""

    name: str
    source_language: str
    target_language: str
    licence: str
    origin: Mapping[str, Any]
    scores: Mapping[str, Any]
    limits: Limits
    model_card: str | None = None
    """Markdown, written as README.md of the bundle."""


def check_exportable(config: ModelConfig, limits: Limits) -> None:
    """Raises ExportError with all reasons why this model cannot be exported."""
    problems: list[str] = []
    if config.head_size % HEAD_SIZE_MULTIPLE:
        problems.append(f"head size {config.head_size} is not a multiple of {HEAD_SIZE_MULTIPLE}")
    longest = max(limits.max_source_tokens, limits.max_target_tokens)
    if longest > config.max_positions:
        problems.append(f"limits of {longest} tokens exceed the model's {config.max_positions} positions")
    if problems:
        raise ExportError("; ".join(problems))


@contextmanager
def staged_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its place if the block ends well, and goes if not.

    A bundle that stood there before stays until the last moment.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield staging
        staging.chmod(0o755)
        _put_in_place(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_bundle(
    folder: Path, checkpoint: Checkpoint, precision: str, facts: BundleFacts, sources: Sequence[Sequence[int]]
) -> Manifest:
    """Write every file into `folder`, the manifest last.

    Args:
        folder: exists and is empty.
        checkpoint: what to write.
        precision: one of `export.graph.precision.PRECISIONS`.
        facts: what the manifest says beyond the model's own shape.
        sources: ids of the source sentences that int8 and int4 are measured on; others do not look at them.

    Raises:
        ExportError: the model cannot be exported, or ranges have nothing to be measured on.
    """
    config = checkpoint.model.config
    check_exportable(config, facts.limits)
    model, calibration = checkpoint.model, None
    if precision in CALIBRATED:
        model, calibration = _calibrate(model, precision, sources)
    writers = make_writers(precision, calibration)
    save_graph(write_encoder(model, writers.encoder, PRODUCER), folder / ENCODER_FILE)
    save_graph(write_decoder(model, writers.decoder, PRODUCER), folder / DECODER_FILE)
    shutil.copyfile(checkpoint.source_tokenizer, folder / SOURCE_TOKENIZER)
    target_tokenizer = SOURCE_TOKENIZER
    if checkpoint.target_tokenizer != checkpoint.source_tokenizer:
        target_tokenizer = TARGET_TOKENIZER
        shutil.copyfile(checkpoint.target_tokenizer, folder / TARGET_TOKENIZER)
    if facts.model_card is not None:
        (folder / "README.md").write_text(facts.model_card, encoding="utf8")
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        name=facts.name,
        source_language=facts.source_language,
        target_language=facts.target_language,
        precision=precision,
        cache_dtype=writers.decoder.cache_dtype,
        sizes=Sizes(
            decoder_layers=config.decoder_layers,
            heads=config.heads,
            head_size=config.head_size,
            source_vocab=config.source_vocab_size,
            target_vocab=config.target_vocab_size,
        ),
        special_ids=SpecialIds(config.pad_id, config.unk_id, config.bos_id, config.eos_id),
        limits=facts.limits,
        source_tokenizer=SOURCE_TOKENIZER,
        target_tokenizer=target_tokenizer,
        files={
            path.name: FileRecord(sha256_of(path), path.stat().st_size) for path in sorted(folder.iterdir())
        },
        licence=facts.licence,
        origin=facts.origin,
        scores=facts.scores,
    )
    write_manifest(folder, manifest)
    return manifest


def _calibrate(
    model: Transformer, precision: str, sources: Sequence[Sequence[int]]
) -> tuple[Transformer, Calibration]:
    """The model with its K/V in steps, and the ranges of that one."""
    longest = model.config.max_positions
    usable = [source for source in sources if len(source) <= longest]
    if not usable:
        raise ExportError(f"{precision} needs sentences of at most {longest} tokens to be calibrated on")
    balanced = balance_caches(model, cache_steps(model, usable))
    if precision == "int8":
        balanced = balance_feed_forward(balanced)
    return balanced, calibrate(balanced, usable, maps_of_a_step(model) if precision == "int4" else ())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    content = json.dumps(dataclasses.asdict(manifest), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST_FILE).write_text(content + "\n", encoding="utf8")


def save_graph(
    graph: onnx.ModelProto, path: Path, external_from_bytes: int = EXTERNAL_DATA_FROM_BYTES
) -> None:
    """Write a graph, its weights in a file beside it where they are too large for one message."""
    size_bytes = sum(len(weight.raw_data) for weight in graph.graph.initializer)
    onnx.save_model(
        graph,
        str(path),
        save_as_external_data=size_bytes >= external_from_bytes,
        all_tensors_to_one_file=True,
        location=f"{path.stem}.weights",
        size_threshold=1024,
    )


def _put_in_place(staging: Path, target: Path) -> None:
    """Rename over `target`; an old bundle is moved aside first, since a full folder cannot be replaced."""
    if not target.exists():
        staging.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    target.rename(old / target.name)
    staging.rename(target)
    shutil.rmtree(old)
