"""Small random models of T5's family in the real formats, with tokenizers trained on text.

Weights are as the classes draw them: scores are not scaled, and larger ones would make attention too sharp.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from sentencepiece import sentencepiece_model_pb2
from transformers import (
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
    UMT5Config,
    UMT5ForConditionalGeneration,
)

from tests.imports.huggingface.make_models import SEED, edit_json, english, german, write_json
from tests.pieces import train_sentencepiece

MODEL = "spiece.model"
EXTRA_IDS = 5
UNUSED = 3
"""Ids at the end of the vocabulary that are no tokens: T5's is filled up to a multiple of 128."""
MADLAD_TAGS = ("de", "en", "fr", "zh_Hant")
CLASSES: Mapping[str, tuple[type[Any], type[Any]]] = {
    "t5": (T5Config, T5ForConditionalGeneration),
    "mt5": (MT5Config, MT5ForConditionalGeneration),
    "umt5": (UMT5Config, UMT5ForConditionalGeneration),
}
SMALL: Mapping[str, Any] = {
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 3,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 16,
    "relative_attention_max_distance": 24,
}
"""Of every class; more positions than have a bucket of their own."""
GATED: Mapping[str, Any] = {"feed_forward_proj": "gated-gelu"}
MADLAD: Mapping[str, Any] = {**GATED, "d_kv": 16, "num_heads": 3}
UL2: Mapping[str, Any] = {"feed_forward_proj": "gated-silu", "d_kv": 24, "d_model": 40}
"""What other models of the family have in their configuration; the last two have wider heads than usual."""
TASKS = {
    "summarization": {"prefix": "summarize: "},
    "translation_de_to_en": {"prefix": "translate German to English: ", "num_beams": 4},
}


@cache
def _trained(tags: Sequence[str]) -> bytes:
    ids: dict[str, Any] = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    if tags:  # as MADLAD-400's
        ids = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
    return train_sentencepiece(
        german() + english(),
        420 + len(tags) + (256 if tags else 0),
        character_coverage=0.999 if tags else 1.0,
        byte_fallback=bool(tags),
        user_defined_symbols=[f"<2{tag}>" for tag in tags],
        hard_vocab_limit=False,
        **ids,
    )


def write_t5_tokenizer(folder: Path, tags: Sequence[str] = ()) -> int:
    """Files of `T5Tokenizer`; with tags those of MADLAD-400.

    Returns:
        Size of the model's vocabulary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL).write_bytes(_trained(tuple(tags)))
    num_pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / MODEL)).vocab_size()
    extra = {} if tags else {num_pieces + index: f"<extra_id_{index}>" for index in range(EXTRA_IDS)}
    added = {str(index): {"content": name, "special": True} for index, name in extra.items()}
    special = {"pad_token": "<s>"} if tags else {}
    settings = {"tokenizer_class": "T5Tokenizer", "added_tokens_decoder": added, **special}
    write_json(folder / "tokenizer_config.json", settings)
    return num_pieces + len(extra) + UNUSED


def original_tokenizer(folder: Path) -> T5Tokenizer:
    """The tokenizer of `transformers` with the pieces of a folder's SentencePiece model."""
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined] # made when imported
    model.ParseFromString((folder / MODEL).read_bytes())
    return T5Tokenizer(
        vocab=[(piece.piece, piece.score) for piece in model.pieces],
        _spm_precompiled_charsmap=model.normalizer_spec.precompiled_charsmap,
        extra_ids=EXTRA_IDS,
    )


def write_t5(
    folder: Path,
    config: Mapping[str, Any] | None = None,
    *,
    kind: str = "t5",
    tags: Sequence[str] = (),
    is_untied: bool = False,
) -> PreTrainedModel:
    """A whole folder; the model comes back as it was saved.

    Args:
        folder: they are written here.
        config: added to the configuration.
        kind: of `CLASSES`.
        tags: codes of target languages that have a token.
        is_untied: whether the output projection is a table of its own, and states are not scaled before it,
            as in the checkpoints of T5 1.1: `transformers` 5 makes no such model by itself.
    """
    size = write_t5_tokenizer(folder, tags)
    ids = {"pad_token_id": 1, "eos_token_id": 2} if tags else {"pad_token_id": 0, "eos_token_id": 1}
    config_class, model_class = CLASSES[kind]
    fields = {**SMALL, "vocab_size": size, **ids, "decoder_start_token_id": 0, **(config or {})}
    if not tags:
        fields["task_specific_params"] = TASKS
    torch.manual_seed(SEED)
    model = model_class(config_class(**fields, **({"tie_word_embeddings": False} if is_untied else {})))
    if is_untied:
        width = model.config.d_model
        model.lm_head.weight = torch.nn.Parameter(torch.randn(size, width) * width**-0.5)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.add_(0.2 * torch.randn(weight.shape))
            elif "relative" in name:
                weight.copy_(torch.randn(weight.shape))
    model.train(mode=False)
    model.generation_config.decoder_start_token_id = 0
    model.save_pretrained(folder)
    if is_untied:
        edit_json(folder / "config.json", {"tie_word_embeddings": False, "scale_decoder_outputs": None})
    return model
