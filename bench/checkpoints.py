"""A checkpoint of OPUS-MT's size with random weights: speed depends on shapes, not on trained values."""

from pathlib import Path

import torch
from sentencepiece import sentencepiece_model_pb2

from export.checkpoint import save_weights
from export.checkpoint_folder import SOURCE_TOKENIZER_FILE
from export.model import ModelConfig, Transformer

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
