"""Small models of the real classes of `transformers`, in the real formats, with tokenizers trained on text.

Weights are random, and large enough that a wrong one shows.
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch
from sentencepiece import sentencepiece_model_pb2
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    MBart50Tokenizer,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    NllbTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.tokenization_utils_base import generate_merges

from export.huggingface.codes import M2M_100, MBART_25, MBART_50, NLLB_200
from tests.pieces import all_pieces, sentences, tiny_pairs, train_sentencepiece

SEED = 7

SMALL: Mapping[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 128,
    "dropout": 0.1,
}
"""Of every class; dropout is there to be left out."""


def german() -> list[str]:
    """Real sentences."""
    return tiny_pairs("de") + sentences("de")


def english() -> list[str]:
    """Real sentences."""
    return tiny_pairs("en") + sentences("en")


def train_pieces(
    lines: Sequence[str], path: Path, *, vocab_size: int = 400, model_type: str = "unigram"
) -> None:
    """Train a SentencePiece model as those of OPUS-MT and fairseq are: unk 0, begin 1, end 2, no padding."""
    path.write_bytes(_trained(tuple(lines), vocab_size, model_type))


@cache
def _trained(lines: tuple[str, ...], vocab_size: int, model_type: str) -> bytes:
    more = {"normalization_rule_name": "nmt_nfkc", "hard_vocab_limit": False}
    return train_sentencepiece(lines, vocab_size, model_type=model_type, **more)


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf8")


def edit_json(path: Path, changes: Mapping[str, object]) -> None:
    """Set fields; those set to None go."""
    content = json.loads(path.read_text(encoding="utf8")) | changes
    write_json(path, {name: value for name, value in content.items() if value is not None})


@contextmanager
def quiet() -> Iterator[None]:
    """Without the request for a package that only normalises punctuation, which nothing here calls."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
        yield


def randomise(model: PreTrainedModel, seed: int = SEED) -> None:
    """Give every weight and bias a value of its own, and switch dropout off."""
    model.train(mode=False)
    generator = torch.Generator().manual_seed(seed)

    def noise(tensor: torch.Tensor) -> torch.Tensor:
        return torch.randn(tensor.shape, generator=generator)

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" in name and not weight.requires_grad:
                continue  # sines
            is_norm = "norm" in name and name.endswith("weight")
            weight.copy_(1 + 0.2 * noise(weight) if is_norm else 0.25 * noise(weight))
        if (bias := getattr(model, "final_logits_bias", None)) is not None:
            bias.copy_(noise(bias))


def _save(model: PreTrainedModel, folder: Path, generation: Mapping[str, Any]) -> None:
    randomise(model)
    for name, value in generation.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)


def _write_marian_tokenizer(
    folder: Path, *, targets: Sequence[str] = (), is_separate: bool = False
) -> tuple[int, int]:
    """Files of `MarianTokenizer` from German to English.

    Args:
        folder: they are written here.
        targets: codes of target languages in the source's vocabulary.
        is_separate: whether source and target have a vocabulary each.

    Returns:
        Sizes of the source's and the target's vocabulary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    train_pieces(german(), folder / "source.spm")
    train_pieces(english(), folder / "target.spm", vocab_size=360)
    codes = [f">>{code}<<" for code in targets]
    sides = [all_pieces(folder / name)[3:] for name in ("source.spm", "target.spm")]
    if is_separate:
        # Of one size, so that padding has one id: those who convert such models see to that.
        more = [f"unused{index}" for index in range(len(codes) + len(sides[0]) - len(sides[1]))]
        lists = [["</s>", "<unk>", *codes, *sides[0], "<pad>"], ["</s>", "<unk>", *sides[1], *more, "<pad>"]]
    else:
        # As Marian's own: by no order that SentencePiece knows.
        lists = [["</s>", "<unk>", *sorted({*codes, *sides[0], *sides[1]}), "<pad>"]]
    names = ("vocab.json", "target_vocab.json")[: len(lists)]
    for name, pieces in zip(names, lists, strict=True):
        write_json(folder / name, {piece: index for index, piece in enumerate(pieces)})
    with quiet():
        tokenizer = MarianTokenizer(
            str(folder / "source.spm"),
            str(folder / "target.spm"),
            str(folder / "vocab.json"),
            target_vocab_file=str(folder / "target_vocab.json") if is_separate else None,
            source_lang="de",
            target_lang="en",
            separate_vocabs=is_separate,
        )
        tokenizer.save_pretrained(folder)
    return len(lists[0]), len(lists[-1])


def write_marian(
    folder: Path,
    config: Mapping[str, Any] | None = None,
    *,
    targets: Sequence[str] = (),
    is_separate: bool = False,
) -> MarianMTModel:
    """A whole folder of `MarianMTModel`; the model comes back as it was saved.

    Args:
        folder: they are written here.
        config: added to the configuration.
        targets: codes of target languages in the source's vocabulary.
        is_separate: whether source and target have a vocabulary each.
    """
    sizes = _write_marian_tokenizer(folder, targets=targets, is_separate=is_separate)
    fields = {
        **SMALL,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "share_encoder_decoder_embeddings": not is_separate,
        "pad_token_id": min(sizes) - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
        "decoder_start_token_id": min(sizes) - 1,
        "activation_function": "swish",
        "scale_embedding": True,
        **(config or {}),
    }
    model = MarianMTModel(MarianConfig(**fields))
    forbidden = {"bad_words_ids": [[fields["pad_token_id"]]], "renormalize_logits": True}
    _save(model, folder, {"num_beams": 4, "max_length": 64, **forbidden})
    return model


MADE_UP = 8
"""Ids at the end of M2M-100's vocabulary that are no tokens."""


def write_m2m(folder: Path, config: Mapping[str, Any] | None = None) -> M2M100ForConditionalGeneration:
    """A whole folder of M2M-100; the model comes back as it was saved.

    Ids of pieces are in no order that SentencePiece knows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = folder / "sentencepiece.bpe.model"
    train_pieces(german() + english(), tokenizer, vocab_size=500, model_type="bpe")
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *sorted(all_pieces(tokenizer)[3:])]
    write_json(folder / "vocab.json", {piece: index for index, piece in enumerate(pieces)})
    M2M100Tokenizer(str(folder / "vocab.json"), str(tokenizer)).save_pretrained(folder)
    fields = {**SMALL, "vocab_size": len(pieces) + len(M2M_100) + MADE_UP, **(config or {})}
    model = M2M100ForConditionalGeneration(M2M100Config(**fields))
    _save(model, folder, {"num_beams": 5, "max_length": 200, "early_stopping": True})
    return model


Form = Literal["model", "fast", "both"]
"""Of a tokenizer: fairseq's SentencePiece model, what `transformers` 5 saves in its place, or both."""


def write_nllb(
    folder: Path,
    config: Mapping[str, Any] | None = None,
    *,
    form: Form = "both",
    settings: Mapping[str, Any] | None = None,
) -> M2M100ForConditionalGeneration:
    """A whole folder of NLLB; the model comes back as it was saved.

    Its vocabulary has two ids more than the tokenizer, as NLLB-200's.
    """
    size = 2 + _write_fairseq_tokenizer(folder, form, NllbTokenizer, NLLB_200, settings or {})
    model = M2M100ForConditionalGeneration(M2M100Config(**{**SMALL, "vocab_size": size, **(config or {})}))
    _save(model, folder, {"max_length": 200})
    return model


def write_mbart(
    folder: Path, config: Mapping[str, Any] | None = None, *, form: Form = "both", is_50: bool = False
) -> MBartForConditionalGeneration:
    """A whole folder of MBart or, if it `is_50`, MBart-50; the model comes back as it was saved."""
    kind, codes = (MBart50Tokenizer, MBART_50) if is_50 else (MBartTokenizer, MBART_25)
    size = _write_fairseq_tokenizer(folder, form, kind, codes, {})
    start = {"decoder_start_token_id": 2} if is_50 else {}
    fields = {**SMALL, "vocab_size": size, "scale_embedding": True, **start, **(config or {})}
    model = MBartForConditionalGeneration(MBartConfig(**fields))
    _save(model, folder, {"num_beams": 5, "max_length": 200})
    return model


def _write_fairseq_tokenizer(
    folder: Path,
    form: Form,
    kind: type[PreTrainedTokenizerBase],
    codes: Sequence[str],
    settings: Mapping[str, Any],
) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "sentencepiece.bpe.model"
    model_type = "bpe" if kind is NllbTokenizer else "unigram"
    train_pieces(german() + english(), model, vocab_size=500, model_type=model_type)
    tokenizer = fairseq_tokenizer(model, kind, codes, settings)
    if form == "model":
        write_json(folder / "tokenizer_config.json", {"tokenizer_class": kind.__name__, **settings})
    else:
        tokenizer.save_pretrained(folder)
    if form == "fast":
        model.unlink()
    return len(tokenizer)


def fairseq_tokenizer(
    path: Path, kind: type[PreTrainedTokenizerBase], codes: Sequence[str], settings: Mapping[str, Any]
) -> PreTrainedTokenizerBase:
    """The original of a SentencePiece model, with the ids that fairseq gives to languages.

    Read from the file of the model alone, `transformers` 5 forgets NLLB's languages.
    """
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined] # made when imported
    model.ParseFromString(path.read_bytes())
    scores = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0}
    scores |= {piece.piece: piece.score for piece in model.pieces[3:]}
    own = dict(scores)
    scores |= dict.fromkeys((*codes, "<mask>"), 0.0)
    ids = {piece: index for index, piece in enumerate(scores)}
    charsmap = model.normalizer_spec.precompiled_charsmap
    if kind is NllbTokenizer:
        merges = generate_merges({piece: ids[piece] for piece in own})
        return NllbTokenizer(
            vocab=ids,
            merges=merges,
            _spm_precompiled_charsmap=charsmap,
            extra_special_tokens=list(codes),
            src_lang="deu_Latn",
            **settings,
        )
    vocab = list(scores.items())
    if kind is MBartTokenizer:
        return MBartTokenizer(vocab=vocab, src_lang="de_DE", **settings)
    return MBart50Tokenizer(vocab=vocab, _spm_precompiled_charsmap=charsmap, src_lang="de_DE", **settings)
