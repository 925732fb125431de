"""One checkpoint for all engines: `python -m bench.models CHECKPOINT FOLDER` writes every engine's format.

FOLDER/
  checkpoint/            a copy, for Transformers
  int8/  fp32/           bundles
  ct2-int8/  ct2-fp32/   CTranslate2 models
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentencepiece import sentencepiece_model_pb2

from bench.command import Command, Options
from bench.processes import run_json
from dragoman.bundle import file_sha256, read_bundle
from dragoman.manifest import ModelLimits
from dragoman.shortlist import Shortlist
from export import checkpoint_import
from export.bundle import BundleMetadata, staged_folder, write_bundle
from export.calibration import Sample
from export.checkpoint import save_weights
from export.checkpoint_folder import SOURCE_TOKENIZER_FILE, WEIGHTS_FILE
from export.model import ModelConfig, Transformer
from export.original import RequestedLanguages
from export.shortlist.install import write_shortlist

VOCAB_SIZE = 32_000
SEED = 1
FILLER_SCORE = -100.0


def opus_size() -> ModelConfig:
    """Return OPUS-MT's shape (Tiedemann and Thottingal 2020), rounded to 32,000 pieces; pre-norm."""
    return ModelConfig(
        source_vocab_size=VOCAB_SIZE,
        target_vocab_size=VOCAB_SIZE,
        encoder_layers=6,
        decoder_layers=6,
        d_model=512,
        heads=8,
        ffn=2048,
    )


def write_random_checkpoint(folder: Path, tokenizer: Path) -> None:
    """Write a checkpoint of initial weights, with `tokenizer` grown to the vocabulary's size."""
    torch.manual_seed(SEED)
    model = Transformer(opus_size()).eval()
    record = {"source_language": "de", "target_language": "en", "data": [], "weights": "random"}
    save_weights(folder, model, record)
    grown = grow_vocabulary(tokenizer.read_bytes(), VOCAB_SIZE)
    (folder / SOURCE_TOKENIZER_FILE).write_bytes(grown)


def grow_vocabulary(tokenizer: bytes, num_pieces: int) -> bytes:
    """Add pieces that no text contains to a SentencePiece model, up to `num_pieces`; existing ids stay.

    Raises:
        ValueError: the model already has more pieces.
    """
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined] # made at run time
    model.ParseFromString(tokenizer)
    if len(model.pieces) > num_pieces:
        raise ValueError(f"{len(model.pieces)} pieces are more than {num_pieces}")
    for number in range(len(model.pieces), num_pieces):
        model.pieces.add(piece=f"\ue000{number}\ue001", score=FILLER_SCORE)
    model.trainer_spec.vocab_size = num_pieces
    grown: bytes = model.SerializeToString()
    return grown


PEERS_PYTHON = Path(".venv-bench/bin/python")
CHECKPOINT = "checkpoint"
TOKENIZER = "checkpoint/source.spm"
INT8, FP32 = "int8", "fp32"
CTRANSLATE2_INT8, CTRANSLATE2_FLOAT32 = "ct2-int8", "ct2-fp32"
CALIBRATION = (Sample([4, 5, 6, 7, 8, 9, 10, 3], (2,)),)
"""Sample that gives random weights their int8 ranges, which are required but have no meaning."""
MAX_RANDOM_TOKENS = 500
RANDOM_ALWAYS, RANDOM_LISTED = 1200, 3
"""Number of tokens on every shortlist, and number of tokens that each source piece adds."""
OPUS_SIZE = "opus-size"
COMPLETE = "complete"
"""File written last, with the origin of the folder's models."""


def origin_of(checkpoint: str) -> str:
    """Return what identifies a checkpoint: the hash of its weights, or its name if it is made here."""
    return checkpoint if checkpoint == OPUS_SIZE else file_sha256(Path(checkpoint) / WEIGHTS_FILE)


def has_origin(folder: Path, origin: str) -> bool:
    """Return whether the folder is complete and has this origin."""
    complete = folder / COMPLETE
    return complete.is_file() and complete.read_text(encoding="utf8") == origin


def export_trained(folder: Path) -> None:
    """Export bundles of FOLDER/checkpoint with the usual command."""
    for precision in (INT8, FP32):
        files = (str(folder / CHECKPOINT), str(folder / precision))
        command = [sys.executable, "-m", "export", *files, "--precision", precision]
        subprocess.run(command, check=True)  # noqa: S603 -- our own module


def export_random(folder: Path) -> None:
    """Export bundles of random weights without validation, since such a model never ends a sentence."""
    for precision in (INT8, FP32):
        sys.stderr.write(f"writing {folder / precision}\n")
        limits = ModelLimits(MAX_RANDOM_TOKENS, MAX_RANDOM_TOKENS)
        facts = BundleMetadata(f"{folder.name}-{precision}", "CC0-1.0", limits)
        original = checkpoint_import.load(folder / CHECKPOINT, RequestedLanguages())
        with staged_folder(folder / precision) as staging:
            write_bundle(staging, original, precision, facts, CALIBRATION)


def add_shortlist(bundle: Path, given: Path | None) -> None:
    """Add the trained model's shortlist or, for random weights, random tokens in a trained model's numbers.

    docs/explanation/shortlist.md has these numbers: about 1,300 tokens for a sentence, 2,000 for 8, 3,000 for
    32.
    """
    sizes = read_bundle(bundle).manifest.sizes
    special_ids = read_bundle(bundle).manifest.special_ids
    if given is not None:
        found = Shortlist.load(given, sizes.source_vocab, sizes.target_vocab, special_ids.eos)
    else:
        rng = np.random.default_rng(0)
        always = np.union1d(rng.choice(sizes.target_vocab, RANDOM_ALWAYS, replace=False), [special_ids.eos])
        first = rng.integers(sizes.target_vocab - RANDOM_LISTED, size=(sizes.source_vocab, 1))
        listed = first + np.arange(RANDOM_LISTED)
        offsets = np.arange(sizes.source_vocab + 1) * RANDOM_LISTED
        found = Shortlist.of(always, offsets, listed.ravel(), sizes.target_vocab)
    write_shortlist(bundle, found, {"given": str(given)})


def run_peer(action: str, arguments: Mapping[str, Any]) -> Any:
    """Run an action of `bench.peers.ctranslate2_convert` with the peers' Python."""
    return run_json("bench.peers.ctranslate2_convert", action, python=str(PEERS_PYTHON), given=arguments)


def convert(checkpoint: Path, folder: Path) -> None:
    """Convert a checkpoint to CTranslate2 models in FOLDER."""
    for name, quantization in ((CTRANSLATE2_INT8, "int8"), (CTRANSLATE2_FLOAT32, "float32")):
        target = {"folder": str(folder / name), "quantization": quantization}
        run_peer("convert-checkpoint", {"original": str(checkpoint), **target})


def main() -> None:
    options: Options = {
        "checkpoint folder; `opus-size`: random weights in OPUS-MT's shape": str,
        "folder of all models": Path,
        "--tokenizer that `opus-size` grows": Path("models/de-en/source.spm"),
        "--shortlist of the same vocabularies, a shortlist.bin": Path,
        "--fresh even if the folder is complete: the exporter may be new": False,
    }
    arguments = Command("models", __doc__, options).parse()
    folder: Path = arguments.folder
    origin = origin_of(arguments.checkpoint)
    if not arguments.fresh and has_origin(folder, origin):
        sys.stderr.write(f"{folder} is there already\n")
        return
    shutil.rmtree(folder, ignore_errors=True)
    if arguments.checkpoint == OPUS_SIZE:
        write_random_checkpoint(folder / CHECKPOINT, arguments.tokenizer)
        export_random(folder)
    else:
        shutil.copytree(arguments.checkpoint, folder / CHECKPOINT)
        export_trained(folder)
    if arguments.checkpoint == OPUS_SIZE or arguments.shortlist is not None:
        add_shortlist(folder / INT8, arguments.shortlist)
    convert(folder / CHECKPOINT, folder)
    (folder / COMPLETE).write_text(origin, encoding="utf8")


if __name__ == "__main__":
    main()
