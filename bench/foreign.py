"""Random-weight models with the sizes and formats of models that users import.

`python -m bench.foreign NAME FOLDER` writes one of them.
"""

import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
)

from bench.checkpoints import grow_vocabulary
from bench.provenance import write_json
from export.samples import BUILT_IN

SEED = 1
END_BIAS = 6.0
"""Approximate bias of the end-of-sentence logit: without it random weights translate up to the limit."""
TRAINED_PIECES, OPUS_PIECES, NLLB_PIECES, MADLAD_PIECES = 1_000, 58_100, 256_000, 64_000
"""Vocabulary sizes: a tokenizer is trained on the little text available, then grown."""


@dataclass(frozen=True, slots=True)
class ForeignModel:
    """A model to import."""

    model_class: Any
    config: Any
    write_tokenizer: Callable[[Path], None]


def _train_pieces() -> bytes:
    """Train a SentencePiece model with the ids of OPUS-MT and fairseq: unknown 0, begin 1, end 2."""
    lines = [line for path in sorted(BUILT_IN.glob("*.txt")) for line in path.read_text("utf8").splitlines()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=TRAINED_PIECES, minloglevel=2
    )
    return model.getvalue()


def _write_marian_tokenizer(folder: Path) -> None:
    grown = grow_vocabulary(_train_pieces(), OPUS_PIECES)
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(grown)
    processor = sentencepiece.SentencePieceProcessor(model_proto=grown)
    pieces = [processor.id_to_piece(index) for index in range(3, OPUS_PIECES)]
    listed = ["</s>", "<unk>", *pieces, "filler", "<pad>"]
    write_json(folder / "vocab.json", {piece: index for index, piece in enumerate(listed)})
    settings = {"tokenizer_class": "MarianTokenizer", "source_lang": "de", "target_lang": "en"}
    write_json(folder / "tokenizer_config.json", settings)


def _write_nllb_tokenizer(folder: Path) -> None:
    (folder / "sentencepiece.bpe.model").write_bytes(grow_vocabulary(_train_pieces(), NLLB_PIECES))
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "NllbTokenizer"})


def _write_madlad_tokenizer(folder: Path) -> None:
    (folder / "spiece.model").write_bytes(grow_vocabulary(_train_pieces(), MADLAD_PIECES))
    languages = {"source_lang": "de", "target_lang": "en"}
    settings = {"tokenizer_class": "T5Tokenizer", "pad_token": "<s>", **languages}
    write_json(folder / "tokenizer_config.json", settings)


def _sizes(layers: int, d_model: int, heads: int, ffn: int) -> dict[str, int]:
    sizes = {"layers": layers, "attention_heads": heads, "ffn_dim": ffn}
    both = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()}
    return {**both, "d_model": d_model}


FOREIGN: Mapping[str, ForeignModel] = {
    "opus-mt": ForeignModel(
        MarianMTModel,
        MarianConfig(
            **_sizes(layers=6, d_model=512, heads=8, ffn=2048),
            vocab_size=OPUS_PIECES + 1,
            max_position_embeddings=512,
            activation_function="swish",
            scale_embedding=True,
            pad_token_id=OPUS_PIECES,
            decoder_start_token_id=OPUS_PIECES,
            eos_token_id=0,
        ),
        _write_marian_tokenizer,
    ),
    "nllb-600m": ForeignModel(
        M2M100ForConditionalGeneration,
        M2M100Config(
            **_sizes(layers=12, d_model=1024, heads=16, ffn=4096),
            vocab_size=NLLB_PIECES + 206,
            max_position_embeddings=1024,
            scale_embedding=True,
        ),
        _write_nllb_tokenizer,
    ),
    "madlad-quarter": ForeignModel(
        T5ForConditionalGeneration,
        T5Config(
            vocab_size=MADLAD_PIECES,
            d_model=256,
            d_kv=32,
            d_ff=2048,
            num_layers=8,
            num_heads=16,
            feed_forward_proj="gated-gelu",
            tie_word_embeddings=False,
            pad_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=0,
        ),
        _write_madlad_tokenizer,
    ),
}
"""Models by name: in the shapes of Helsinki-NLP/opus-mt-de-en and facebook/nllb-200-distilled-600M; with a
quarter of google/madlad400-3b-mt's width, layers and vocabulary."""


def _set_t5_output(model: T5ForConditionalGeneration) -> None:
    """Give it an output projection of its own, as T5 1.1 has, and let targets end.

    Nothing has a bias, so all token vectors get a direction in common, which the end of sentence projects.
    """
    table, width = model.shared.weight, model.config.d_model
    output = torch.randn(table.shape) * width**-0.5
    output[model.config.eos_token_id] += 2 * END_BIAS / width
    model.lm_head.weight = torch.nn.Parameter(output)
    table.add_(1.0)


def write_foreign(name: str, folder: Path) -> None:
    """Write one of FOREIGN as `transformers` does, with a tokenizer of its vocabulary's size."""
    torch.manual_seed(SEED)
    foreign = FOREIGN[name]
    model = foreign.model_class(foreign.config)
    with torch.no_grad():
        if isinstance(model, T5ForConditionalGeneration):
            _set_t5_output(model)
        elif hasattr(model, "final_logits_bias"):
            model.final_logits_bias[0, model.config.eos_token_id] = END_BIAS
        else:
            end = model.lm_head.weight[model.config.eos_token_id]
            model.model.decoder.layer_norm.bias += END_BIAS * end / end.square().sum()
    model.save_pretrained(folder)
    foreign.write_tokenizer(folder)


if __name__ == "__main__":
    write_foreign(sys.argv[1], Path(sys.argv[2]))
